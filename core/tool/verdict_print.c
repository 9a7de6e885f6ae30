// SPDX-License-Identifier: MIT
// A verdict on the terminal: a row for each test, one that failed told in full, what was counted, and at last what it is.
#include "tool/commands.h"
#include "tool/print/plain.h"
#include "tool/print/term.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *verdict_words(const Verdict *v) {
  if (v->status == STATUS_PASS && v->real_gpu)
    return "passed on NVIDIA hardware";
  if (v->status == STATUS_PASS)
    return "passed on the simulator; not verified on a GPU";
  return status_name(v->status);
}

static bool is_bad(const TestVerdict *t) {
  return t->status != STATUS_PASS && t->status != STATUS_SKIPPED && t->status != STATUS_NOT_RUN;
}

static void print_row(const TestVerdict *t) {
  bool pass = t->status == STATUS_PASS;
  const char *colour = style(pass ? GREEN : is_bad(t) ? RED : YELLOW);
  const char *why = t->status == STATUS_SKIPPED   ? " (it needs more devices)"
                    : t->status == STATUS_NOT_RUN ? " (after a timeout; --all runs it)"
                                                  : "";
  printf("  %s%-13s%s %s%s\n", colour, pass ? "ok" : status_name(t->status), style(PLAIN), t->test->name, why);
}

// Maps of elements and quoted source are as wide as they are: only what is prose goes to the next line.
static void print_report(const Verdict *v, const TestVerdict *t) {
  int number = (int)(t - v->tests) + 1;
  printf("\n%s%s%s: %s\n", style(BOLD), t->test->name, style(PLAIN), status_name(t->status));
  if (t->report)
    term_wrap(stdout, t->report, 2);
  printf("  again: ./ferry run %.2s --replay %d.%llx\n", v->exercise->id, number, (unsigned long long)t->seed);
}

static void print_compiler(const char *title, const char *text) {
  printf("\n%s%s%s\n", style(YELLOW), title, style(PLAIN));
  term_wrap(stdout, text, 2);
}

static void print_counts(const Verdict *v) {
  if (v->skipped > 0)
    term_paragraph(stdout, "", 0,
                   "Tests were left out: there are not devices enough. FERRY_CUDA=sim runs them on simulated ones");
  printf("%d of %d tests passed in %.1f s\n", v->passed, v->test_count - v->skipped, v->seconds);
}

// The first that failed of those whose mistake is known, since that says more; or the first.
static int test_to_show(const Verdict *v) {
  int first = -1;
  for (int i = 0; i < v->test_count; i++) {
    if (is_bad(&v->tests[i]) && v->tests[i].mistake)
      return i;
    first = first < 0 && is_bad(&v->tests[i]) ? i : first;
  }
  return first;
}

void verdict_print(const Verdict *v, const char *file, bool all) {
  char *plain = plain_line(file, strlen(file)); // a learner may have chosen its name
  const int to_show = test_to_show(v);
  bool built = v->status != STATUS_COMPILE_ERROR && v->status != STATUS_MISSING &&
               (v->status != STATUS_GRADER_ERROR || !v->report);
  printf("%s%s%s  ", style(BOLD), v->exercise->id, style(PLAIN));
  term_paragraph(stdout, "", (int)strlen(v->exercise->id) + 2, plain ? plain : "");
  free(plain);
  if (!built) {
    printf("%s%s%s\n", style(RED), status_name(v->status), style(PLAIN));
    if (v->report)
      term_wrap(stdout, v->report, 2);
    printf("\n");
    print_counts(v);
    return;
  }
  for (int i = 0; i < v->test_count; i++)
    print_row(&v->tests[i]);
  for (int i = 0; i < v->test_count; i++)
    if (is_bad(&v->tests[i]) && (all || i == to_show))
      print_report(v, &v->tests[i]);
  if (v->report)
    term_wrap(stdout, v->report, 2);
  if (v->warning)
    print_compiler("the compiler warns", v->warning);
  printf("\n");
  print_counts(v);
}

void verdict_print_end(const Verdict *v) {
  char text[256];
  snprintf(text, sizeof text, "%s: %s", v->exercise->id, verdict_words(v));
  printf("%s%s", style(v->status == STATUS_PASS ? GREEN : RED), style(BOLD));
  term_wrap(stdout, text, 2);
  printf("%s", style(PLAIN));
}
