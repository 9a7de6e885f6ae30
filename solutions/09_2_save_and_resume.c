// Exercise 9.2: saved, and resumed to the bit                             (chapter 9, docs/09_training_a_classifier.md)
//
// A training run is interrupted after some epoch. Later a new one is made (a network of the same layers with other
// weights, a new optimizer and a new schedule of the same kinds with another rate), and it is to go on as if there had
// been no interruption: every weight equal to the last bit. Write save_run, which returns all that this takes, and
// resume_run, which puts it into the new run. What a Saved holds is for you to say: define struct Saved. It comes from
// malloc, say, and nobody frees it. Tensors in it may be of the scope that save_run is called in, which is open until
// the process ends. It is put into one new run at most, in the same process.
//
//   PyTorch:  saved = {"model": copy.deepcopy(model.state_dict()), "optimizer": copy.deepcopy(optimizer.state_dict()),
//                      "scheduler": scheduler.state_dict(), "random": torch.get_rng_state(), "epoch": epoch, "best": best}
//             model.load_state_dict(saved["model"])      (and so on)
//
// Given: typedef struct Run { FyModule *model; FyOptimizer *optimizer; FyScheduler *scheduler; int64_t epoch; double
// best; }: a network with BatchNorm and dropout, on any device; an optimizer with momentum; `epoch`, how many are done,
// by which the order of the samples goes; `best`, the least loss so far (the new run's counts for nothing). The
// schedule counts epochs, or batches. Dropout draws from the process's generator.
// Judged: after resuming, each of these; and the weights at the end, against those of a run without interruption. The
// saved run goes on training, and is saved again, before the first Saved is used: what was saved must not change with
// it. Saving changes nothing in the run, gradients and modes included, and draws no random numbers.
#include "ferry.h"
#include <stdlib.h>

#ifndef ANSWER_H // the tests declare it all before they compile your file; here it is for you and your editor
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
// A state_dict shares its storage with the parameters, which the next step changes: here are copies.
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
  //| (void)run;
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
  //| (void)run;
  //| (void)saved;
  // [end]
}
