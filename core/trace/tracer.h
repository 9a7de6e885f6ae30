// SPDX-License-Identifier: MIT
// The tracer: what the files that record a forward pass share. For record.c, known.c, calls.c.
#ifndef FERRY_TRACE_TRACER_H
#define FERRY_TRACE_TRACER_H

#include "nn/nn.h"
#include "trace/program.h"
#include <pthread.h>

// A tensor of the forward pass, and what it was at this version of its memory: `value`, made by views alone of `whole`, all of it.
typedef struct FyKnown {
  FyTensor *tensor; // counted: nothing else takes its memory while the trace lasts
  int value, whole;
  uint32_t version;
} FyKnown;

typedef struct FyTracer {
  FyObject object;
  FyOpHooks hooks;
  pthread_t thread;
  FyProgram *program; // counted
  FyTensorList *state;
  bool follows; // between the two hooks of a call in place: whether it is written down, with these
  int operands[FY_MAX_INPUTS], old_whole;
  FyKnown *known;
  int count, capacity;
} FyTracer;

// ---- known.c: tensors and their values. May raise FY_OUT_OF_MEMORY_ERROR --------------------------------------------------

// The tensor at this place of memory, of this shape and dtype; NULL: the program has no value for it yet.
FyKnown *fy_tracer_find(const FyTracer *tracer, const FyTensor *t);

// From now on t, at its present version, is `value`.
void fy_tracer_remember(FyTracer *tracer, FyTensor *t, int value, int whole);

// Whether the program has a value for t, or t is one of the model's parameters and buffers. t may be NULL.
bool fy_tracer_knows(const FyTracer *tracer, const FyTensor *t);

// The value that t has now; of a tensor not known a constant. Raises FY_RUNTIME_ERROR for one on another device.
int fy_tracer_value_of(FyTracer *tracer, FyTensor *t);

// The views that made `value` of `old`, once more, on `whole`.
int fy_tracer_again(FyTracer *tracer, int value, int old, int whole);

int fy_tracer_add_value(FyTracer *tracer, const char *name, const FyTensor *like, FyTensor *constant);

// ---- calls.c: calls as steps. Raise FY_RUNTIME_ERROR for calls that no trace can have --------------------------------------

// A call that made new tensors; `given` are its inputs as they were before autocast.
void fy_tracer_add_call(FyTracer *tracer, const FyOpCall *call, FyTensor *const *given);

// A call in place, whose operands were `in` before; the target was made of old_whole.
void fy_tracer_add_change(FyTracer *tracer, const FyOpCall *call, const int *in, int old_whole);

#endif
