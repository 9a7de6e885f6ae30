// SPDX-License-Identifier: MIT
// Learning-rate schedules, gradient clipping and the state of optimizers: torch.optim.lr_scheduler and torch.nn.utils.
// Only one thread at a time may use the optimizers and gradients on which these functions work.
#ifndef FERRY_OPTIM_SCHEDULE_H
#define FERRY_OPTIM_SCHEDULE_H

#include "optim/optim.h"

// ---- schedules ------------------------------------------------------------------------------------------------------

// A learning-rate schedule: an object owned by a scope, which retains its optimizer. Each step changes the optimizer's
// current learning rate, so you can chain several schedules, as in PyTorch.
typedef struct FyScheduler FyScheduler;

// Creates a schedule, owned by the innermost scope, that multiplies the learning rate by gamma every step_size steps.
// PyTorch's default of gamma is 0.1. Raises FY_VALUE_ERROR if step_size < 1. PyTorch:
// torch.optim.lr_scheduler.StepLR(optimizer, step_size, gamma).
FY_API FyScheduler *fy_step_lr(FyOptimizer *optimizer, int64_t step_size, double gamma);

// Creates a schedule, owned by the innermost scope, in which the learning rate follows half a period of a cosine from
// its initial value to eta_min in t_max steps; after that, it rises again. Raises FY_VALUE_ERROR if t_max < 1. PyTorch:
// torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max, eta_min).
FY_API FyScheduler *fy_cosine_annealing_lr(FyOptimizer *optimizer, int64_t t_max, double eta_min);

// Advance a schedule by one step, and return the number of steps so far. Call fy_scheduler_step after each epoch, or
// after each batch if the schedule counts batches. PyTorch: scheduler.step() and scheduler.last_epoch.
FY_API void fy_scheduler_step(FyScheduler *scheduler);
FY_API int64_t fy_scheduler_last_epoch(const FyScheduler *scheduler);

// Return and restore the state of a schedule: the number of steps and the initial learning rate. The current learning
// rate is a part of the optimizer's state. fy_scheduler_load_state raises FY_VALUE_ERROR if a value is negative.
// PyTorch: scheduler.state_dict() and scheduler.load_state_dict(state).
typedef struct FySchedulerState {
  int64_t last_epoch;
  double base_lr;
} FySchedulerState;
FY_API FySchedulerState fy_scheduler_state(const FyScheduler *scheduler);
FY_API void fy_scheduler_load_state(FyScheduler *scheduler, FySchedulerState state);

// ---- clipping -------------------------------------------------------------------------------------------------------

// Computes the 2-norm of all gradients together, and multiplies them in place by max_norm / (norm + 1e-6) if this
// factor is below 1. Returns the norm before clipping, owned by the innermost scope: a 0-dim tensor on the device of
// the first gradient, float32, or float64 for float64 gradients. Without gradients, it is 0. Does not wait for a
// device. If the norm is infinite or NaN, the gradients become NaN or 0, as in PyTorch. Raises FY_VALUE_ERROR if
// max_norm is negative or NaN. PyTorch: torch.nn.utils.clip_grad_norm_(parameters, max_norm).
FY_API FyTensor *fy_clip_grad_norm_(const FyTensorList *parameters, double max_norm);

// Limits each element of all gradients to [-clip_value, clip_value], in place. Raises FY_VALUE_ERROR if clip_value is
// negative or NaN. PyTorch: torch.nn.utils.clip_grad_value_(parameters, clip_value).
FY_API void fy_clip_grad_value_(const FyTensorList *parameters, double clip_value);

// ---- state of optimizers --------------------------------------------------------------------------------------------

// Returns the state of an optimizer as a list, owned by the innermost scope. For parameter i, in the order given to the
// optimizer, it contains the step number "state.i.step" (int64, or float32 with .capturable) and, once they exist, the
// tensors that PyTorch calls "state.i.momentum_buffer" (SGD), or "state.i.exp_avg" and "state.i.exp_avg_sq" (Adam).
// These tensors share storage with those of the optimizer. The learning rate is "param_groups.0.lr", a 0-dim float64.
// PyTorch: optimizer.state_dict().
FY_API FyTensorList *fy_optimizer_state_dict(const FyOptimizer *optimizer);

// Restores a state from fy_optimizer_state_dict; copies all tensors. Raises FY_VALUE_ERROR if the state contains a name
// or a parameter that this optimizer does not have, or a shape that differs from the parameter's; then nothing changes.
// PyTorch: optimizer.load_state_dict(state).
FY_API void fy_optimizer_load_state_dict(FyOptimizer *optimizer, const FyTensorList *state);

#endif
