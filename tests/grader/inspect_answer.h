// SPDX-License-Identifier: MIT
// `ferry inspect` of an answer to an exercise: it is built, and run by the exercise's tests, in the sandbox.
#ifndef GRADER_INSPECT_ANSWER_H
#define GRADER_INSPECT_ANSWER_H

#include "inspect/instrument/instrument.h"
#include "sandbox.h"

struct Answer;
struct Exercise;
struct Test;

// The `data` of a job whose subject is inspect_answer.
typedef struct InspectAnswer {
  const struct Exercise *exercise;
  struct Answer *answer; // NULL: not built yet
} InspectAnswer;
extern const InspectSubject inspect_answer;
void inspect_answer_free(InspectAnswer *a);

// A test of an answer that is built with instrumentation: its inputs, its environment, the folder that it writes to.
typedef struct InspectSandboxed {
  const struct Exercise *exercise;
  const struct Test *test;
  uint64_t seed;
  int devices;
  const char *program, *const *environment, *folder;
  const char *readable; // a file more that it reads; NULL: none
  double seconds;
  size_t most_recorded; // bytes of a file
} InspectSandboxed;
SandboxResult inspect_run_sandboxed(const InspectSandboxed *run);

// A plain file that a run has left in its folder; NULL: there is none, or it is something else.
FILE *inspect_open_record(const char *folder, const char *name);

#endif
