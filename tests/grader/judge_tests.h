// SPDX-License-Identifier: MIT
// Inside the grader: between a verdict (judge.c) and who runs its tests (judge_tests.c).
#ifndef GRADER_JUDGE_TESTS_H
#define GRADER_JUDGE_TESTS_H

#include "judge.h"

// Runs one test, which `v` names, and judges it.
void judge_test(TestVerdict *v, Answer *a, const Exercise *e, const JudgeOptions *o);
// Those of `v`, which are drawn already: all, or with `first` up to the first that fails, which then is the last in `v`.
void judge_tests(Verdict *v, Answer *a, const JudgeOptions *o);

#endif
