// SPDX-License-Identifier: MIT
// `./ferry step`: builds a program with hooks before its statements, runs it until one block is recorded, and completes the record.
#ifndef INSPECT_STEP_RUN_H
#define INSPECT_STEP_RUN_H

#include "inspect/instrument/instrument.h"

// What to record. NULL: as by default.
typedef struct StepWanted {
  const char *kernel, *launch, *block, *limit; // "sum", "2", "0,1,0", "100000"
  const char *test;                            // of an exercise: a part of its name
  // Of an exercise: the test with this number, from 1, and its inputs; 0: as `test` says
  int replay, devices;
  uint64_t seed;
} StepWanted;

enum { STEP_SETTINGS = 16, STEP_SETTING_BYTES = 4200 };
// The environment of the program: NAME=VALUE each.
typedef struct StepSettings {
  char text[STEP_SETTINGS][STEP_SETTING_BYTES];
  int count;
} StepSettings;
void step_settings(StepSettings *s, const StepWanted *w, const char *table, const char *record);

// Expects job->options.step, and build.folder to be an empty private folder. False, after a message: there is no record. It is the
// file `record` in the folder.
bool step_build(InspectJob *job);
bool step_run(InspectJob *job, const StepWanted *w, FILE *said);

// The record that a program left in `from`, with the format and the source in front, to `path`. False: it is none.
bool step_complete(const InspectJob *job, FILE *from, const char *path);

#endif
