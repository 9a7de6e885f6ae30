// SPDX-License-Identifier: MIT
// The views of a record, for the command ./ferry step.
#ifndef STEP_STEP_H
#define STEP_STEP_H

#include "step/record.h"
#include <stdio.h>

// The state behind a step as text, `columns` wide (at least 80), in colors if `to` is stdout and a terminal.
void step_print(const Record *r, int step, int columns, FILE *to);

// Whether this build has the interactive view, and stdin and stdout are a terminal. If not, `why` says what is missing.
bool step_has_terminal(char *why, size_t why_bytes);
// Walks through the record on the terminal, beginning at a step, until the user quits. Returns an exit status.
int step_terminal(const Record *r, int step);

// What a client of the debug adapter asks to be recorded. What it does not name is NULL, or -1 for the launch.
typedef struct StepLaunch {
  const char *program, *kernel, *block;
  int launch;
  const char *const *arguments; // of the program
  int argument_count;
} StepLaunch;

// Makes the record, and writes its path. False: there is none, and `said` (messages of the compiler, for example) has the reason. Nothing
// may be printed on stdout, which belongs to the client.
typedef bool StepRecorder(const StepLaunch *launch, char *path, size_t path_bytes, FILE *said);

// A debug adapter (DAP) on stdin and stdout, until the client disconnects. Threads are warps. Returns an exit status.
int step_dap(StepRecorder *recorder);

#endif
