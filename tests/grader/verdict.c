// SPDX-License-Identifier: MIT
// What an answer's tests come to: status, score, stars, and tests that ran again.
#include "judge.h"
#include "score.h"
#include <stdlib.h>

static Status worst(Status a, Status b) {
  static const int rank[] = {[STATUS_PASS] = 0,         [STATUS_SKIPPED] = 0,      [STATUS_FAIL] = 1,
                             [STATUS_CRASH] = 2,        [STATUS_TIMEOUT] = 2,      [STATUS_OUT_OF_MEMORY] = 2,
                             [STATUS_OUTPUT_LIMIT] = 2, [STATUS_GRADER_ERROR] = 3, [STATUS_NOT_RUN] = 0};
  return rank[b] > rank[a] ? b : a;
}

int verdict_most_stars(const Exercise *e) {
  int most = 1;
  while (most <= EXTRA_STARS && e->stars[most - 1].is_for)
    most++;
  return e->open ? score_most_stars(exercise_scored(e)) : most;
}

const LostStar *verdict_lost(const Verdict *v, int star) {
  for (int i = 0; v->exercise->stars[star].is_for && i < v->test_count; i++)
    if (v->tests[i].lost[star].finding[0])
      return &v->tests[i].lost[star];
  return NULL;
}

static int stars_of(const Verdict *v) {
  int stars = 1;
  if (v->status != STATUS_PASS || v->passed == 0)
    return 0;
  for (int i = 0; v->exercise->open && i < v->test_count; i++)
    if (v->tests[i].score.seconds > 0)
      return v->tests[i].score.stars;
  for (int star = 0; star < EXTRA_STARS; star++)
    stars += v->exercise->stars[star].is_for && !verdict_lost(v, star);
  return stars;
}

// In the order of the tests, whoever has run them.
void verdict_sum_up(Verdict *v) {
  v->status = STATUS_PASS;
  v->passed = v->skipped = 0;
  for (int i = 0; i < v->test_count; i++) {
    const Status status = v->tests[i].status;
    v->passed += status == STATUS_PASS;
    v->skipped += status == STATUS_SKIPPED;
    v->status = worst(v->status, status);
  }
  v->stars = stars_of(v);
}

bool verdict_starved(const Verdict *v, uint64_t *tests) {
  *tests = 0;
  for (int i = 0; i < v->test_count && !v->starved; i++)
    *tests |= (uint64_t)v->tests[i].starved << (v->tests[i].test - v->exercise->tests);
  return v->starved || *tests;
}

static void replace_test(TestVerdict *t, TestVerdict *again) {
  const double seconds = t->seconds + again->seconds;
  free(t->report);
  *t = *again;
  t->seconds = seconds;
  again->report = NULL;
}

void verdict_take_again(Verdict *v, Verdict *again) {
  const bool built = !v->starved && again->status != STATUS_COMPILE_ERROR;
  v->seconds += again->seconds;
  if (v->starved ||
      again->status == STATUS_GRADER_ERROR) { // nothing came of the first time, or nobody knows what came of both
    again->seconds = v->seconds;
    verdict_free(v);
    *v = *again;
    *again = (Verdict){0};
    return;
  }
  for (int i = 0; built && i < again->test_count; i++)
    for (int j = 0; j < v->test_count; j++)
      if (v->tests[j].test == again->tests[i].test && again->tests[i].status != STATUS_NOT_RUN)
        replace_test(&v->tests[j], &again->tests[i]);
  verdict_sum_up(v);
  verdict_free(again);
}

void verdict_free(Verdict *v) {
  free(v->report);
  free(v->warning);
  for (int i = 0; i < v->test_count; i++)
    free(v->tests[i].report);
  *v = (Verdict){0};
}

double verdict_score(const Verdict *v) {
  int run = v->test_count - v->skipped;
  if (v->exercise->open && v->passed < run)
    return 0;
  return run > 0 ? (double)v->passed / run : 0;
}
