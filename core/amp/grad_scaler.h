// SPDX-License-Identifier: MIT
// Gradient scaling: torch.amp.GradScaler. Gradients of half tensors are often too small for float16 and become zero; those
// of a loss that is multiplied by a large number are not, and are divided by it again before the optimizer sees them.
//
//   FyGradScaler *scaler = fy_grad_scaler(device.type);
//   ...
//   fy_zero_grad(optimizer);
//   fy_autocast(device.type, .dtype = FY_FLOAT16)
//     loss = fy_cross_entropy(fy_forward(model, x), y);
//   fy_backward(fy_scaler_scale(scaler, loss));
//   fy_scaler_unscale_(scaler, optimizer);   // only if you read or clip the gradients before the step
//   fy_scaler_step(scaler, optimizer);       // no step where a gradient is infinite or NaN
//   fy_scaler_update(scaler);                // once, after the steps of all optimizers
//
// The scale lives on the device of the first loss, where it is also updated. Only fy_scaler_step and what reads a number wait
// for a device. A scaler, and the optimizers it is used with, are for one thread at a time.
#ifndef FERRY_AMP_GRAD_SCALER_H
#define FERRY_AMP_GRAD_SCALER_H

#include "base/options.h"
#include "optim/optim.h"
#include "tensor/list.h"

// An object of the scope.
typedef struct FyGradScaler FyGradScaler;

// torch.amp.GradScaler(device, init_scale, growth_factor, backoff_factor, growth_interval, enabled). What is not named has
// PyTorch's default: 65536, 2, 0.5, 2000, true; a zero that is named is zero. One that is not enabled passes everything through. For
// FY_CUDA on a machine without CUDA it warns, and is not enabled. Raises FY_VALUE_ERROR "The growth factor must be > 1.0.",
// "The backoff factor must be < 1.0.".
typedef struct FyGradScalerOptions {
  int device_type; // FY_CPU or FY_CUDA
  double init_scale, growth_factor, backoff_factor;
  int64_t growth_interval;
  bool enabled;
  const char *named; // the arguments' text, by the macro. NULL: `enabled` holds, and zeros stand for the defaults
} FyGradScalerOptions;
#define fy_grad_scaler(...)                                                                                            \
  fy_grad_scaler_with((FyGradScalerOptions){.named = FY_TEXT_OF(__VA_ARGS__), .device_type = __VA_ARGS__})
FY_API FyGradScaler *fy_grad_scaler_with(FyGradScalerOptions options);

// scaler.scale(outputs): the loss times the scale, differentiable, on the loss's device; itself when not enabled. A float16
// tensor with dimensions stays float16, and may overflow; a 0-dim one becomes float32.
FY_API FyTensor *fy_scaler_scale(FyGradScaler *scaler, FyTensor *outputs);

// scaler.unscale_(optimizer): divides the gradients of the optimizer's parameters by the scale, in place, and notes whether
// one is infinite or NaN. Does not wait. Raises FY_RUNTIME_ERROR "unscale_() has already been called on this optimizer since
// the last update().", "unscale_() is being called after step().", "Attempted unscale_ but _scale is None. ..." (nothing
// was scaled yet), and FY_VALUE_ERROR "Attempting to unscale FP16 gradients.".
FY_API void fy_scaler_unscale_(FyGradScaler *scaler, FyOptimizer *optimizer);

// scaler.step(optimizer): unscales, unless that was done, and calls fy_step(optimizer) where all gradients are finite. Reads
// what was noted, and so waits for the gradients' devices. Returns whether the optimizer stepped. With an Adam or AdamW that is
// .capturable it waits for nothing: their kernels read what was noted, and leave everything as it is where a gradient is not
// finite; true is returned either way. Raises FY_RUNTIME_ERROR
// "step() has already been called since the last update().", "No inf checks were recorded for this optimizer." (it has no
// gradients), and what fy_scaler_unscale_ raises.
FY_API bool fy_scaler_step(FyGradScaler *scaler, FyOptimizer *optimizer);

// scaler.update(): multiplies the scale by backoff_factor if a step was skipped since the last update, and by growth_factor
// after growth_interval updates in a row without. Does not wait. Raises FY_RUNTIME_ERROR "No inf checks were recorded prior to
// update." and "Attempted update but _scale is None. ...". scaler.update(new_scale): sets the scale.
FY_API void fy_scaler_update(FyGradScaler *scaler);
FY_API void fy_scaler_update_to(FyGradScaler *scaler, double new_scale);

FY_API bool fy_scaler_is_enabled(const FyGradScaler *scaler);           // scaler.is_enabled()
FY_API double fy_scaler_get_scale(const FyGradScaler *scaler);          // scaler.get_scale(): 1 when not enabled. Waits
FY_API double fy_scaler_get_growth_factor(const FyGradScaler *scaler);  // scaler.get_growth_factor()
FY_API double fy_scaler_get_backoff_factor(const FyGradScaler *scaler); // scaler.get_backoff_factor()
FY_API int64_t fy_scaler_get_growth_interval(const FyGradScaler *scaler);
FY_API void fy_scaler_set_growth_factor(FyGradScaler *scaler, double factor);
FY_API void fy_scaler_set_backoff_factor(FyGradScaler *scaler, double factor);
FY_API void fy_scaler_set_growth_interval(FyGradScaler *scaler, int64_t interval);

// scaler.state_dict(): 0-dim tensors "scale", "growth_factor", "backoff_factor" (float64), "growth_interval",
// "_growth_tracker" (int64); an empty list when not enabled. Waits. To be taken after fy_scaler_update.
FY_API FyTensorList *fy_scaler_state_dict(const FyGradScaler *scaler);

// scaler.load_state_dict(state): does nothing when not enabled. Raises, before anything is changed, FY_RUNTIME_ERROR "The source
// state dict is empty, possibly because it was saved from a disabled instance of GradScaler.", FY_KEY_ERROR for a name that
// is missing, and FY_VALUE_ERROR for one that is not a number.
FY_API void fy_scaler_load_state_dict(FyGradScaler *scaler, const FyTensorList *state);

#endif
