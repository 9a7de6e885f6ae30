// SPDX-License-Identifier: MIT
// What a learner may read about an answer. Platforms show it to learners, so no hidden test shows in it.
#include "grade.h"
#include "tool/print/lesson.h"
#include <string.h>

static bool is_named_before(const Verdict *v, int test) {
  for (int i = 0; i < test; i++)
    if (v->tests[i].mistake && strcmp(v->tests[i].mistake->name, v->tests[test].mistake->name) == 0)
      return true;
  return false;
}

static void add_mistakes(Text *t, const Verdict *v) {
  for (int i = 0; i < v->test_count; i++) {
    const Mistake *m = v->tests[i].mistake;
    char command[256];
    if (v->tests[i].status == STATUS_PASS || !m || is_named_before(v, i))
      continue;
    text_add(t, "%s%s.", v->tests[i].likely ? "This looks like: " : "Mistake: ", m->name);
    if (m->says)
      text_add(t, " %s", m->says);
    lesson_command(m->lesson, command, sizeof command);
    text_add(t, "\nRead: %s\n", command);
  }
}

// A status that failed tests have, without saying which tests those are.
static void add_kind(Text *t, const Verdict *v, Status status, const char *says) {
  for (int i = 0; i < v->test_count; i++)
    if (v->tests[i].status == status) {
      text_add(t, "%s\n", says);
      return;
    }
}

void feedback_add(Text *t, const Verdict *v) {
  const int run = v->test_count - v->skipped;
  switch (v->status) {
  case STATUS_MISSING:
    text_add(t, "No answer was submitted.\n");
    return;
  case STATUS_GRADER_ERROR:
    text_add(t, "The grader failed, so this answer is not counted.\n");
    return;
  case STATUS_NOT_RUN:
    text_add(t, "Not graded yet.\n");
    return;
  case STATUS_COMPILE_ERROR:
    text_add(t, "The answer does not compile:\n%s", v->report ? v->report : "");
    return;
  case STATUS_PASS:
    text_add(t, "All %d tests pass. Stars: %d of %d.\n", run, v->stars, verdict_most_stars(v->exercise));
    return;
  default:
    text_add(t, "%d of %d tests pass.\n%s", v->passed, run, v->report ? v->report : "");
  }
  add_mistakes(t, v);
  add_kind(t, v, STATUS_CRASH, "The program crashes.");
  add_kind(t, v, STATUS_TIMEOUT, "The program does not end in time.");
  add_kind(t, v, STATUS_OUT_OF_MEMORY, "The program needs too much memory.");
  add_kind(t, v, STATUS_OUTPUT_LIMIT, "The program prints too much.");
  text_add(t, "Run ./ferry run %s to see a failing test, with new inputs.\n", exercise_number(v->exercise));
}
