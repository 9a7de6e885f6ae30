// SPDX-License-Identifier: MIT
// A verdict on the terminal: the decisive line, one failed test in full, the names of the others, the stars of a pass.
#include "tool/commands.h"
#include "tool/print/lesson.h"
#include "tool/print/plain.h"
#include "tool/print/shell.h"
#include "tool/print/term.h"
#include "tool/print/language.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool is_bad(const TestVerdict *t) {
  return t->status != STATUS_PASS && t->status != STATUS_SKIPPED && t->status != STATUS_NOT_RUN;
}

static void print_row(const TestVerdict *t) {
  bool pass = t->status == STATUS_PASS;
  const char *color = style(pass ? GREEN : is_bad(t) ? RED : YELLOW);
  const char *why = t->status == STATUS_SKIPPED   ? _(" (it needs more devices)")
                    : t->status == STATUS_NOT_RUN ? _(" (after a timeout; --all runs it)")
                                                  : "";
  printf("  %s%-13s%s %s%s\n", color, pass ? "ok" : _(status_name(t->status)), style(PLAIN), t->test->name, why);
}

// To what was found in the test, with the same inputs.
static void print_step(const Verdict *v, const TestVerdict *t, const char *file, int number) {
  char own[4096], word[4200], command[4800];
  if (!file)
    work_shown(v->exercise, own, sizeof own);
  const char *answer = file ? file : own;
  if (!*t->step || v->real_gpu || inspect_exercise_of(answer) != v->exercise)
    return;
  snprintf(command, sizeof command, "./ferry step %s --replay %d.%llx%s", shell_word(answer, word, sizeof word), number,
           (unsigned long long)t->seed, t->step);
  char *plain = plain_line(command, strlen(command)); // a learner may have chosen the file's name
  if (plain)
    term_command(stdout, _("  Walk through it: "), plain);
  free(plain);
}

// Maps of elements and quoted source are as wide as they are: only prose is wrapped.
static void print_report(const Verdict *v, const TestVerdict *t, const char *file, bool below_headline) {
  const int number = (int)(t->test - v->exercise->tests) + 1;
  const char *report = t->report;
  printf(_("\n%stest \"%s\"%s: %s\n"), style(BOLD), t->test->name, style(PLAIN), _(status_name(t->status)));
  if (report && below_headline && *t->headline && strstr(report, t->headline) == report + strspn(report, " ") &&
      report[strspn(report, " ") + strlen(t->headline)] == '\n')
    report = strchr(report, '\n') + 1; // it has been said
  if (report)
    term_wrap(stdout, report, 2);
  printf(_("  again: ./ferry run %s --replay %d.%llx\n"), exercise_number(v->exercise), number,
         (unsigned long long)t->seed);
  print_step(v, t, file, number);
}

static void print_compiler(const char *title, const char *text) {
  printf("\n%s%s%s\n", style(YELLOW), title, style(PLAIN));
  term_wrap(stdout, text, 2);
}

static int count_bad(const Verdict *v) {
  int bad = 0;
  for (int i = 0; i < v->test_count; i++)
    bad += is_bad(&v->tests[i]);
  return bad;
}

// The first that failed: those after it may fail because of it.
static int test_to_show(const Verdict *v) {
  for (int i = 0; i < v->test_count; i++)
    if (is_bad(&v->tests[i]))
      return i;
  return -1;
}

static void print_title(const Verdict *v, const char *file) {
  printf("%s%s %s%s\n", style(BOLD), exercise_number(v->exercise), _(v->exercise->title), style(PLAIN));
  char *plain = file ? plain_line(file, strlen(file)) : NULL; // a learner may have chosen its name
  if (plain)
    printf("%s\n", plain);
  free(plain);
}

