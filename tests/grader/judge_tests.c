// SPDX-License-Identifier: MIT
// The tests of one answer, some beside each other: helpers are processes of the grader's own, each of which takes the next test that
// nobody has taken, as this one does, and sends what it has judged through a pipe. Which tests a verdict consists of does not hang on
// who was faster: what was run behind one that did not end is dropped, where that is to be the last.
#include "judge_tests.h"
#include "verdict_pipe.h"
#include "worker.h"
#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MAX_HELPERS = 7 };

// What all of them see.
typedef struct Board {
  atomic_bool taken[MAX_TESTS];
  atomic_int timed_out; // the first test that did, so far; MAX_TESTS: none
} Board;

typedef struct Helper {
  pid_t pid;
  int says;
} Helper;

static void note_timeout(Board *b, int test) {
  int first = atomic_load(&b->timed_out);
  while (test < first && !atomic_compare_exchange_weak(&b->timed_out, &first, test))
    continue;
}

// Those that the inspector looks at, or the others, in order.
static void take_tests(Verdict *v, Answer *a, const JudgeOptions *o, Board *b, bool inspected) {
  for (int i = 0; i < v->test_count; i++) {
    TestVerdict *t = &v->tests[i];
    if (test_is_inspected(t->test) != inspected || (o->hurry && atomic_load(&b->timed_out) < i) ||
        atomic_exchange(&b->taken[i], true))
      continue; // it stays "not run", or is another's
    judge_test(t, a, v->exercise, o);
    if (t->status == STATUS_TIMEOUT)
      note_timeout(b, i);
  }
}

// ---- helpers -------------------------------------------------------------------------------------------------------------

// This process waits for the answer that the inspector looks at; its tests are nobody else's. Who wants no more than the first test that
// fails has no use for others that are run beside it.
static int helpers_wanted(const Verdict *v, const Answer *a, const JudgeOptions *o) {
  int tests = 0;
  for (int i = 0; i < v->test_count; i++)
    tests += !test_is_inspected(v->tests[i].test);
  int wanted = o->jobs - 1 < tests ? o->jobs - 1 : tests - (tests == v->test_count);
  return o->first || a->real_gpu || !sandbox_side_by_side() ? 0 : wanted < MAX_HELPERS ? wanted : MAX_HELPERS;
}

static _Noreturn void be_helper(Verdict *v, Answer *a, const JudgeOptions *o, Board *b, int to, pid_t grader) {
  sandbox_help(grader);
  take_tests(v, a, o, b, false);
  v->protections = a->protections;
  verdict_send(to, v);
  _exit(0);
}

static bool begin_helper(Helper *h, Verdict *v, Answer *a, const JudgeOptions *o, Board *b) {
  const pid_t grader = getpid();
  h->pid = worker_begin(&h->says);
  if (h->pid == 0)
    be_helper(v, a, o, b, h->says, grader);
  return h->pid > 0;
}

// What it judged becomes this process's. A check that broke there has said so, and ends the grader as it does here.
static void end_helper(const Helper *h, Verdict *v, Answer *a) {
  static Verdict judged; // large
  int status;
  const bool whole = verdict_read(h->says, &judged);
  close(h->says);
  if (!whole)
    sandbox_tree_kill(h->pid);
  while (waitpid(h->pid, &status, 0) < 0 && errno == EINTR) {
  }
  if (WIFEXITED(status) && WEXITSTATUS(status) != 0)
    _exit(WEXITSTATUS(status));
  if (!whole)
    return;
  a->protections &= judged.protections;
  for (int i = 0; i < v->test_count; i++)
    if (judged.tests[i].status != STATUS_NOT_RUN)
      v->tests[i] = judged.tests[i];
}

// ---- all of them ---------------------------------------------------------------------------------------------------------

// Taken, and nobody has said what came of it.
static void miss_tests(Verdict *v, Board *b) {
  for (int i = 0; i < v->test_count; i++)
    if (v->tests[i].status == STATUS_NOT_RUN && atomic_load(&b->taken[i])) {
      v->tests[i].status = STATUS_GRADER_ERROR;
      snprintf(v->tests[i].headline, sizeof v->tests[i].headline, "the grader crashed while it judged this test");
      v->tests[i].report = strdup("  the grader crashed while it judged this test\n");
    }
}

// Behind the one that did not end: what was run beside it.
static void drop_behind(Verdict *v, int last) {
  for (int i = last + 1; i < v->test_count; i++) {
    TestVerdict *t = &v->tests[i];
    free(t->report);
    *t = (TestVerdict){.test = t->test, .seed = t->seed, .symptoms = t->symptoms};
  }
}

// What ran out of time beside others and had no processor for all of it, now that nothing runs beside it; and where no test is run after
// one that did not end, what was left out because of it. Up to the first that does not end now, which is returned.
static int judge_starved(Verdict *v, Answer *a, const JudgeOptions *o) {
  for (int i = 0; i < v->test_count; i++) {
    TestVerdict *t = &v->tests[i];
    const bool again = t->starved || t->status == STATUS_NOT_RUN;
    if (again) {
      free(t->report);
      *t = (TestVerdict){.test = t->test, .seed = t->seed, .symptoms = t->symptoms};
      judge_test(t, a, v->exercise, o);
    }
    if (t->status == STATUS_TIMEOUT && (again || o->hurry))
      return i;
  }
  return v->test_count;
}

// False: nothing can be shared, or there is nobody to share it with.
static bool judge_together(Verdict *v, Answer *a, const JudgeOptions *o) {
  Helper helpers[MAX_HELPERS];
  const int wanted = helpers_wanted(v, a, o);
  int begun = 0;
  Board *b = MAP_FAILED;
  if (wanted > 0)
    b = mmap(NULL, sizeof *b, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (b == MAP_FAILED)
    return false;
  atomic_store(&b->timed_out, MAX_TESTS);
  while (begun < wanted && begin_helper(&helpers[begun], v, a, o, b))
    begun++;
  take_tests(v, a, o, b, true);
  take_tests(v, a, o, b, false);
  for (int i = 0; i < begun; i++)
    end_helper(&helpers[i], v, a);
  miss_tests(v, b);
  const int last = judge_starved(v, a, o);
  if (o->hurry)
    drop_behind(v, last);
  munmap(b, sizeof *b);
  return true;
}

static void judge_alone(Verdict *v, Answer *a, const JudgeOptions *o) {
  for (int i = 0; i < v->test_count; i++) {
    TestVerdict *t = &v->tests[i];
    judge_test(t, a, v->exercise, o);
    if (o->hurry && t->status == STATUS_TIMEOUT)
      break; // the others stay "not run"
    if (o->first && t->status != STATUS_PASS && t->status != STATUS_SKIPPED)
      v->test_count = i + 1;
  }
}

void judge_tests(Verdict *v, Answer *a, const JudgeOptions *o) {
  if (!judge_together(v, a, o))
    judge_alone(v, a, o);
}
