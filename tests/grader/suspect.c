// SPDX-License-Identifier: MIT
// Known mistakes: which one a failed test is named after.
#include "case.h"
#include "registry.h"
#include "tool/print/shell.h"
#include <stdio.h>
#include <string.h>

// A launch that was refused, or an error before it, is no evidence that nobody meant to launch.
bool mistake_is_evident(const Case *c, const Mistake *mistake) {
  return mistake != &NO_KERNEL || (!refused_shape(c) && !*got_error(c));
}

static void suspect(Case *c, Suspect s) {
  if (!mistake_is_evident(c, s.mistake) || star_of(c->exercise, s.mistake) >= 0)
    return;
  if (c->suspect_count == MAX_SUSPECTS)
    fatal_error("%s: more than %d known mistakes in a test", c->exercise->id, MAX_SUSPECTS);
  c->suspects[c->suspect_count++] = s;
}

void suspect_array(Case *c, const char *name, const Array *wrong, const Mistake *mistake) {
  suspect(c, (Suspect){.name = case_own(c, strdup(name)), .wrong = wrong, .mistake = mistake});
}

void suspect_error(Case *c, const char *text, const Mistake *mistake) {
  suspect(c, (Suspect){.error = text, .mistake = mistake, .sure = true});
}

void suspect_that(Case *c, bool holds, const Mistake *mistake) {
  if (holds)
    suspect(c, (Suspect){.holds = true, .mistake = mistake, .sure = mistake == &NO_KERNEL});
}

void suspect_sure(Case *c, bool holds, const Mistake *mistake) {
  if (holds)
    suspect(c, (Suspect){.holds = true, .mistake = mistake, .sure = true});
}

static bool is_whole(FyDType dtype) {
  return dtype == FY_INT32 || dtype == FY_INT64 || dtype == FY_UINT8 || dtype == FY_BOOL;
}

static bool was_refused(const Case *c, const char *name) {
  for (int i = 0; i < c->refused_count; i++)
    if (strcmp(c->refused[i], name) == 0)
      return true;
  return false;
}

static bool fits(const Case *c, const Suspect *s) {
  if (s->error)
    return strstr(got_error(c), s->error) != NULL;
  if (!s->wrong)
    return s->holds;
  const Array *a = got(c, s->name);
  int64_t first;
  return a && was_refused(c, s->name) && a->dtype == s->wrong->dtype && same_shape(a->shape, s->wrong->shape) &&
         array_mismatches(a, s->wrong, is_whole(a->dtype) ? 0 : 1e-5, &first) == 0;
}

void name_suspect(Case *c) {
  for (int i = 0; i < c->suspect_count; i++)
    if (fits(c, &c->suspects[i])) {
      c->mistake = c->suspects[i].mistake;
      c->likely = !c->suspects[i].sure;
      return;
    }
}

void suspect_faults(Case *c) {
  const char *error = got_error(c), *reads = strstr(error, ": it reads ");
  suspect_sure(c, reads && !strstr(reads, "[-"), &READ_PAST);
  suspect_sure(c, reads && strstr(reads, "[-"), &READ_BEFORE);
  suspect_error(c, ": it writes ", &PAST_THE_END);
  suspect_error(c, "outside of the shared array", &SHARED_OUTSIDE);
  suspect_error(c, "is not a multiple of ", &MISALIGNED_VECTOR); // of an access's size
}

// Of "kernel saxpy, block (4,0,0), thread (1,0,0): it writes ..." (core/sim/base/cudasim.h). The launch is not known:
// the first of the kernel.
void case_step_to_fault(Case *c) {
  const char *error = got_error(c), *kernel = strstr(error, "kernel ");
  const char *end = kernel ? strstr(kernel, ", block (") : NULL;
  unsigned block[3];
  char name[120], word[160];
  if (c->symptoms || *c->step || c->schedule != SCHEDULE_IN_ORDER || !end || end - kernel - 7 >= (long)sizeof name ||
      sscanf(end, ", block (%u,%u,%u), thread", &block[0], &block[1], &block[2]) != 3) // NOLINT
    return;
  snprintf(name, sizeof name, "%.*s", (int)(end - kernel - 7), kernel + 7);
  int used = snprintf(c->step, sizeof c->step, " --kernel %s", shell_word(name, word, sizeof word));
  if (block[0] || block[1] || block[2])
    used += snprintf(c->step + used, sizeof c->step - (size_t)used, " --block %u,%u,%u", block[0], block[1], block[2]);
  snprintf(c->step + used, sizeof c->step - (size_t)used, " --at %s",
           strstr(end, "divergent") ? "divergent" : "finding");
}
