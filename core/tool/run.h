// SPDX-License-Identifier: MIT
// What `ferry run` and `ferry watch` share.
#ifndef TOOL_RUN_H
#define TOOL_RUN_H

#include "tool/commands.h"

typedef struct RunOptions {
  const Exercise *exercise;
  const char *file, *test, *sandbox;
  const char *json; // where the verdict goes as JSON, too; NULL: nowhere
  uint64_t seed;
  int replay;          // number of the test to repeat with `seed`, 0: none
  const char *devices; // numbers of simulated devices, "1,4": a verdict for each; NULL: one, as the environment says
  int times;           // judged so often, each time with other inputs; 0: once
  bool all;            // every report, not the first alone
  bool first;          // no test after the first that fails
} RunOptions;

// "2.1f3a": a test's number and the seed of its inputs.
bool run_read_replay(const char *text, int *test, uint64_t *seed);
int run_parse(int argc, char **argv, RunOptions *o); // an exit status
// Judges, prints, and remembers a pass of `own_file`, the learner's. An exit status.
int judge_once(const RunOptions *o, const char *own_file);

#endif
