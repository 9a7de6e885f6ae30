// SPDX-License-Identifier: MIT
// The values of a record.
#include "step/record.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

const char *step_array_type(const StepArray *a, char to[16]) {
  snprintf(to, 16, "%c%d", a->letter, 8 * a->element);
  return to;
}

StepValue step_value(const StepVector *v, int lane) {
  const int n = __builtin_popcount(v->mask & ((UINT32_C(1) << lane) - 1));
  if (v->form != STEP_LINEAR)
    return v->values[v->form == STEP_ALIKE ? 0 : n];
  if (v->values[0].kind == STEP_INTEGER && v->values[1].kind == STEP_INTEGER)
    return (StepValue){.kind = STEP_INTEGER,
                       .integer =
                           (int64_t)((uint64_t)v->values[0].integer + (uint64_t)n * (uint64_t)v->values[1].integer)};
  return (StepValue){.kind = STEP_REAL, .real = step_number(v->values[0]) + n * step_number(v->values[1])};
}

double step_number(StepValue v) {
  return v.kind == STEP_INTEGER                               ? (double)v.integer
         : v.kind == STEP_NATURAL                             ? (double)(uint64_t)v.integer
         : v.kind == STEP_REAL                                ? v.real
         : v.kind == STEP_TEXT && strcmp(v.text, "inf") == 0  ? (double)INFINITY
         : v.kind == STEP_TEXT && strcmp(v.text, "-inf") == 0 ? -(double)INFINITY
                                                              : (double)NAN;
}

bool step_same(StepValue a, StepValue b) {
  if (a.kind == STEP_TEXT && b.kind == STEP_TEXT)
    return strcmp(a.text, b.text) == 0;
  if (a.kind == STEP_LIST && b.kind == STEP_LIST) {
    bool same = a.count == b.count;
    for (int i = 0; same && i < a.count; i++)
      same = step_same(a.list[i], b.list[i]);
    return same;
  }
  if (a.kind == STEP_NONE || b.kind == STEP_NONE || a.kind > STEP_REAL || b.kind > STEP_REAL)
    return a.kind == b.kind;
  return a.kind == STEP_REAL || b.kind == STEP_REAL ? step_number(a) == step_number(b)
                                                    : a.kind == b.kind && a.integer == b.integer;
}
