// SPDX-License-Identifier: MIT
// Queries on an inspection, for the reports and for tests of answers.
#include "inspect/report/inspection.h"
#include "model/kernel.h"
#include <stdio.h>
#include <string.h>

void inspect_source_line(const Inspection *i, Spot spot, char *text, size_t bytes) {
  const char *at = i->text;
  *text = '\0';
  if (!at || !spot.file || strcmp(spot.file, i->source) != 0)
    return;
  for (int line = 1; line < spot.line && at; line++)
    at = (at = strchr(at, '\n')) ? at + 1 : NULL;
  if (!at)
    return;
  at += strspn(at, " \t");
  size_t length = strcspn(at, "\r\n");
  snprintf(text, bytes, "%.*s", (int)(length < bytes ? length : bytes - 1), at);
  for (char *c = text; *c; c++)
    *c = (unsigned char)*c < ' ' ? ' ' : *c;
}

const char *inspect_spot(const Inspection *i, Spot spot, char *text, size_t bytes) {
  const char *name = spot.file ? strrchr(spot.file, '/') : NULL;
  if (!spot.file)
    snprintf(text, bytes, "(unknown line)");
  else if (strcmp(spot.file, i->source) == 0)
    snprintf(text, bytes, "%s:%d", i->title, spot.line);
  else
    snprintf(text, bytes, "%s:%d", name ? name + 1 : spot.file, spot.line);
  return text;
}

static void add(Tally *sum, const Tally *t) {
  sum->executions += t->executions;
  sum->lanes += t->lanes;
  sum->live += t->live;
}

double inspect_active(const InspectLine *line) {
  Tally sum = {0};
  for (int space = 0; space < SPACES; space++)
    for (int kind = 0; kind < ACCESSES; kind++)
      add(&sum, &line->access[space][kind]);
  const Tally *t = sum.executions ? &sum : &line->blocks;
  return t->live ? (double)t->lanes / (double)t->live : 1;
}

uint64_t inspect_times(const InspectFinding *f) {
  return f->times[0] > f->times[1] ? f->times[0] : f->times[1];
}

const InspectFinding *inspection_finding(const Inspection *i, const char *kind) {
  for (int n = 0; n < i->finding_count; n++)
    if (!i->findings[n].kind->note && (!kind || strncmp(i->findings[n].kind->id, kind, strlen(kind)) == 0))
      return &i->findings[n];
  return NULL;
}

int inspection_errors(const Inspection *i) {
  int errors = 0;
  for (int n = 0; n < i->finding_count; n++)
    errors += !i->findings[n].kind->note;
  return errors;
}

// ---- what limits a kernel --------------------------------------------------------------------------------------------------

int inspect_longest(const InspectTime *t) {
  int limit = 0;
  for (int i = 1; i < INSPECT_LIMITS; i++)
    if (t->term[i] > t->term[limit])
      limit = i;
  return limit;
}

const char *inspect_limit(const InspectTime *t) {
  return t->least > t->seconds / 2 ? "launch" : model_limit_name((enum model_limit)inspect_longest(t));
}
