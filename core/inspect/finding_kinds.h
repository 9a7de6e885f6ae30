// SPDX-License-Identifier: MIT
// The kinds of findings, with the names that records and `--at` have for them. Races come first.
#ifndef INSPECT_FINDING_KINDS_H
#define INSPECT_FINDING_KINDS_H

// clang-format off
// Of a step in a block ...
#define FINDING_KINDS_OF_STEPS(X) \
  X(FIND_RACE_BLOCK, "race-block") \
  X(FIND_RACE_WARP, "race-warp") \
  X(FIND_RACE_GRID, "race-grid") \
  X(FIND_RACE_STREAM, "race-stream") \
  X(FIND_RACE_HOST, "race-host") \
  X(FIND_RACE_ASYNC, "race-async") \
  X(FIND_EQUAL, "equal") \
  X(FIND_DIVERGENT, "divergent") \
  X(FIND_DIVERGENT_GRID, "divergent-grid") \
  X(FIND_LANES, "lanes") \
  X(FIND_LIVELOCK, "livelock") \
  X(FIND_UNINITIALIZED_SHARED, "uninitialized-shared") \
  X(FIND_UNINITIALIZED_GLOBAL, "uninitialized-global") \
  X(FIND_BOUNDS_GLOBAL, "bounds-global") \
  X(FIND_BOUNDS_ARRAY, "bounds-array") \
  X(FIND_BOUNDS_DYNAMIC, "bounds-dynamic") \
  X(FIND_MISALIGNED, "misaligned") \
  X(FIND_FREED, "freed") \
  X(FIND_ILLEGAL, "illegal") \
  X(FIND_CONSTANT, "constant")
// ... and others.
#define FINDING_KINDS(X) \
  FINDING_KINDS_OF_STEPS(X) \
  X(FIND_ARGUMENT, "argument") \
  X(FIND_LEAK, "leak") \
  X(FIND_UNFINISHED, "unfinished")
// clang-format on

#endif
