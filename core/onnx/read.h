// SPDX-License-Identifier: MIT
// Reading ONNX files: what the readers of the ops share. For onnx/ only.
//
// Nodes become steps whose shapes and dtypes their records work out; nothing runs, but what is computed of constants, as the
// shapes that exporters compute, and is small: that becomes a constant.
#ifndef FERRY_ONNX_READ_H
#define FERRY_ONNX_READ_H

#include "onnx.pb-c.h"
#include "onnx/file.h"
#include "onnx/pool.h"

// Bounds of what a file may say, so that no sum or product of them overflows, and no work on constants gets long.
enum {
  FY_ONNX_MAX_WINDOW = 1 << 16,   // a stride, a padding, a dilation, a kernel's edge
  FY_ONNX_MAX_FOLDED = 1 << 16,   // elements of what is computed while reading
  FY_ONNX_BYTES_PER_BYTE = 96,    // memory beside tensors that a byte of the file may take, and
  FY_ONNX_BYTES_BESIDE = 1 << 16, // some more
  FY_ONNX_MAX_NAME = 256,         // bytes of a name that state_dict takes over
};
#define FY_ONNX_MAX_ELEMENTS (INT64_C(1) << 31)

typedef struct FyOnnxNamed {
  const char *name;
  int value; // -1: not known yet
} FyOnnxNamed;

// A file of weights beside the model's, and how many of its bytes may still be read.
typedef struct FyOnnxBeside {
  struct FyOnnxBeside *next;
  const char *location;
  uint64_t left;
} FyOnnxBeside;

// What is known of a value while its program is made.
typedef struct FyOnnxKnown {
  FyTensor stand_in; // its shape, dtype and strides
  int maker;         // the step, -1: none
  int shape_of;      // it is the whole shape of this value; 0: no, and k + 1 for value k
  bool is_buffer;    // changed by training, as running statistics are
  int part, part_of; // of a GELU, and its x (read_gelu.c)
} FyOnnxKnown;

typedef struct FyOnnxReader {
  const char *path;
  FyPool *pool;
  const Onnx__GraphProto *graph;
  int64_t opset;
  FyTensor **initializers; // by number; each made once, for all programs that are made of the file
  FyOnnxBeside *beside;
  size_t folding; // bytes of constants that may still be computed

  FyProgram *program;
  FyOnnxKnown **known; // of the values
  int known_count;
  FyOnnxNamed *names; // sorted
  size_t name_count;

  const Onnx__NodeProto *node; // the one that is read
  uint64_t attributes_used;    // bit i: attribute i was asked for
} FyOnnxReader;

// Reads r->node: adds steps, and says which value each of its outputs is. Raises without naming the node; its caller does.
typedef void FyOnnxRead(FyOnnxReader *r);
FyOnnxRead *fy_onnx_pointwise_reader(const char *op); // NULL: none of these
FyOnnxRead *fy_onnx_layer_reader(const char *op);
FyOnnxRead *fy_onnx_shape_reader(const char *op);
FyOnnxRead *fy_onnx_constant_reader(const char *op);

_Noreturn void fy_onnx_unsupported(const char *format, ...) __attribute__((format(printf, 1, 2)));
_Noreturn void fy_onnx_malformed(const char *format, ...) __attribute__((format(printf, 1, 2)));

// ---- the node's inputs and outputs (read_graph.c) ----------------------------------------------------------------------------

// The value of input i; -1 where it is not given.
int fy_onnx_optional(FyOnnxReader *r, size_t i);
int fy_onnx_input(FyOnnxReader *r, size_t i); // raises instead

void fy_onnx_result(FyOnnxReader *r, size_t output, int value);
bool fy_onnx_is_wanted(const FyOnnxReader *r, size_t output);

// ---- values ------------------------------------------------------------------------------------------------------------------

