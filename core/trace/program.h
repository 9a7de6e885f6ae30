// SPDX-License-Identifier: MIT
// A program: what a traced forward pass computes, as values and the ops between them. For core/ only.
//
// Tracing (record.c) makes one from the calls of ops that it sees; ONNX files (onnx/) are written from one and read into
// one; a plan (plan.c) is made of it to run it. It is as it was written down: calls are those of the dispatcher's records,
// in order, each before those that need its outputs; nothing in it is fused yet.
#ifndef FERRY_TRACE_PROGRAM_H
#define FERRY_TRACE_PROGRAM_H

#include "op/op.h"

// What flows between ops: a tensor whose elements are not known yet, or, as a constant, are.
typedef struct FyProgramValue {
  char *name; // of a parameter or buffer as in state_dict, of an input or output as in a file; NULL: has none
  FyDType dtype;
  int ndim;
  int64_t shape[FY_MAX_DIM]; // of the example
  FyTensor *constant;        // counted; NULL: an input, or computed
} FyProgramValue;

// One call of an op. Indices are those of values; -1 stands for an optional input that was not given and for an output
// that was not wanted.
typedef struct FyProgramStep {
  const FyOp *op;
  void *params; // op->params_size bytes, its own
  int n_in, n_out;
  int in[FY_MAX_INPUTS], out[FY_MAX_OUTPUTS];
} FyProgramStep;

typedef struct FyProgram {
  FyObject object;
  FyDevice device;
  FyProgramValue *values;
  FyProgramStep *steps;
  int value_count, value_capacity, step_count, step_capacity;
  int input, output; // values: a module's forward has one of each
} FyProgram;

// An empty program, owned by the innermost scope. May raise FY_OUT_OF_MEMORY_ERROR, as the two below.
FyProgram *fy_program_new(FyDevice device);

// Adds a value or a step and returns its index. `name` is copied (NULL: none), `constant` is counted (NULL: none); `params`
// is copied.
int fy_program_add_value(FyProgram *program, const char *name, FyDType dtype, int ndim, const int64_t *shape,
                         FyTensor *constant);
int fy_program_add_step(FyProgram *program, const FyOp *op, const void *params, int n_in, const int *in, int n_out,
                        const int *out);

#endif
