// mistake: buffer shared between calls
#include "ferry.h"
#include <stdlib.h>

struct Saved {
  FyTensorList *model, *optimizer;
  FySchedulerState scheduler;
  FyRngState random;
  int64_t epoch;
  double best;
};

static FyTensorList *copied(FyTensorList *list) {
  FyTensorList *copy = fy_tensor_list_new();
  for (int i = 0; i < list->count; i++)
    fy_list_add(copy, list->names[i], fy_clone(list->items[i]));
  return fy_retain(copy);
}

Saved *save_run(const Run *run) {
  static struct Saved latest;
  Saved *saved = &latest;
  fy_scope {
    saved->model = copied(fy_state_dict(run->model));
    saved->optimizer = copied(fy_optimizer_state_dict(run->optimizer));
  }
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
