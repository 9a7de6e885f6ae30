// SPDX-License-Identifier: MIT
// The verdict on an answer: each of its exercise's tests, run and judged.
#ifndef GRADER_JUDGE_H
#define GRADER_JUDGE_H

#include "answer.h"
#include "case.h"

typedef struct TestVerdict {
  const Test *test;
  Status status;
  uint64_t seed;          // repeats it: --replay
  char headline[600];     // the first line of the report
  char *report;           // for the learner, several lines (malloc); NULL for a pass
  char step[300];         // options of ./ferry step that lead to what was found; "": none
  const Mistake *mistake; // recognized, or NULL
  bool likely;            // by values only: other mistakes may give them as well
  LostStar lost[EXTRA_STARS];
  double seconds;
  bool symptoms; // JudgeOptions.symptoms
  bool starved;  // it ended by its time limit, and had no processor for a part of that time
  Counts counts; // of the last run, if it was counted
  bool counted;
  Score score; // of a performance challenge
} TestVerdict;

typedef struct Verdict {
  const Exercise *exercise;
  Status status; // STATUS_PASS only when every test that could be run passed
  char *report;  // of what concerns all tests: the compiler's diagnostics (malloc), or NULL
  char *warning; // the compiler's first, of an answer that was built (malloc), or NULL
  TestVerdict tests[MAX_TESTS];
  int test_count, passed, skipped;
  int stars; // of a pass, 1 to verdict_most_stars; else 0
  unsigned protections;
  const char *level; // at which it was shut in, where that was on another machine; NULL: this run's
  bool real_gpu;     // verified on NVIDIA's hardware
  bool starved;      // the same of a compiler, which is why it did not compile
  double seconds;
  uint64_t answer; // hash of the answer's file (known.c); 0: there is none
  bool known;      // from an earlier grading
} Verdict;

typedef struct JudgeOptions {
  uint64_t seed;
  bool replay;      // `seed` is that of one case
  const char *only; // a test's name, or NULL
  uint64_t tests;   // a bit for each test that is run; 0: all
  bool first;       // no test is run after the first that fails
  int devices;      // simulated ones
  bool hurry;       // after a timeout the tests that are left are not run
  bool symptoms;    // reports without the mistake and its remedy: of a file with a bug that nobody has changed yet
  void (*progress)(const char *doing); // told what is about to be done; NULL: nobody is
  int jobs; // processes that run tests of one answer at the same time, where the sandbox lets them; 0 is 1
} JudgeOptions;

int judge_devices(const Test *test, int devices); // how many simulated ones the test has, of so many that are wanted

void judge_answer(Verdict *v, const Exercise *exercise, const char *source, const JudgeOptions *options);
// An answer that answer_build has built, or has not; with other options, as often as one likes. What the compiler said goes to the
// first verdict.
void judge_built(Verdict *v, Answer *a, const JudgeOptions *options);
void verdict_free(Verdict *v);
void verdict_sum_up(Verdict *v); // status, numbers and stars from its tests

// Whether something of it may be right where nothing runs beside it, and which tests that are (JudgeOptions.tests; 0: all). What came of
// these then becomes part of the verdict; `again` is used up.
bool verdict_starved(const Verdict *v, uint64_t *tests);
void verdict_take_again(Verdict *v, Verdict *again);

double verdict_score(const Verdict *v); // 0 to 1: passed of all that were run

int verdict_most_stars(const Exercise *e); // 1 to 3, of a performance challenge up to MAX_STARS
// Why a pass does not have the second (0) or third (1) star; NULL: it has it, or there is none.
const LostStar *verdict_lost(const Verdict *v, int star);

#endif
