// SPDX-License-Identifier: MIT
// What the optimizers share: for core/ only.
#ifndef FERRY_OPTIM_IMPL_H
#define FERRY_OPTIM_IMPL_H

#include "optim/optim.h"

enum { FY_MAX_STATES = 2 };

// What the optimizer keeps for one parameter. All zero before the parameter's first step.
typedef struct FyParameterState {
  FyTensor *parameter;              // counted
  FyTensor *tensors[FY_MAX_STATES]; // counted; shape and device of the parameter, float32 for one of a half type
  int64_t steps;
  FyTensor *step,
      *factors; // Adam's with .capturable, counted: the count of steps on the device, and what follows from it
} FyParameterState;

typedef struct FyOptimizerClass {
  const char *name;
  bool decoupled;                         // AdamW's weight decay
  const char *state_names[FY_MAX_STATES]; // of the state tensors, as PyTorch's state_dict has them
  // One parameter's update. `parameter` and `grad` are row-major and of one dtype; state->steps counts the steps before.
  void (*step)(FyOptimizer *optimizer, FyParameterState *state, FyTensor *parameter, FyTensor *grad);
  // Optional: raises when the optimizer cannot step here.
  void (*check_step)(const FyOptimizer *optimizer);
  // Optional: raises when a gradient of another dtype than its parameter's cannot be used.
  void (*check_mixed)(const FyOptimizer *optimizer, const FyTensor *parameter, const FyTensor *grad);
} FyOptimizerClass;

struct FyOptimizer {
  FyObject object;
  const FyOptimizerClass *type;
  double lr;
  FyParameterState *states;
  int count;
  FyTensor
      *found_inf; // during a step for a gradient scaler, borrowed: not 0 where nothing is to change (steps_on_device)
  union {
    FySgd sgd;
    FyAdam adam;
  };
};

// An optimizer of `type` over the parameters, which it retains. Raises FY_VALUE_ERROR for none, and for non-leaves.
FyOptimizer *fy_optimizer_new(const FyOptimizerClass *type, const FyTensorList *parameters, double lr);

// State tensor k on the parameter's device, made of zeros when it is not there. Raises when there is no memory for it.
FyTensor *fy_optimizer_state(FyParameterState *state, int k);

// Does the optimizer count its steps on the device, so that it can leave one out without the host knowing? Never raises.
bool fy_optimizer_steps_on_device(const FyOptimizer *optimizer);

// A tensor that is not the parameter's shape, on its device: made by `dtype` and `shape` of zeros where *tensor is NULL, moved
// where it lies elsewhere. *tensor is counted. Raises when there is no memory for it.
FyTensor *fy_optimizer_beside(FyParameterState *state, FyTensor **tensor, FyDType dtype, FySize shape);

// Raises what fy_optimizer_load_state_dict raises, and changes nothing.
void fy_optimizer_check_state(const FyOptimizer *optimizer, const FyTensorList *state);

// Raises FY_VALUE_ERROR "Invalid <what>: -1.0" unless value >= 0.
void fy_optimizer_not_negative(const char *what, double value);

#endif
