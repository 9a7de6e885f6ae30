// SPDX-License-Identifier: MIT
// Learning-rate schedules, by PyTorch's chained formulas: each step goes from the present rate to the next.
#include "optim/schedule.h"
#include <math.h>
#include <stdlib.h>

struct FyScheduler {
  FyObject object;
  FyOptimizer *optimizer;                             // counted
  double (*next)(const FyScheduler *self, double lr); // the rate after step last_epoch
  FySchedulerState state;
  int64_t period;  // StepLR: step_size; CosineAnnealingLR: T_max
  double constant; // StepLR: gamma; CosineAnnealingLR: eta_min
};

static void destroy_scheduler(void *object) {
  fy_release(((FyScheduler *)object)->optimizer);
  free(object);
}

static FyScheduler *new_scheduler(FyOptimizer *optimizer, double (*next)(const FyScheduler *, double), int64_t period,
                                  double constant) {
  fy_check(optimizer, FY_TYPE_ERROR, "a schedule needs an optimizer, but it is NULL");
  FyScheduler *self = fy_object_new(sizeof *self, destroy_scheduler);
  self->optimizer = fy_retain(optimizer);
  self->next = next;
  self->state.base_lr = fy_learning_rate(optimizer);
  self->period = period;
  self->constant = constant;
  return self;
}

static double step_next(const FyScheduler *self, double lr) {
  return self->state.last_epoch % self->period == 0 ? lr * self->constant : lr;
}

FyScheduler *fy_step_lr(FyOptimizer *optimizer, int64_t step_size, double gamma) {
  fy_check(step_size >= 1, FY_VALUE_ERROR, "fy_step_lr: expected a step_size from 1, but got %lld",
           (long long)step_size);
  return new_scheduler(optimizer, step_next, step_size, gamma);
}

static double cosine_next(const FyScheduler *self, double lr) {
  int64_t t = self->state.last_epoch, period = self->period;
  double low = self->constant;
  if ((t - 1 - period) % (2 * period) == 0) // from the lowest point, where the quotient below has no meaning
    return lr + (self->state.base_lr - low) * (1 - cos(M_PI / (double)period)) / 2;
  return (1 + cos(M_PI * (double)t / (double)period)) / (1 + cos(M_PI * (double)(t - 1) / (double)period)) *
             (lr - low) +
         low;
}

FyScheduler *fy_cosine_annealing_lr(FyOptimizer *optimizer, int64_t t_max, double eta_min) {
  fy_check(t_max >= 1, FY_VALUE_ERROR, "fy_cosine_annealing_lr: expected a t_max from 1, but got %lld",
           (long long)t_max);
  return new_scheduler(optimizer, cosine_next, t_max, eta_min);
}

void fy_scheduler_step(FyScheduler *scheduler) {
  fy_check(scheduler, FY_TYPE_ERROR, "fy_scheduler_step: the schedule is NULL");
  scheduler->state.last_epoch++;
  double lr = scheduler->next(scheduler, fy_learning_rate(scheduler->optimizer));
  fy_set_learning_rate(scheduler->optimizer, lr > 0 ? lr : 0); // rounding may leave -1e-20 at the lowest point
}

int64_t fy_scheduler_last_epoch(const FyScheduler *scheduler) {
  return scheduler->state.last_epoch;
}

FySchedulerState fy_scheduler_state(const FyScheduler *scheduler) {
  return scheduler->state;
}

void fy_scheduler_load_state(FyScheduler *scheduler, FySchedulerState state) {
  fy_check(state.last_epoch >= 0 && state.base_lr >= 0, FY_VALUE_ERROR,
           "fy_scheduler_load_state: expected a count and a rate from 0, but got %lld and %g",
           (long long)state.last_epoch, state.base_lr);
  scheduler->state = state;
}
