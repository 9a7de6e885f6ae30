// SPDX-License-Identifier: MIT
// Inside the grader: what a failed test's report says (judge.c).
#ifndef GRADER_JUDGE_REPORT_H
#define GRADER_JUDGE_REPORT_H

#include "judge.h"
#include "schedule.h"

// What ended it; the simulator reports a signal of the answer's and then exits with 128 and its number, as shells do.
int report_signal(const SandboxResult *r);
// What came from an answer may be made to command a terminal. Frees `text`.
char *report_shown(char *text);
// Of a test that `v` has the status and the mistake of: v->report.
void report_write(TestVerdict *v, const Answer *a, const Case *c, const SandboxResult *r, const Schedule *schedule);

#endif
