// One list for everything: names with a prefix, and numbers as tensors of float64.
#include "ferry.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct Saved {
  FyTensorList *all;
  FySchedulerState scheduler;
  FyRngState random;
};

static void add(FyTensorList *all, const char *prefix, const FyTensorList *state) {
  for (int i = 0; i < state->count; i++) {
    char name[128];
    snprintf(name, sizeof name, "%s%s", prefix, state->names[i]);
    fy_list_add(all, name, fy_clone(fy_detach(state->items[i])));
  }
}

static FyTensorList *part(const FyTensorList *all, const char *prefix) {
  FyTensorList *found = fy_tensor_list_new();
  const size_t length = strlen(prefix);
  for (int i = 0; i < all->count; i++)
    if (strncmp(all->names[i], prefix, length) == 0)
      fy_list_add(found, all->names[i] + length, all->items[i]);
  return found;
}

Saved *save_run(const Run *run) {
  Saved *saved = malloc(sizeof *saved);
  if (!saved)
    return NULL;
  saved->all = fy_tensor_list_new();
  add(saved->all, "model/", fy_state_dict(run->model));
  add(saved->all, "optimizer/", fy_optimizer_state_dict(run->optimizer));
  fy_list_add(saved->all, "best", fy_full(run->best, FY_SCALAR, .dtype = FY_FLOAT64));
  fy_list_add(saved->all, "epoch", fy_full((double)run->epoch, FY_SCALAR, .dtype = FY_FLOAT64));
  saved->scheduler = fy_scheduler_state(run->scheduler);
  saved->random = fy_get_rng_state();
  return saved;
}

void resume_run(Run *run, const Saved *saved) {
  fy_load_state_dict(run->model, part(saved->all, "model/"));
  fy_optimizer_load_state_dict(run->optimizer, part(saved->all, "optimizer/"));
  fy_scheduler_load_state(run->scheduler, saved->scheduler);
  run->best = fy_item(fy_list_get(saved->all, "best"));
  run->epoch = (int64_t)fy_item(fy_list_get(saved->all, "epoch"));
  fy_set_rng_state(saved->random);
}
