// SPDX-License-Identifier: MIT
// From one step to another.
#include "step/record.h"

// The step of the same warp before this one that some lanes did, and that is no return.
static const Step *before(const Record *r, const Step *s) {
  int at = s->previous;
  while (at >= 0 && (r->steps[at].kind == 'e' || !r->steps[at].mask))
    at = r->steps[at].previous;
  return at < 0 ? NULL : &r->steps[at];
}

static bool is_divergence(const Record *r, const Step *s, bool meets) {
  const Step *earlier = s->mask && s->kind != 'e' ? before(r, s) : NULL;
  if (!earlier || s->mask == earlier->mask)
    return false;
  return (meets ? earlier->mask & ~s->mask : s->mask & ~earlier->mask) == 0;
}

static int file_of(const Record *r, int step) {
  const int function = step_frame_function(r, step, r->steps[step].call_count);
  return function < 0 ? -1 : r->functions[function].file;
}

static bool is_goal(const Record *r, int from, int at, StepGoal goal) {
  const Step *was = &r->steps[from], *s = &r->steps[at];
  switch (goal) {
  case STEP_ANY:
    return true;
  case STEP_SAME_WARP:
    return s->warp == was->warp;
  case STEP_SAME_LINE:
    return step_line(r, at) == step_line(r, from) && file_of(r, at) == file_of(r, from);
  case STEP_BARRIER:
    return s->kind == 'b';
  case STEP_DIVERGENCE:
    return is_divergence(r, s, false);
  case STEP_RECONVERGENCE:
    return is_divergence(r, s, true);
  case STEP_FINDING:
    return s->finding_count > 0;
  case STEP_OVER:
    return s->warp == was->warp && s->call_count <= was->call_count;
  default:
    return s->warp == was->warp && s->call_count < was->call_count;
  }
}

bool step_is(const Record *r, int step, StepGoal goal) {
  return is_goal(r, step, step, goal);
}

int step_next(const Record *r, int step, StepGoal goal, int direction) {
  for (int i = step + direction; i >= 0 && i < r->step_count; i += direction)
    if (is_goal(r, step, i, goal))
      return i;
  return -1;
}

int step_next_at_line(const Record *r, int step, int line, int direction) {
  for (int i = step + direction; i >= 0 && i < r->step_count; i += direction)
    if (step_line(r, i) == line)
      return i;
  return -1;
}
