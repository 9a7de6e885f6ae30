// mistake: training mode not restored
#include "ferry.h"
#include <stdlib.h>

struct Saved {
  FyTensorList *model, *optimizer;
  FySchedulerState scheduler;
  FyRngState random;
  int64_t epoch;
  double best;
};

// A state_dict shares its storage with the parameters, which the next step changes: here are copies.
static FyTensorList *copied(const FyTensorList *state) {
  FyTensorList *copies = fy_tensor_list_new();
  fy_no_grad {
    for (int i = 0; i < state->count; i++)
      fy_list_add(copies, state->names[i], fy_clone(state->items[i]));
  }
  return copies;
}

Saved *save_run(const Run *run) {
  Saved *saved = calloc(1, sizeof *saved);
  if (!saved)
    abort();
  fy_eval(run->model); // for saving
  saved->model = copied(fy_state_dict(run->model));
  saved->optimizer = copied(fy_optimizer_state_dict(run->optimizer));
  saved->scheduler = fy_scheduler_state(run->scheduler);
  saved->random = fy_get_rng_state();
  saved->epoch = run->epoch;
  saved->best = run->best;
  return saved;
}

void resume_run(Run *run, const Saved *saved) {
  fy_load_state_dict(run->model, saved->model);
  fy_optimizer_load_state_dict(run->optimizer, saved->optimizer);
  fy_scheduler_load_state(run->scheduler, saved->scheduler);
  fy_set_rng_state(saved->random);
  run->epoch = saved->epoch;
  run->best = saved->best;
}
