// mistake: best loss of the new run kept
#include "ferry.h"
#include <stdlib.h>

#ifndef ANSWER_H
typedef struct Run {
  FyModule *model;
  FyOptimizer *optimizer;
  FyScheduler *scheduler;
  int64_t epoch; // how many are done
  double best;   // the least loss so far
} Run;

typedef struct Saved Saved; // the answer's own
#endif

struct Saved {
  FyTensorList *model, *optimizer;
  FySchedulerState schedule;
  FyRngState random;
  int64_t epoch;
  double best;
};

static FyTensorList *copies(const FyTensorList *state) {
  FyTensorList *list = fy_tensor_list_new();
  for (int i = 0; i < state->count; i++)
    fy_list_add(list, state->names[i], fy_clone(fy_detach(state->items[i])));
  return list;
}

Saved *save_run(const Run *run) {
  Saved *saved = malloc(sizeof *saved);
  saved->model = copies(fy_state_dict(run->model));
  saved->optimizer = copies(fy_optimizer_state_dict(run->optimizer));
  saved->schedule = fy_scheduler_state(run->scheduler);
  saved->random = fy_get_rng_state();
  saved->epoch = run->epoch;
  saved->best = run->best;
  return saved;
}

void resume_run(Run *run, const Saved *saved) {
  fy_load_state_dict(run->model, saved->model);
  fy_optimizer_load_state_dict(run->optimizer, saved->optimizer);
  fy_scheduler_load_state(run->scheduler, saved->schedule);
  run->epoch = saved->epoch;
  if (saved->best < run->best)
    run->best = saved->best;
  fy_set_rng_state(saved->random);
}
