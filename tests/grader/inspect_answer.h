// SPDX-License-Identifier: MIT
// `ferry inspect` of an answer to an exercise: it is built, and run by the exercise's tests, in the sandbox.
#ifndef GRADER_INSPECT_ANSWER_H
#define GRADER_INSPECT_ANSWER_H

#include "inspect/instrument/instrument.h"

struct Answer;
struct Exercise;

// The `data` of a job whose subject is inspect_answer.
typedef struct InspectAnswer {
  const struct Exercise *exercise;
  struct Answer *answer; // NULL: not built yet
} InspectAnswer;
extern const InspectSubject inspect_answer;
void inspect_answer_free(InspectAnswer *a);

#endif
