// SPDX-License-Identifier: MIT
// Writing ONNX files: what the writers of the ops share. For onnx/ only.
#ifndef FERRY_ONNX_WRITE_H
#define FERRY_ONNX_WRITE_H

#include "onnx.pb-c.h"
#include "onnx/file.h"
#include "onnx/pool.h"

typedef struct FyOnnxWriter {
  const FyProgram *program;
  FyPool *pool;
  Onnx__GraphProto graph;
  const char **names; // of the values; NULL until a value is first used
  bool *open;         // [value * FY_MAX_DIM + dimension]: it changes with the batch
  bool batch_is_open;
  int fresh; // names made so far
} FyOnnxWriter;

static inline const FyProgramValue *fy_onnx_value(const FyOnnxWriter *w, int value) {
  return &w->program->values[value];
}

// The step's node, or nodes, whose last writes the step's output 0 (write_*.c). Each raises for what it cannot say.
typedef void FyOnnxWrite(FyOnnxWriter *w, const FyProgramStep *step);
FyOnnxWrite *fy_onnx_pointwise_writer(const FyOp *op); // NULL: none of these
FyOnnxWrite *fy_onnx_layer_writer(const FyOp *op);
FyOnnxWrite *fy_onnx_shape_writer(const FyOp *op);

// ---- values (write_node.c) ------------------------------------------------------------------------------------------------

// The name of a value; a constant becomes an initializer of the file.
const char *fy_onnx_name(FyOnnxWriter *w, int value);

// The same, in another dtype if need be.
const char *fy_onnx_name_as(FyOnnxWriter *w, int value, FyDType dtype);

// A number of this dtype, or numbers that are int64, as an initializer.
const char *fy_onnx_number(FyOnnxWriter *w, FyDType dtype, double number);
const char *fy_onnx_integers(FyOnnxWriter *w, int n, const int64_t *values);

// The step's output 0 is the value that `name` has already.
void fy_onnx_alias(FyOnnxWriter *w, const FyProgramStep *step, const char *name);

// An initializer that is not a program's own: of a tensor, and of this shape, where all values are `number`.
const char *fy_onnx_constant(FyOnnxWriter *w, FyTensor *tensor);
const char *fy_onnx_filled(FyOnnxWriter *w, FyDType dtype, FySize shape, double number);

// ---- nodes -----------------------------------------------------------------------------------------------------------------

// A node of n inputs (NULL: not given) whose one output has a fresh name, or that of a step's output. Returns it: attributes are
// added to it, and fy_onnx_output is what it writes.
Onnx__NodeProto *fy_onnx_node(FyOnnxWriter *w, const char *op, int n, const char *const *inputs);
Onnx__NodeProto *fy_onnx_last(FyOnnxWriter *w, const FyProgramStep *step, const char *op, int n,
                              const char *const *inputs);
#define FY_NAMES(...)                                                                                                  \
  (int)(sizeof((const char *[]){__VA_ARGS__}) / sizeof(char *)), (const char *const[]) {                               \
    __VA_ARGS__                                                                                                        \
  }
static inline const char *fy_onnx_output(const Onnx__NodeProto *node) {
  return node->output[0];
}

void fy_onnx_int(FyOnnxWriter *w, Onnx__NodeProto *node, const char *name, int64_t value);
void fy_onnx_float(FyOnnxWriter *w, Onnx__NodeProto *node, const char *name, double value);
void fy_onnx_text(FyOnnxWriter *w, Onnx__NodeProto *node, const char *name, const char *value);
void fy_onnx_ints(FyOnnxWriter *w, Onnx__NodeProto *node, const char *name, int n, const int64_t *values);
void fy_onnx_tensor(FyOnnxWriter *w, Onnx__NodeProto *node, const char *name, FyDType dtype, double number);

// `name` in another dtype.
const char *fy_onnx_cast(FyOnnxWriter *w, const char *name, FyDType dtype);

// What a value, or what a node writes beside the program's values, looks like: for those who draw the graph.
void fy_onnx_describe(FyOnnxWriter *w, const char *name, FyDType dtype, int ndim, const int64_t *shape,
                      const bool *open);
Onnx__ValueInfoProto *fy_onnx_info(FyOnnxWriter *w, const char *name, FyDType dtype, int ndim, const int64_t *shape,
                                   const bool *open);

// ---- the batch (batch.c) -----------------------------------------------------------------------------------------------------

// Fills in `open` and `batch_is_open`: runs the shapes through with a batch of one more, and sees what changes.
void fy_onnx_find_open(FyOnnxWriter *w);

#endif
