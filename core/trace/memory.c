// SPDX-License-Identifier: MIT
// Where values lie. A root needs memory from the step that makes it to the last one that reads it or a view of it. Roots are given
// places in one arena, the largest first, each at the lowest address that no root which is needed at the same time takes.
#include "trace/plan.h"
#include <stdlib.h>

enum { ALIGNMENT = 512 }; // as the CUDA allocator's blocks; a multiple of a cache line

static size_t bytes_of(const FyArray *a) { // from the first element to behind the last
  int64_t last = 0;
  for (int d = 0; d < a->ndim; d++)
    last += (a->shape[d] - 1) * a->stride[d];
  return a->numel ? (size_t)(last + 1) * fy_dtype_size((FyDType)a->dtype) : 0;
}

static void needed_at(FyPlan *plan, int value, int step) {
  if (value < 0)
    return;
  FyPlanValue *root = &plan->values[plan->values[value].root];
  if (root->begin < 0)
    root->begin = step;
  root->end = step;
}

static void find_lives(FyPlan *plan) {
  for (int i = 0; i < plan->value_count; i++) {
    FyPlanValue *v = &plan->values[i];
    v->begin = v->end = -1;
    v->place = v->constant ? FY_PLACE_CONSTANT : i == plan->input ? FY_PLACE_INPUT : FY_PLACE_NONE;
    v->bytes = (bytes_of(&v->array) + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
  }
  for (int i = 0; i < plan->step_count; i++) {
    const FyPlanStep *step = &plan->steps[i];
    for (int k = 0; k < step->n_in; k++)
      needed_at(plan, step->in[k], i);
    for (int k = 0; k < step->n_out; k++)
      needed_at(plan, step->out[k], i);
  }
  for (int i = 0; i < plan->value_count; i++)
    if (plan->values[i].root == i && plan->values[i].begin >= 0 && plan->values[i].place == FY_PLACE_NONE)
      plan->values[i].place = FY_PLACE_ARENA;
  plan->values[plan->values[plan->output].root].place = FY_PLACE_RESULT;
}

static bool at_the_same_time(const FyPlanValue *a, const FyPlanValue *b) {
  return a->begin <= b->end && b->begin <= a->end;
}

static bool in_arena(const FyPlan *plan, int i) {
  return plan->values[i].root == i && plan->values[i].place == FY_PLACE_ARENA;
}

// The lowest place among those that are placed already: after each that would be in the way, again from the start.
static size_t lowest(const FyPlan *plan, const int *placed, int count, const FyPlanValue *v) {
  size_t offset = 0;
  for (int i = 0; i < count; i++) {
    const FyPlanValue *other = &plan->values[placed[i]];
    if (at_the_same_time(v, other) && offset < other->offset + other->bytes && other->offset < offset + v->bytes) {
      offset = other->offset + other->bytes;
      i = -1;
    }
  }
  return offset;
}

void fy_plan_place(FyPlan *plan) {
  find_lives(plan);
  int *order = malloc((size_t)(plan->value_count + 1) * sizeof *order), count = 0;
  fy_check(order, FY_OUT_OF_MEMORY_ERROR, "out of host memory for the plan of a traced module");
  for (int i = 0; i < plan->value_count; i++)
    if (in_arena(plan, i))
      order[count++] = i;
  for (int i = 1; i < count; i++) // the largest first
    for (int k = i; k > 0 && plan->values[order[k - 1]].bytes < plan->values[order[k]].bytes; k--) {
      const int swap = order[k];
      order[k] = order[k - 1];
      order[k - 1] = swap;
    }
  for (int i = 0; i < count; i++) {
    FyPlanValue *v = &plan->values[order[i]];
    v->offset = lowest(plan, order, i, v);
    plan->arena_unshared += v->bytes;
    if (plan->arena_bytes < v->offset + v->bytes)
      plan->arena_bytes = v->offset + v->bytes;
  }
  free(order);
}

bool fy_plan_is_sound(const FyPlan *plan) {
  for (int i = 0; i < plan->value_count; i++)
    for (int k = 0; k < i; k++) {
      const FyPlanValue *a = &plan->values[i], *b = &plan->values[k];
      if (in_arena(plan, i) && in_arena(plan, k) && at_the_same_time(a, b) && a->offset < b->offset + b->bytes &&
          b->offset < a->offset + a->bytes)
        return false;
    }
  return true;
}
