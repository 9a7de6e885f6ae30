// What an answer to exercise 9.2 defines, and its argument.
#ifndef ANSWER_H
#define ANSWER_H
#include "ferry.h"

typedef struct Run {
  FyModule *model;
  FyOptimizer *optimizer;
  FyScheduler *scheduler;
  int64_t epoch; // finished epochs
  double best;   // the smallest loss so far
} Run;

typedef struct Saved Saved; // defined by the answer

Saved *save_run(const Run *run);
void resume_run(Run *run, const Saved *saved);

#endif
