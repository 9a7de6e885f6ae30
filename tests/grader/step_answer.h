// SPDX-License-Identifier: MIT
// `ferry step` of an answer to an exercise: it is built, and run by one of the exercise's tests, in the sandbox.
#ifndef GRADER_STEP_ANSWER_H
#define GRADER_STEP_ANSWER_H

#include "inspect/instrument/step_run.h"

struct Exercise;

// Records a test of the exercise: the one asked for, or the first in which something is found, or the first. Expects build.folder to be
// an empty folder, where the file `record` is then. False, after a message to `said`: there is none.
bool step_answer_record(InspectJob *job, const struct Exercise *exercise, const StepWanted *wanted, FILE *said);

#endif
