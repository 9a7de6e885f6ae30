// SPDX-License-Identifier: MIT
// A gradient scaler's inside: for core/ only.
#ifndef FERRY_AMP_IMPL_H
#define FERRY_AMP_IMPL_H

#include "amp/grad_scaler.h"
#include "device/backend.h"

typedef enum FyScalerStage { FY_SCALER_READY, FY_SCALER_UNSCALED, FY_SCALER_STEPPED } FyScalerStage;

// What is known of an optimizer since the last update.
typedef struct FyScaledOptimizer {
  FyOptimizer *optimizer; // counted
  FyScalerStage stage;
  int devices;                             // that its gradients are on
  FyTensor *found_inf[FY_MAX_DEVICES + 1]; // counted; 1 if one there is not finite
} FyScaledOptimizer;

struct FyGradScaler {
  FyObject object;
  bool enabled;
  double growth_factor, backoff_factor, init_scale;
  int64_t growth_interval, init_tracker;
  FyTensor *scale, *tracker; // counted; NULL until something is scaled
  FyScaledOptimizer *optimizers;
  int count, capacity;
};

// growth_tracker as it is now. Waits.
int64_t fy_scaler_tracker(const FyGradScaler *scaler);

// Raises what fy_scaler_load_state_dict raises, and changes nothing.
void fy_scaler_check_state(const FyGradScaler *scaler, const FyTensorList *state);

#endif
