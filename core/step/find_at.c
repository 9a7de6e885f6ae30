// SPDX-License-Identifier: MIT
// The step that `--at` names.
#include "inspect/finding_kinds.h"
#include "step/record.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// "race-warp:2@12"
typedef struct Place {
  char kind[32]; // "finding": any
  int ordinal;   // from 1
  int line;      // 0: any
} Place;

// The number at the end of a text, after one character; -1: it is none.
static int number_after(const char *text, int least) {
  char *end;
  const long n = strtol(text + 1, &end, 10);
  return text[1] < '0' || text[1] > '9' || *end || n < least || n > INT32_MAX ? -1 : (int)n;
}

static bool read_place(const char *at, Place *p) {
  const size_t length = strspn(at, "abcdefghijklmnopqrstuvwxyz-");
  *p = (Place){.ordinal = 1};
  if (length == 0 || length >= sizeof p->kind)
    return false;
  memcpy(p->kind, at, length);
  at += length;
  if (*at == ':')
    p->ordinal = number_after(at, 1);
  else if (*at == '@')
    p->line = number_after(at, 1);
  return (*at == '\0' || *at == ':' || *at == '@') && p->ordinal > 0 && p->line >= 0;
}

// A whole kind, or its first word.
static bool is_of_kind(const char *kind, const char *wanted) {
  const size_t length = strlen(wanted);
  return strcmp(wanted, "finding") == 0 ||
         (strncmp(kind, wanted, length) == 0 && (kind[length] == '\0' || kind[length] == '-'));
}

static bool is_known(const char *wanted) {
#define KIND_ID(kind, id) id,
  static const char *const kinds[] = {FINDING_KINDS_OF_STEPS(KIND_ID) "uninitialized-variable"};
#undef KIND_ID
  for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
    if (is_of_kind(kinds[i], wanted))
      return true;
  return false;
}

// Whether the statement that the step did has a part in this line.
static bool covers(const Record *r, int step, int line) {
  const Step *s = step >= 0 ? &r->steps[step] : NULL;
  if (!s || s->statement < 0)
    return s && step_line(r, step) == line;
  return r->statements[s->statement].line <= line && line <= r->statements[s->statement].end;
}

// The last step of the finding's thread: a block that ends early has one of its own for that.
static int own_step(const Record *r, const StepFinding *f) {
  int at = f->step;
  while (at >= 0 && (r->steps[at].warp != f->thread / STEP_LANES || r->steps[at].kind == 'd' ||
                     !(r->steps[at].mask >> f->thread % STEP_LANES & 1)))
    at--;
  return at;
}

static bool is_in_line(const Record *r, const StepFinding *f, int line) {
  return covers(r, f->step, line) || covers(r, f->other_step, line) ||
         (f->thread >= 0 && covers(r, own_step(r, f), line));
}

static int find_finding(const Record *r, const Place *p) {
  int n = p->ordinal;
  for (int i = 0; i < r->finding_count; i++) {
    const StepFinding *f = &r->findings[i];
    if (is_of_kind(f->kind, p->kind) && f->step >= 0 && (p->line == 0 || is_in_line(r, f, p->line)) && --n == 0)
      return f->step;
  }
  return -1;
}

// Its first step; of a statement of several lines where none begins there.
static int find_line(const Record *r, int line) {
  const int begins = step_next_at_line(r, -1, line, 1);
  for (int i = 0; begins < 0 && i < r->step_count; i++)
    if (covers(r, i, line))
      return i;
  return begins;
}

int step_find(const Record *r, const char *at) {
  Place p;
  if (strcmp(at, "end") == 0)
    return r->step_count - 1;
  if (strncmp(at, "line:", 5) == 0)
    return number_after(at + 4, 0) < 0 ? -1 : find_line(r, number_after(at + 4, 0));
  if (read_place(at, &p))
    return find_finding(r, &p);
  char *end;
  const long n = strtol(at, &end, 10);
  return *at < '0' || *at > '9' || *end || n >= r->step_count ? -1 : (int)n;
}

// ---- what was not found ----------------------------------------------------------------------------------------------------

static void say_block(const Record *r, char *text, size_t bytes) {
  snprintf(text, bytes, "block %d,%d,%d of launch %d of %.80s", r->at[0], r->at[1], r->at[2], r->launch, r->kernel);
}

static void say_no_finding(const Record *r, const Place *p, char *said, size_t bytes) {
  char block[200], what[100], line[60] = "";
  snprintf(what, sizeof what, strcmp(p->kind, "finding") == 0 ? "%s" : "finding of the kind %s", p->kind);
  if (p->ordinal > 1)
    snprintf(line, sizeof line, " number %d", p->ordinal);
  if (p->line > 0)
    snprintf(line, sizeof line, " in line %d", p->line);
  say_block(r, block, sizeof block);
  snprintf(said, bytes,
           "no %s%s was recorded in %s. A record has one block, in one order of its threads; ./ferry inspect looks at "
           "all blocks in two orders, and at accesses of different blocks.",
           what, line, block);
}

// True: it is written like a step, and there is none. False: it is not.
static bool say_no_step(const Record *r, const char *at, char *said, size_t bytes) {
  char block[200];
  Place p;
  say_block(r, block, sizeof block);
  if (strncmp(at, "line:", 5) == 0 && number_after(at + 4, 0) >= 0)
    snprintf(said, bytes, "no thread of %s executed line %s", block, at + 5);
  else if (*at && at[strspn(at, "0123456789")] == '\0')
    snprintf(said, bytes, "there is no step %s: the record has the steps 0 to %d", at, r->step_count - 1);
  else if (read_place(at, &p) && is_known(p.kind))
    say_no_finding(r, &p, said, bytes);
  else
    return false;
  return true;
}

int step_find_near(const Record *r, const char *at, char *said, size_t bytes) {
  Place p;
  const int step = step_find(r, at);
  *said = '\0';
  if (step >= 0)
    return step;
  if (!say_no_step(r, at, said, bytes))
    snprintf(said, bytes,
             "--at takes a step's number, line:N, end, finding, or a kind of finding: race, race:2 or race@29, not %s",
             at);
  const int near = read_place(at, &p) && p.line > 0 && is_known(p.kind) ? find_line(r, p.line) : -1;
  if (near >= 0)
    snprintf(said + strlen(said), bytes - strlen(said), " This is the first step of line %d (--at line:%d).", p.line,
             p.line);
  return near;
}
