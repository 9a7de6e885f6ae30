// What an answer to exercise 9.2 defines, and what it is given.
#ifndef ANSWER_H
#define ANSWER_H
#include "ferry.h"

typedef struct Run {
  FyModule *model;
  FyOptimizer *optimizer;
  FyScheduler *scheduler;
  int64_t epoch; // how many are done
  double best;   // the least loss so far
} Run;

typedef struct Saved Saved; // the answer's own

Saved *save_run(const Run *run);
void resume_run(Run *run, const Saved *saved);

#endif
