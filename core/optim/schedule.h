// SPDX-License-Identifier: MIT
// Learning-rate schedules, gradient clipping and optimizers' state: torch.optim.lr_scheduler, torch.nn.utils. For one
// thread at a time, as the optimizers and gradients they work on.
#ifndef FERRY_OPTIM_SCHEDULE_H
#define FERRY_OPTIM_SCHEDULE_H

#include "optim/optim.h"

// ---- schedules -------------------------------------------------------------------------------------------------------

// An object of the scope that keeps its optimizer. Schedules are chained as PyTorch's: each step changes the optimizer's
// present learning rate.
typedef struct FyScheduler FyScheduler;

// lr_scheduler.StepLR(optimizer, step_size, gamma): the rate is multiplied by gamma every step_size steps. gamma 0.1 is
// PyTorch's default. Raises FY_VALUE_ERROR for step_size < 1.
FY_API FyScheduler *fy_step_lr(FyOptimizer *optimizer, int64_t step_size, double gamma);

// lr_scheduler.CosineAnnealingLR(optimizer, T_max, eta_min): half a cosine from the initial rate to eta_min in T_max steps,
// and back after. Raises FY_VALUE_ERROR for t_max < 1.
FY_API FyScheduler *fy_cosine_annealing_lr(FyOptimizer *optimizer, int64_t t_max, double eta_min);

// scheduler.step(), after each epoch (or each batch: it counts calls). scheduler.last_epoch: how many there were.
FY_API void fy_scheduler_step(FyScheduler *scheduler);
FY_API int64_t fy_scheduler_last_epoch(const FyScheduler *scheduler);

// scheduler.state_dict() and load_state_dict(): the count and the initial rate. The present rate is the optimizer's.
typedef struct FySchedulerState {
  int64_t last_epoch;
  double base_lr;
} FySchedulerState;
FY_API FySchedulerState fy_scheduler_state(const FyScheduler *scheduler);
FY_API void fy_scheduler_load_state(FyScheduler *scheduler, FySchedulerState state);

// ---- clipping --------------------------------------------------------------------------------------------------------

// nn.utils.clip_grad_norm_(parameters, max_norm): multiplies all gradients in place by max_norm / (total + 1e-6) where that
// is below 1, total being the 2-norm of them all together. Returns the total as it was, 0-dim float32 (float64 for float64
// gradients) on the first gradient's device: nothing waits for a device before the caller reads it. 0 when there are no
// gradients. A total that is not finite makes the gradients NaN or 0, as in PyTorch. Raises FY_VALUE_ERROR for a negative or
// NaN max_norm.
FY_API FyTensor *fy_clip_grad_norm_(const FyTensorList *parameters, double max_norm);

// nn.utils.clip_grad_value_(parameters, clip_value): clamps every gradient in place to [-clip_value, clip_value]. Raises
// FY_VALUE_ERROR for a negative or NaN clip_value.
FY_API void fy_clip_grad_value_(const FyTensorList *parameters, double clip_value);

// ---- optimizers' state -----------------------------------------------------------------------------------------------

// optimizer.state_dict() as a list of tensors: for parameter i, in the order given to the optimizer, "state.i.step" (int64)
// and, as PyTorch names them, "state.i.momentum_buffer" or "state.i.exp_avg" and "state.i.exp_avg_sq" where they exist yet
// (they share storage with the optimizer's); "param_groups.0.lr" (float64, 0-dim).
FY_API FyTensorList *fy_optimizer_state_dict(const FyOptimizer *optimizer);

// optimizer.load_state_dict(state): copies all of it. Raises FY_VALUE_ERROR, before anything is changed, for names this
// optimizer does not have, parameters it does not have, and shapes that differ from the parameter's.
FY_API void fy_optimizer_load_state_dict(FyOptimizer *optimizer, const FyTensorList *state);

#endif