static inline const FyArray *fy_onnx_array(const FyOnnxReader *r, int value) {
  return &r->known[value]->stand_in.array;
}
static inline FyTensor *fy_onnx_constant(const FyOnnxReader *r, int value) {
  return r->program->values[value].constant;
}
// A value that a step, or nobody yet, makes.
int fy_onnx_add_value(FyOnnxReader *r, const char *name, FyDType dtype, int ndim, const int64_t *shape);
int fy_onnx_add_constant(FyOnnxReader *r, const char *name, FyTensor *tensor);
int fy_onnx_add_number(FyOnnxReader *r, FyDType dtype, double number);

// A dimension that may be counted from the end. Raises unless it is one of `ndim`.
int fy_onnx_axis(int64_t axis, int ndim);

// The elements of a constant of integers, at most `most`; raises for what is not constant, and says what it is for.
int fy_onnx_integers_of(FyOnnxReader *r, int value, const char *what, int64_t *out, int most);

// The value in another dtype, in row-major memory.
int fy_onnx_converted(FyOnnxReader *r, int value, FyDType dtype);
int fy_onnx_row_major(FyOnnxReader *r, int value);

// Work on constants that is about to be done: raises where the file asks for more of it than its size allows.
void fy_onnx_take(FyOnnxReader *r, int64_t elements, FyDType dtype);

// ---- steps -------------------------------------------------------------------------------------------------------------------

// A call of `op`: its output 0, or, of several outputs, the one that is wanted.
int fy_onnx_emit(FyOnnxReader *r, const FyOp *op, const void *params, int n, const int *in);
int fy_onnx_emit_output(FyOnnxReader *r, const FyOp *op, const void *params, int n, const int *in, int n_out,
                        int wanted);
#define FY_VALUES(...)                                                                                                 \
  (int)(sizeof((int[]){__VA_ARGS__}) / sizeof(int)), (const int[]) {                                                   \
    __VA_ARGS__                                                                                                        \
  }

// fy_view, fy_permute, ... of a value.
int fy_onnx_view(FyOnnxReader *r, int value, int ndim, const int64_t *shape);
int fy_onnx_permute(FyOnnxReader *r, int value, const int64_t *dims);

// Reads r->node, an Add of `a` and `b`, as the bias `b` of the linear layer that made `a`, if it is that (read_layers.c).
bool fy_onnx_reads_as_bias(FyOnnxReader *r, int a, int b);

// Raises unless a tensor may have this shape.
void fy_onnx_check_shape(int ndim, const int64_t *shape);

// ---- attributes (read_attribute.c) ---------------------------------------------------------------------------------------------

int64_t fy_onnx_read_int(FyOnnxReader *r, const char *name, int64_t otherwise);
double fy_onnx_read_float(FyOnnxReader *r, const char *name, double otherwise);
// Whether the text is `value`; `otherwise` where there is none.
bool fy_onnx_text_is(FyOnnxReader *r, const char *name, const char *value, bool otherwise);
// How many there are, at most `most`; -1 where there is none.
int fy_onnx_read_ints(FyOnnxReader *r, const char *name, int64_t *out, int most);
// NULL where there is none.
const Onnx__AttributeProto *fy_onnx_attribute(FyOnnxReader *r, const char *name, int type);
void fy_onnx_check_attributes(const FyOnnxReader *r); // raises for one that nobody asked for

// Integers that are an attribute in older opsets and an input since `opset`: -1 where there are none.
int fy_onnx_read_axes(FyOnnxReader *r, const char *name, int64_t since, size_t input, int64_t *out, int most);

// ---- tensors (read_tensor.c) -----------------------------------------------------------------------------------------------------

// On the CPU, owned by the innermost scope.
FyTensor *fy_onnx_read_tensor(FyOnnxReader *r, const Onnx__TensorProto *proto);

// ---- the whole -------------------------------------------------------------------------------------------------------------------

// The program of r->graph, for an input of this name, shape and dtype, on the CPU, owned by the innermost scope.
FyProgram *fy_onnx_read_graph(FyOnnxReader *r, FySize shape, FyDType dtype, const char *input);

// `program` for any batch: `other` is the same for a batch of one more (open.c). Raises FY_NOT_IMPLEMENTED_ERROR where a batch cannot
// be kept open.
void fy_onnx_open_batch(const char *path, FyProgram *program, const FyProgram *other);

#endif
