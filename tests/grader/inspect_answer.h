// SPDX-License-Identifier: MIT
// `ferry inspect` of an answer to an exercise: it is built, and run by the exercise's tests, in the sandbox.
#ifndef GRADER_INSPECT_ANSWER_H
#define GRADER_INSPECT_ANSWER_H

#include "inspect/instrument/instrument.h"

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

// What the exercise's driver is asked in a test; what it answers is not looked at (malloc).
uint8_t *inspect_request(const struct Exercise *e, const struct Test *test, uint64_t seed, int devices, size_t *bytes);
// A plain file that a run has left in its folder; NULL: there is none, or it is something else.
FILE *inspect_open_record(const char *folder, const char *name);

#endif
