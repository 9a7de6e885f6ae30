// Copies on the host, as a file would have them, and values copied back one by one.
#include "ferry.h"
#include <stdlib.h>

struct Saved {
  Run run; // its numbers
  FyTensorList *values, *moments;
  FyRngState generator;
  FySchedulerState schedule;
};

Saved *save_run(const Run *run) {
  Saved *saved = calloc(1, sizeof *saved);
  saved->run = *run;
  saved->generator = fy_get_rng_state();
  saved->schedule = fy_scheduler_state(run->scheduler);
  saved->values = fy_tensor_list_new();
  saved->moments = fy_tensor_list_new();
  FyTensorList *state = fy_state_dict(run->model), *of_optimizer = fy_optimizer_state_dict(run->optimizer);
  for (int i = 0; i < state->count; i++)
    fy_list_add(saved->values, state->names[i], fy_to(state->items[i], FY_CPU_DEVICE, .copy = true));
  for (int i = 0; i < of_optimizer->count; i++)
    fy_list_add(saved->moments, of_optimizer->names[i], fy_clone(of_optimizer->items[i]));
  return saved;
}

void resume_run(Run *run, const Saved *saved) {
  FyTensorList *state = fy_state_dict(run->model);
  for (int i = 0; i < state->count; i++)
    fy_copy_(state->items[i], fy_list_get(saved->values, state->names[i]));
  fy_optimizer_load_state_dict(run->optimizer, saved->moments);
  fy_scheduler_load_state(run->scheduler, saved->schedule);
  run->epoch = saved->run.epoch;
  run->best = saved->run.best;
  fy_set_rng_state(saved->generator);
}
