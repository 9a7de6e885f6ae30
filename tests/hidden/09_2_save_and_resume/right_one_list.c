// All tensors in one list, in the order of parameters, buffers and the optimizer's; numbers in an array.
#include "ferry.h"
#include <stdlib.h>

struct Saved {
  FyTensorList *all;
  int of_model;
  double numbers[2];
  int64_t epoch;
  FySchedulerState counted;
  FyRngState drawn;
};

static void gather(FyTensorList *to, const FyTensorList *from) {
  for (int i = 0; i < from->count; i++)
    fy_list_add(to, from->names[i], fy_clone(fy_detach(from->items[i])));
}

Saved *save_run(const Run *run) {
  Saved *saved = malloc(sizeof *saved);
  if (!saved)
    return NULL;
  *saved = (Saved){.all = fy_tensor_list_new(), .epoch = run->epoch, .drawn = fy_get_rng_state()};
  gather(saved->all, fy_parameters(run->model));
  gather(saved->all, fy_buffers(run->model));
  saved->of_model = saved->all->count;
  gather(saved->all, fy_optimizer_state_dict(run->optimizer));
  saved->numbers[0] = run->best;
  saved->counted = fy_scheduler_state(run->scheduler);
  return saved;
}

void resume_run(Run *run, const Saved *saved) {
  FyTensorList *model = fy_tensor_list_new(), *optimizer = fy_tensor_list_new();
  for (int i = 0; i < saved->all->count; i++)
    fy_list_add(i < saved->of_model ? model : optimizer, saved->all->names[i], saved->all->items[i]);
  fy_scheduler_load_state(run->scheduler, saved->counted);
  fy_optimizer_load_state_dict(run->optimizer, optimizer);
  fy_load_state_dict(run->model, model);
  run->best = saved->numbers[0];
  run->epoch = saved->epoch;
  fy_set_rng_state(saved->drawn);
}
