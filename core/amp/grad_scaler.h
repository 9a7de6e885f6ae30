// SPDX-License-Identifier: MIT
// Gradient scaling, as torch.amp.GradScaler does it. Gradients of float16 tensors are often so small that float16
// rounds them to zero. A gradient scaler multiplies the loss by a large number, the scale, so that all gradients are
// larger by the same factor. It divides them by the scale again before the optimizer uses them.
//
//   FyGradScaler *scaler = fy_grad_scaler(device.type);
//   ...
//   fy_zero_grad(optimizer);
//   fy_autocast(device.type, .dtype = FY_FLOAT16)
//     loss = fy_cross_entropy(fy_forward(model, x), y);
//   fy_backward(fy_scaler_scale(scaler, loss));
//   fy_scaler_unscale_(scaler, optimizer);   // only if you read or clip the gradients before the step
//   fy_scaler_step(scaler, optimizer);       // skips the step if a gradient is infinite or NaN
//   fy_scaler_update(scaler);                // once, after the steps of all optimizers
//
// The scale is stored and updated on the device of the first loss. Only fy_scaler_step and the functions that read a
// number from the device wait for it. Only one thread at a time may use a scaler and its optimizers.
#ifndef FERRY_AMP_GRAD_SCALER_H
#define FERRY_AMP_GRAD_SCALER_H

#include "base/options.h"
#include "optim/optim.h"
#include "tensor/list.h"

// A gradient scaler: an object owned by a scope.
typedef struct FyGradScaler FyGradScaler;

// Creates a gradient scaler, owned by the innermost scope: fy_grad_scaler(FY_CUDA, .init_scale = 1024). Options that
// you do not name have PyTorch's defaults: 65536, 2, 0.5, 2000 and true. An option that you set to zero is zero. A
// disabled scaler leaves losses and gradients unchanged, and its step is fy_step. For FY_CUDA on a machine without
// CUDA, the function prints a warning and disables the scaler. Raises FY_VALUE_ERROR "The growth factor must be > 1.0."
// and "The backoff factor must be < 1.0.", and FY_RUNTIME_ERROR for any other device type.
// PyTorch: torch.amp.GradScaler(device, init_scale, growth_factor, backoff_factor, growth_interval, enabled).
typedef struct FyGradScalerOptions {
  int device_type; // FY_CPU or FY_CUDA
  double init_scale, growth_factor, backoff_factor;
  int64_t growth_interval;
  bool enabled;
  // Set by the macro: the arguments as text. If NULL, `enabled` is used as it is, and zeros mean the defaults.
  const char *named;
} FyGradScalerOptions;
#define fy_grad_scaler(...)                                                                                            \
  fy_grad_scaler_with((FyGradScalerOptions){.named = FY_TEXT_OF(__VA_ARGS__), .device_type = __VA_ARGS__})
FY_API FyGradScaler *fy_grad_scaler_with(FyGradScalerOptions options);

// Returns the loss multiplied by the scale, on the loss's device; autograd records the multiplication. A disabled
// scaler returns `outputs` itself. A float16 tensor with dimensions stays float16 and may overflow; a 0-dim float16
// tensor becomes float32. PyTorch: scaler.scale(outputs).
FY_API FyTensor *fy_scaler_scale(FyGradScaler *scaler, FyTensor *outputs);

// Divides the gradients of the optimizer's parameters by the scale, in place, and records whether any of them is
// infinite or NaN. Does not wait for a device. Raises FY_RUNTIME_ERROR "unscale_() has already been called on this
// optimizer since the last update().", "unscale_() is being called after step().", "Attempted unscale_ but _scale is
// None. ..." (fy_scaler_scale was never called), and FY_VALUE_ERROR "Attempting to unscale FP16 gradients.". PyTorch:
// scaler.unscale_(optimizer).
FY_API void fy_scaler_unscale_(FyGradScaler *scaler, FyOptimizer *optimizer);

// Unscales the gradients, unless fy_scaler_unscale_ already did, and calls fy_step(optimizer) if all gradients are
// finite. Returns whether the optimizer took the step. To find that out, it waits for the gradients' devices. It does
// not wait for an Adam or AdamW optimizer that is .capturable: their kernels check on the device whether all gradients
// are finite, change nothing otherwise, and the function always returns true. Raises FY_RUNTIME_ERROR "step() has
// already been called since the last update().", "No inf checks were recorded for this optimizer." (no parameter has a
// gradient), and the errors of fy_scaler_unscale_. PyTorch: scaler.step(optimizer).
FY_API bool fy_scaler_step(FyGradScaler *scaler, FyOptimizer *optimizer);

// Updates the scale: multiplies it by backoff_factor if an infinite or NaN gradient was found since the last update,
// and by growth_factor after growth_interval updates in a row without one. Does not wait for a device.
// fy_scaler_update_to sets the scale to `new_scale`. Raise FY_RUNTIME_ERROR "Attempted update but _scale is None. ...";
// fy_scaler_update also raises "No inf checks were recorded prior to update.". PyTorch: scaler.update() and
// scaler.update(new_scale).
FY_API void fy_scaler_update(FyGradScaler *scaler);
FY_API void fy_scaler_update_to(FyGradScaler *scaler, double new_scale);

FY_API bool fy_scaler_is_enabled(const FyGradScaler *scaler);           // scaler.is_enabled()
FY_API double fy_scaler_get_scale(const FyGradScaler *scaler);          // scaler.get_scale(); 1 if disabled. Waits
FY_API double fy_scaler_get_growth_factor(const FyGradScaler *scaler);  // scaler.get_growth_factor()
FY_API double fy_scaler_get_backoff_factor(const FyGradScaler *scaler); // scaler.get_backoff_factor()
FY_API int64_t fy_scaler_get_growth_interval(const FyGradScaler *scaler);
FY_API void fy_scaler_set_growth_factor(FyGradScaler *scaler, double factor);
FY_API void fy_scaler_set_backoff_factor(FyGradScaler *scaler, double factor);
FY_API void fy_scaler_set_growth_interval(FyGradScaler *scaler, int64_t interval);

// Returns the scaler's state: 0-dim tensors "scale", "growth_factor", "backoff_factor" (float64), "growth_interval" and
// "_growth_tracker" (int64). The list is empty if the scaler is disabled. Waits for the device. Call it after
// fy_scaler_update. PyTorch: scaler.state_dict().
FY_API FyTensorList *fy_scaler_state_dict(const FyGradScaler *scaler);

// Restores a state from fy_scaler_state_dict; does nothing if the scaler is disabled. On an error the scaler does not
// change. Raises FY_RUNTIME_ERROR "The source state dict is empty, possibly because it was saved from a disabled
// instance of GradScaler.", FY_KEY_ERROR if a name is missing, and FY_VALUE_ERROR if a value is not a single finite
// number. PyTorch: scaler.load_state_dict(state).
FY_API void fy_scaler_load_state_dict(FyGradScaler *scaler, const FyTensorList *state);

#endif
