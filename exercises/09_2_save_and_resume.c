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
  int64_t epoch; // and what else?
};

Saved *save_run(const Run *run) {
  (void)run;
  return NULL;
}

void resume_run(Run *run, const Saved *saved) {
  (void)run;
  (void)saved;
}
