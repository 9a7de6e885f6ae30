// SPDX-License-Identifier: MIT
// A failed test in words, for the learner.
#include "judge_report.h"
#include "tool/print/lesson.h"
#include "tool/print/plain.h"
#include "tool/print/language.h"
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { REPORT_BYTES = 24 << 10 };

typedef struct Text {
  char *at;
  size_t used, room;
} Text;

static void say(Text *t, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void say(Text *t, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  int length = vsnprintf(t->at + t->used, t->room - t->used, format, arguments);
  va_end(arguments);
  if (length > 0)
    t->used = t->used + (size_t)length < t->room ? t->used + (size_t)length : t->room - 1;
}

// Lines of `text`, each after four blanks.
static void say_indented(Text *t, const char *text) {
  while (text && *text) {
    size_t length = strcspn(text, "\n");
    say(t, "    %.*s\n", (int)length, text);
    text += length + (text[length] == '\n');
  }
}

// A sentence or two, broken between words.
static void say_wrapped(Text *t, const char *text) {
  enum { COLUMNS = 76 };
  while (*text) {
    size_t length = strlen(text);
    for (size_t i = length > COLUMNS ? COLUMNS : 0; i > 0; i--)
      if (text[i] == ' ') {
        length = i;
        break;
      }
    say(t, "    %.*s\n", (int)length, text);
    text += length + strspn(text + length, " ");
  }
}

int report_signal(const SandboxResult *r) {
  if (r->end == SANDBOX_EXITED)
    return r->status > 128 && r->status < 128 + NSIG ? r->status - 128 : 0;
  return r->signal;
}

static void say_end(Text *t, const Answer *a, const SandboxResult *r, Status status) {
  if (r->forged)
    say(t, _("  the grader received invalid data instead of a reply\n"));
  else if (status == STATUS_CRASH)
    say(t, _("  it was terminated by signal %d: %s\n"), report_signal(r), strsignal(report_signal(r)));
  else if (status == STATUS_TIMEOUT)
    say(t, _("  it did not finish within %.0f s\n"), r->seconds);
  else if (status == STATUS_OUT_OF_MEMORY)
    say(t, _("  it used more than the allowed %zu MiB of memory\n"), answer_memory(a) >> 20);
  else if (status == STATUS_OUTPUT_LIMIT)
    say(t, _("  it printed more than 1 MiB\n"));
  else if (status == STATUS_GRADER_ERROR)
    say(t, _("  the grader could not run it; this is not an error in your answer\n"));
  else
    say(t, _("  it exited (status %d) before it returned a result\n"), r->status);
}

// Evidence that excludes every other cause has the mistake's name as a fact.
static void say_mistake(Text *t, const TestVerdict *v) {
  const Mistake *m = v->mistake;
  char read[256];
  if (!m || v->symptoms)
    return;
  say(t, _("  %s: %s\n"), v->likely ? _("this looks like") : _("mistake"), _(m->name));
  say_wrapped(t, _(m->says));
  lesson_command(m->lesson, read, sizeof read);
  say(t, _("    read %s\n"), read);
}

// Nothing is to be seen where all of it is wrong.
static bool says_where(const char *map) {
  return strpbrk(map, ".+") != NULL;
}

static void say_finding(Text *t, const Case *c) {
  say_indented(t, c->finding);
  if (says_where(c->map)) {
    say(t, _("  wrong elements (. correct, # wrong, + both):\n"));
    say_indented(t, c->map);
  }
}

// Long output: its first lines and its last.
static void say_output(Text *t, const char *output) {
  enum { ENDS = 8 };
  int lines = 0, line = 0;
  for (const char *at = output; *at; at++)
    lines += *at == '\n';
  say(t, _("  it printed:\n"));
  for (; *output; line++) {
    const size_t length = strcspn(output, "\n");
    if (line == ENDS && lines > 2 * ENDS)
      say(t, _("    ... %d more lines\n"), lines - 2 * ENDS);
    if (line < ENDS || line >= lines - ENDS)
      say(t, "    %.*s\n", (int)length, output);
    output += length + (output[length] == '\n');
  }
}

char *report_shown(char *text) {
  char *plain = text ? plain_text(text, strlen(text)) : NULL;
  if (text && !plain)
    fatal_error("no memory for a report");
  free(text);
  return plain;
}

// The decisive line of a verdict, which is the report's first: what came out, or how it ended.
static void write_headline(TestVerdict *v) {
  const char *line = v->report + strspn(v->report, " ");
  size_t length = strcspn(line, "\n");
  if (length >= sizeof v->headline)
    for (length = sizeof v->headline - 1; length > 0 && (line[length] & 0xC0) == 0x80; length--)
      continue; // not within a character
  snprintf(v->headline, sizeof v->headline, "%.*s", (int)length, line);
}

void report_write(TestVerdict *v, const Answer *a, const Case *c, const SandboxResult *r, const Schedule *schedule) {
  Text t = {.at = calloc(1, REPORT_BYTES), .room = REPORT_BYTES};
  char asked[2048];
  if (!t.at)
    fatal_error("no memory for a report");
  if (c->replied)
    say_finding(&t, c);
  else
    say_end(&t, a, r, v->status);
  case_describe(c, asked, sizeof asked);
  if (*asked)
    say(&t, _("  input: %s\n"), asked);
  if (schedule->is == SCHEDULE_AGAIN)
    say(&t, "  %s; the first time with the inputs of \"%s\"\n", schedule->says,
        schedule_first_test(c->exercise, c->test)->name);
  else if (schedule->says)
    say(&t, "  %s\n", schedule->says);
  say_mistake(&t, v);
  if (r->output && *r->output)
    say_output(&t, r->output);
  v->report = report_shown(t.at);
  write_headline(v);
}
