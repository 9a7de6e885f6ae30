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
  int64_t epoch; // and what else?
};

Saved *save_run(const Run *run) {
  return NULL;
}

void resume_run(Run *run, const Saved *saved) {
}
