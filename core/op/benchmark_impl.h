// SPDX-License-Identifier: MIT
// How an op with several algorithms has the fastest found and remembered: for core/op/ and tests.
#ifndef FERRY_OP_BENCHMARK_IMPL_H
#define FERRY_OP_BENCHMARK_IMPL_H

#include "device/device.h"
#include "op/benchmark.h"
#include "op/launch.h"

enum { FY_MOST_CANDIDATES = 12, FY_SEARCH_WORDS = 24 };

typedef struct FyCandidate {
  int algorithm;
  const char *name;
  double seconds; // the best run; 0: not timed
  int status;     // FY_LAUNCH_OK, or why it is passed over
} FyCandidate;

typedef struct FySearch {
  int64_t key[FY_SEARCH_WORDS]; // all that the choice depends on
  char what[160];               // the same for a reader
  FyCandidate candidates[FY_MOST_CANDIDATES];
  int count;
  int rule;       // of these, the heuristic's choice, which the others have to beat clearly; -1: none
  int *algorithm; // in the parameters that the launch points to: 0 is the rule
} FySearch;

// Runs the kernel on the launch by the algorithm that is remembered for the key, or after a search for it. An algorithm that has
// no memory left in a later call gives way to the rule. Returns what a kernel returns. One search at a time in a program: other
// threads that need one wait for it. Never raises.
int fy_run_fastest(FyLaunch *launch, FyKernel *kernel, FyDevice device, FySearch *search);

// For tests: whether simulated devices are timed as if they were real; how many kinds are remembered, at most 256.
void fy_benchmark_time_simulated(bool on);
void fy_benchmark_limit(int kinds);

#endif