// The line that decides: "3 of 7 tests fail: out[256]: expected 2076, got 12".
static void print_decision(const Verdict *v) {
  const int bad = count_bad(v), run = v->test_count - v->skipped, shown = test_to_show(v);
  char text[512];
  if (v->skipped > 0)
    term_paragraph(stdout, "", 0,
                   _("Some tests were skipped: not enough devices. FERRY_CUDA=sim runs them on simulated ones"));
  if (bad == 0) {
    printf(_("%s%s%s%d of %d tests passed%s%s in %.1f s\n"), style(GREEN), style(BOLD), v->passed == run ? "✓ " : "",
           v->passed, run, v->real_gpu ? _(" on NVIDIA hardware") : "", style(PLAIN), v->seconds);
    return;
  }
  snprintf(text, sizeof text, _("✗ %d of %d tests fail: %s"), bad, run, v->tests[shown].headline);
  printf("%s%s", style(RED), style(BOLD));
  term_wrap(stdout, text, 2);
  printf("%s", style(PLAIN));
}

static void print_others(const Verdict *v, int shown) {
  enum { ENOUGH = 90 };
  char text[512] = "";
  size_t used = 0;
  int left = count_bad(v) - 1;
  for (int i = 0; i < v->test_count && used < ENOUGH; i++)
    if (is_bad(&v->tests[i]) && i != shown) {
      used += (size_t)snprintf(text + used, sizeof text - used, "%s\"%s\"", used ? ", " : "", v->tests[i].test->name);
      left--;
    }
  if (!used)
    return;
  if (left > 0)
    snprintf(text + used, sizeof text - used, _(" and %d more"), left);
  strncat(text, _(" (--all shows all)"), sizeof text - strlen(text) - 1);
  const char *label = _("  also failing: ");
  term_paragraph(stdout, label, term_columns(label, strlen(label)), text);
}

static void print_not_run(const Verdict *v) {
  int count = 0;
  for (int i = 0; i < v->test_count; i++)
    count += v->tests[i].status == STATUS_NOT_RUN;
  if (count > 0)
    printf(_("  %d tests were not run, because one timed out (--all runs them)\n"), count);
}

void verdict_print(const Verdict *v, const char *file, bool all) {
  const int shown = test_to_show(v);
  bool built = v->status != STATUS_COMPILE_ERROR && v->status != STATUS_MISSING &&
               (v->status != STATUS_GRADER_ERROR || !v->report);
  print_title(v, file);
  if (!built) {
    printf("%s✗ %s%s\n", style(RED), _(status_name(v->status)), style(PLAIN));
    if (v->report)
      term_wrap(stdout, v->report, 2);
    return;
  }
  print_decision(v);
  for (int i = 0; all && i < v->test_count; i++)
    print_row(&v->tests[i]);
  for (int i = 0; i < v->test_count; i++)
    if (is_bad(&v->tests[i]) && (all || i == shown))
      print_report(v, &v->tests[i], file, i == shown);
  if (!all && shown >= 0)
    print_others(v, shown);
  print_not_run(v);
  if (v->report)
    term_wrap(stdout, v->report, 2);
  if (v->warning)
    print_compiler(_("the compiler warns"), v->warning);
}

// ---- stars ---------------------------------------------------------------------------------------------------------------

// A finding's own lines, and source lines that it quotes.
static void print_finding(const char *finding) {
  char text[1024];
  while (*finding) {
    const size_t length = strcspn(finding, "\n");
    snprintf(text, sizeof text, "    %.*s", (int)length, finding);
    term_wrap(stdout, text, 0);
    finding += length + (finding[length] == '\n');
  }
}

static void print_star(bool has, const char *is_for, const LostStar *lost) {
  char read[256], text[1024];
  printf("  %s%s%s ", style(YELLOW), has ? "★" : "☆", style(PLAIN));
  term_paragraph(stdout, "", 4, _(is_for));
  if (!lost)
    return;
  print_finding(lost->finding);
  snprintf(text, sizeof text, "%s: %s", _(lost->mistake->name), _(lost->mistake->says));
  term_paragraph(stdout, "    ", 4, text);
  lesson_command(lost->mistake->lesson, read, sizeof read);
  printf(_("    read %s\n"), read);
}

void verdict_print_stars(const Verdict *v) {
  if (v->status != STATUS_PASS || v->exercise->open || verdict_most_stars(v->exercise) == 1)
    return;
  printf("\n");
  print_star(true, _("correct"), NULL);
  for (int star = 0; star < EXTRA_STARS; star++)
    if (v->exercise->stars[star].is_for)
      print_star(!verdict_lost(v, star), v->exercise->stars[star].is_for, verdict_lost(v, star));
}
