// Exercise 9.2: Save and resume training            lesson 9 · medium · 40 min
//
// Task      Save a training run, and resume it in a new run. All weights must
//           then be bit-for-bit equal to those of an uninterrupted run:
//               saved = {"model": deepcopy(model.state_dict()),
//                        "random": torch.get_rng_state(), ...}
//               model.load_state_dict(saved["model"]); ...
// Example   3 epochs, save_run, resume_run in a new run, 3 epochs = 6 epochs
// Write     struct Saved, save_run and resume_run. The tests never free a
//           struct Saved, and they call save_run in a scope that stays open.
// Inputs    model, optimizer   with BatchNorm and dropout, on any device; with
//                              momentum
//           scheduler          counts epochs or batches
//           epoch, best        number of finished epochs; smallest loss so far
//           the new run        same layers; different weights, rate and `best`
// Required  - resume_run restores model, optimizer, scheduler, epoch, best and
//             the process's random generator to their state at save_run
//           - neither training nor a later save_run changes a struct Saved
//           - save_run does not change the run, its gradients, its modes or
//             the random generator
#include "ferry.h"
#include <stdlib.h>

#ifndef ANSWER_H // for your editor: the tests include a header that declares this
typedef struct Run {
  FyModule *model;
  FyOptimizer *optimizer;
  FyScheduler *scheduler;
  int64_t epoch; // finished epochs
  double best;   // the smallest loss so far
} Run;

typedef struct Saved Saved; // you define it
#endif

struct Saved {
  // [answer]
  FyTensorList *model, *optimizer;
  FySchedulerState scheduler;
  FyRngState random;
  int64_t epoch;
  double best;
  // [stub]
  //| int64_t epoch; // and what else?
  // [end]
};

// [answer]
// Copies the tensors, because a state_dict shares its storage with the parameters, which the next step changes.
static FyTensorList *copied(const FyTensorList *state) {
  FyTensorList *copies = fy_tensor_list_new();
  fy_no_grad {
    for (int i = 0; i < state->count; i++)
      fy_list_add(copies, state->names[i], fy_clone(state->items[i]));
  }
  return copies;
}

// [stub]
// [end]
Saved *save_run(const Run *run) {
  // [answer]
  Saved *saved = calloc(1, sizeof *saved);
  if (!saved)
    abort();
  saved->model = copied(fy_state_dict(run->model));
  saved->optimizer = copied(fy_optimizer_state_dict(run->optimizer));
  saved->scheduler = fy_scheduler_state(run->scheduler);
  saved->random = fy_get_rng_state();
  saved->epoch = run->epoch;
  saved->best = run->best;
  return saved;
  // [stub]
  //| return NULL;
  // [end]
}

void resume_run(Run *run, const Saved *saved) {
  // [answer]
  fy_load_state_dict(run->model, saved->model);
  fy_optimizer_load_state_dict(run->optimizer, saved->optimizer);
  fy_scheduler_load_state(run->scheduler, saved->scheduler);
  fy_set_rng_state(saved->random);
  run->epoch = saved->epoch;
  run->best = saved->best;
  // [stub]
  // [end]
}
