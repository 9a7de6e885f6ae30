// SPDX-License-Identifier: MIT
// What is known of a forward pass: which value of the program each tensor is.
//
// Programs have no changes in place. A call in place is written down as one that makes a new value, and from there on the target's
// memory has that value. Other tensors on that memory were views of the old one: when one of them is used again, its views are
// written down once more, on the new one.
#include "trace/tracer.h"
#include <stdlib.h>
#include <string.h>

static bool same_place(const FyTensor *a, const FyTensor *b) {
  bool same = a->storage == b->storage && a->array.data == b->array.data && a->array.dtype == b->array.dtype &&
              fy_same_shape(&a->array, &b->array);
  for (int d = 0; same && d < a->array.ndim; d++)
    same = a->array.stride[d] == b->array.stride[d];
  return same;
}

FyKnown *fy_tracer_find(const FyTracer *tracer, const FyTensor *t) {
  for (int i = tracer->count - 1; i >= 0; i--)
    if (tracer->known[i].tensor == t || same_place(tracer->known[i].tensor, t))
      return &tracer->known[i];
  return NULL;
}

void fy_tracer_remember(FyTracer *tracer, FyTensor *t, int value, int whole) {
  FyKnown *known = fy_tracer_find(tracer, t);
  if (!known) {
    if (tracer->count == tracer->capacity) {
      const int capacity = tracer->capacity ? 2 * tracer->capacity : 64;
      FyKnown *wider = realloc(tracer->known, (size_t)capacity * sizeof *wider);
      fy_check(wider, FY_OUT_OF_MEMORY_ERROR, "out of host memory for a trace of %d tensors", capacity);
      tracer->known = wider;
      tracer->capacity = capacity;
    }
    known = &tracer->known[tracer->count++];
    known->tensor = fy_retain(t);
  }
  known->value = value;
  known->whole = whole;
  known->version = fy_version_of(t);
}

// Its name among the model's state, NULL: it is none of it.
static const char *state_name(const FyTracer *tracer, const FyTensor *t) {
  for (int i = 0; i < tracer->state->count; i++)
    if (tracer->state->items[i] == t || same_place(tracer->state->items[i], t))
      return tracer->state->names[i];
  return NULL;
}

int fy_tracer_add_value(FyTracer *tracer, const char *name, const FyTensor *like, FyTensor *constant) {
  return fy_program_add_value(tracer->program, name, (FyDType)like->array.dtype, like->array.ndim, like->array.shape,
                              constant);
}

static int add_constant(FyTracer *tracer, FyTensor *t) {
  const char *name = state_name(tracer, t);
  FyTensor *whole = t;
  for (int i = 0; name && i < tracer->state->count; i++)
    if (strcmp(tracer->state->names[i], name) == 0)
      whole = tracer->state->items[i];
  const bool host_number = t->array.ndim == 0 && t->device.type == FY_CPU;
  fy_check(
      host_number || fy_device_equal(t->device, tracer->program->device), FY_RUNTIME_ERROR,
      "fy_trace: the example is on %s, but forward uses a tensor on %s: move the model and all that it uses to one "
      "device first",
      fy_device_name_of(tracer->program->device), fy_device_name_of(t->device));
  const int value = fy_tracer_add_value(tracer, name, t, name ? whole : fy_detach(t));
  if (!name)
    tracer->program->values[value].constant->wrapped_number = t->wrapped_number;
  fy_tracer_remember(tracer, t, value, value);
  return value;
}

// ---- values of tensors ---------------------------------------------------------------------------------------------------

static const FyProgramStep *maker_of(const FyProgram *program, int value) {
  for (int i = program->step_count - 1; i >= 0; i--)
    for (int k = 0; k < program->steps[i].n_out; k++)
      if (program->steps[i].out[k] == value)
        return &program->steps[i];
  return NULL;
}

// The newest value of all of t's memory.
static int newest_whole(const FyTracer *tracer, const FyTensor *t) {
  const FyKnown *newest = NULL;
  for (int i = 0; i < tracer->count; i++) {
    const FyKnown *k = &tracer->known[i];
    if (k->tensor->storage == t->storage && (!newest || k->version >= newest->version))
      newest = k;
  }
  return newest->whole;
}

int fy_tracer_again(FyTracer *tracer, int value, int old, int whole) {
  if (value == old)
    return whole;
  const FyProgramStep step = *maker_of(tracer->program, value); // a copy: the list of steps may move
  const int in = fy_tracer_again(tracer, step.in[0], old, whole);
  const FyProgramValue like = tracer->program->values[value];
  const int out = fy_program_add_value(tracer->program, NULL, like.dtype, like.ndim, like.shape, NULL);
  fy_program_add_step(tracer->program, step.op, step.params, 1, &in, 1, &out);
  return out;
}

int fy_tracer_value_of(FyTracer *tracer, FyTensor *t) {
  const FyKnown *known = fy_tracer_find(tracer, t);
  if (!known)
    return add_constant(tracer, t);
  if (known->version != fy_version_of(t)) {
    const int whole = newest_whole(tracer, t), value = fy_tracer_again(tracer, known->value, known->whole, whole);
    fy_tracer_remember(tracer, t, value, whole);
    return value;
  }
  return known->value;
}

bool fy_tracer_knows(const FyTracer *tracer, const FyTensor *t) {
  return t && (fy_tracer_find(tracer, t) || state_name(tracer, t));
}
