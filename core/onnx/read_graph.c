// SPDX-License-Identifier: MIT
// Graphs: names and the values they stand for, and nodes one after the other.
#include "onnx/read.h"
#include "autograd/autograd.h"
#include "op/copy/copy.h"
#include "op/elementwise/pointwise.h"
#include "op/ops.h"
#include "op/shape/view.h"
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static _Noreturn void raise_list(FyErrorKind kind, const char *format, va_list arguments) {
  char text[512];
  vsnprintf(text, sizeof text, format, arguments);
  fy_raise(kind, "%s", text);
}

_Noreturn void fy_onnx_unsupported(const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  raise_list(FY_NOT_IMPLEMENTED_ERROR, format, arguments);
}

_Noreturn void fy_onnx_malformed(const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  raise_list(FY_VALUE_ERROR, format, arguments);
}

// ---- values ----------------------------------------------------------------------------------------------------------------

// Dimensions of 0 count as 1: strides are made of the others.
void fy_onnx_check_shape(int ndim, const int64_t *shape) {
  int64_t elements = 1;
  for (int d = 0; d < ndim; d++) {
    if (shape[d] < 0)
      fy_onnx_malformed("a dimension is negative: %lld", (long long)shape[d]);
    if (shape[d] > FY_ONNX_MAX_ELEMENTS || (shape[d] && elements > FY_ONNX_MAX_ELEMENTS / shape[d]))
      fy_onnx_unsupported("a tensor would have more than 2^31 elements");
    elements *= shape[d] ? shape[d] : 1;
  }
}

static int add_value(FyOnnxReader *r, const char *name, FyTensor *constant, FyDType dtype, int ndim,
                     const int64_t *shape) {
  fy_onnx_check_shape(ndim, shape);
  r->known = fy_pool_grow(r->pool, r->known, (size_t)r->known_count, sizeof *r->known);
  FyOnnxKnown *known = r->known[r->known_count++] = fy_pool_take(r->pool, sizeof *known);
  known->maker = -1;
  fy_onnx_stand_in(&known->stand_in, dtype, ndim, shape);
  return fy_program_add_value(r->program, name, dtype, ndim, shape, constant);
}

int fy_onnx_add_value(FyOnnxReader *r, const char *name, FyDType dtype, int ndim, const int64_t *shape) {
  return add_value(r, name, NULL, dtype, ndim, shape);
}

// Constants keep their strides: a transposed weight is a view.
int fy_onnx_add_constant(FyOnnxReader *r, const char *name, FyTensor *tensor) {
  const FyArray *a = &tensor->array;
  const int value = add_value(r, name, tensor, (FyDType)a->dtype, a->ndim, a->shape);
  memcpy(r->known[value]->stand_in.array.stride, a->stride, sizeof a->stride);
  fy_array_finish(&r->known[value]->stand_in.array);
  return value;
}

int fy_onnx_add_number(FyOnnxReader *r, FyDType dtype, double number) {
  return fy_onnx_add_constant(r, NULL, fy_full(number, FY_SCALAR, .dtype = dtype));
}

int fy_onnx_axis(int64_t axis, int ndim) {
  if (axis < -ndim || axis >= ndim)
    fy_onnx_malformed("axis %lld of a tensor of %d dimensions", (long long)axis, ndim);
  return (int)(axis < 0 ? axis + ndim : axis);
}

int fy_onnx_integers_of(FyOnnxReader *r, int value, const char *what, int64_t *out, int most) {
  FyTensor *constant = fy_onnx_constant(r, value);
  if (!constant)
    fy_onnx_unsupported("%s is computed from the network's input; only one that the file fixes is supported", what);
  const FyDType dtype = fy_dtype_of(constant);
  if ((dtype != FY_INT64 && dtype != FY_INT32) || constant->array.ndim > 1)
    fy_onnx_malformed("%s: a list of integers was expected, but it is %s of shape %s", what, fy_dtype_name(dtype),
                      fy_sizes_of(constant));
  if (constant->array.numel > most)
    fy_onnx_malformed("%s has %lld numbers, at most %d make sense", what, (long long)constant->array.numel, most);
  const FyArray *a = &constant->array;
  for (int i = 0; i < (int)a->numel; i++) {
    const int64_t at = a->ndim ? i * a->stride[0] : 0;
    out[i] = dtype == FY_INT64 ? ((const int64_t *)a->data)[at] : ((const int32_t *)a->data)[at];
  }
  return (int)a->numel;
}

// ---- work on constants -----------------------------------------------------------------------------------------------------

static bool try_take(FyOnnxReader *r, size_t bytes) {
  if (bytes > r->folding)
    return false;
  r->folding -= bytes;
  return true;
}

void fy_onnx_take(FyOnnxReader *r, int64_t elements, FyDType dtype) {
  if (elements > FY_ONNX_MAX_ELEMENTS || !try_take(r, (size_t)elements * fy_dtype_size(dtype) + sizeof(FyTensor)))
    fy_onnx_unsupported("%lld elements are too many to be computed while the file is read: keep them among the "
                        "initializers",
                        (long long)elements);
}

// ---- steps -----------------------------------------------------------------------------------------------------------------

// Whether all inputs are known, none of them a parameter, and there is little to compute: such a call runs now.
static bool is_folded(FyOnnxReader *r, const FyOp *op, int n, const int *in, const FyOutput *out) {
  static const FyOp *const slow[] = {&fy_op_matmul, &fy_op_linear, &fy_op_conv2d, &fy_op_batch_norm};
  const bool view = op->flags & FY_OP_VIEW;
  int64_t elements = 1, read = 0;
  if (op == &fy_op_permute && fy_dtype_is_floating((FyDType)out->dtype)) // a weight: what it goes into wants to know
    return false;
  for (size_t i = 0; i < sizeof slow / sizeof *slow; i++)
    if (op == slow[i])
      return false;
  for (int i = 0; i < n; i++) {
    const FyProgramValue *value = in[i] < 0 ? NULL : &r->program->values[in[i]];
    if (!value || !value->constant || (value->name && fy_dtype_is_floating(value->dtype)))
      return false;
    read += view ? 0 : fy_onnx_array(r, in[i])->numel;
  }
  for (int d = 0; d < out->ndim; d++)
    elements *= out->shape[d];
  if (read > FY_ONNX_MAX_FOLDED || (elements > FY_ONNX_MAX_FOLDED && (!view || op == &fy_op_expand)))
    return false;
  const size_t written = view ? 0 : (size_t)elements * fy_dtype_size(out->dtype);
  return try_take(r, (size_t)read + written + sizeof(FyTensor));
}

static int fold(FyOnnxReader *r, const FyOp *op, const void *params, int n, const int *in, int n_out, int wanted) {
  FyTensor *given[FY_MAX_INPUTS], *out[FY_MAX_OUTPUTS];
  for (int i = 0; i < n; i++)
    given[i] = fy_onnx_constant(r, in[i]);
  fy_no_grad {
    fy_run_multi(op, params, n, given, n_out, out);
  }
  return fy_onnx_add_constant(r, NULL, out[wanted]);
}

// Adds the step and its one output that is wanted; returns its value.
static int emit(FyOnnxReader *r, const FyOp *op, const void *params, int n, const int *in, int n_out, int wanted) {
  int out[FY_MAX_OUTPUTS];
  FyTensor *given[FY_MAX_INPUTS];
  FyOutput described[FY_MAX_OUTPUTS];
  for (int i = 0; i < n; i++)
    if (in[i] >= 0 && r->known[in[i]]->part)
      fy_onnx_unsupported("the Erf before it is not the part of a GELU: export for opset 20 or later, which has Gelu");
  for (int i = 0; i < n; i++)
    given[i] = in[i] < 0 ? NULL : &r->known[in[i]]->stand_in;
  fy_onnx_infer(op, params, n, given, n_out, described);
  for (int i = 0; i < n_out; i++)
    fy_onnx_check_shape(described[i].ndim, described[i].shape);
  if (is_folded(r, op, n, in, &described[wanted]))
    return fold(r, op, params, n, in, n_out, wanted);
  const FyOutput *o = &described[wanted];
  for (int i = 0; i < n_out; i++)
    out[i] = -1;
  const int value = out[wanted] = add_value(r, NULL, NULL, (FyDType)o->dtype, o->ndim, o->shape);
  if (op->flags & FY_OP_VIEW) {
    memcpy(r->known[value]->stand_in.array.stride, o->stride, sizeof o->stride);
    fy_array_finish(&r->known[value]->stand_in.array);
  }
  r->known[value]->maker = fy_program_add_step(r->program, op, params, n, in, n_out, out);
  return value;
}

int fy_onnx_emit(FyOnnxReader *r, const FyOp *op, const void *params, int n, const int *in) {
  return emit(r, op, params, n, in, 1, 0);
}

int fy_onnx_emit_output(FyOnnxReader *r, const FyOp *op, const void *params, int n, const int *in, int n_out,
                        int wanted) {
  return emit(r, op, params, n, in, n_out, wanted);
}

static int copy(FyOnnxReader *r, int value, FyCopyKind kind, FyDType dtype) {
  const FyCopyParams p = {.kind = kind, .dtype = dtype, .device = FY_CPU_DEVICE};
  return fy_onnx_emit(r, &fy_op_copy, &p, FY_VALUES(value));
}

int fy_onnx_converted(FyOnnxReader *r, int value, FyDType dtype) {
  return (FyDType)fy_onnx_array(r, value)->dtype == dtype ? value : copy(r, value, FY_COPY_TO, dtype);
}

int fy_onnx_row_major(FyOnnxReader *r, int value) {
  const FyArray *a = fy_onnx_array(r, value);
  return a->contiguous ? value : copy(r, value, FY_COPY_CLONE, (FyDType)a->dtype);
}

int fy_onnx_view(FyOnnxReader *r, int value, int ndim, const int64_t *shape) {
  FyViewParams p = {.ndim = ndim};
  fy_onnx_check_shape(ndim, shape);
  memcpy(p.shape, shape, (size_t)ndim * sizeof *shape);
  int64_t elements = 1;
  for (int d = 0; d < ndim; d++)
    elements *= shape[d];
  if (elements != fy_onnx_array(r, value)->numel)
    fy_onnx_malformed("a tensor of %lld elements cannot have the shape %s", (long long)fy_onnx_array(r, value)->numel,
                      fy_sizes_string(ndim, shape));
  return fy_onnx_emit(r, &fy_op_view, &p, FY_VALUES(fy_onnx_row_major(r, value)));
}

int fy_onnx_permute(FyOnnxReader *r, int value, const int64_t *dims) {
  FyViewParams p = {.ndim = fy_onnx_array(r, value)->ndim};
  memcpy(p.shape, dims, (size_t)p.ndim * sizeof *dims);
  return fy_onnx_emit(r, &fy_op_permute, &p, FY_VALUES(value));
}

// ---- names -----------------------------------------------------------------------------------------------------------------

static int by_name(const void *a, const void *b) {
  return strcmp(((const FyOnnxNamed *)a)->name, ((const FyOnnxNamed *)b)->name);
}

static FyOnnxNamed *find(const FyOnnxReader *r, const char *name) {
  const FyOnnxNamed key = {.name = name};
  return r->name_count ? bsearch(&key, r->names, r->name_count, sizeof key, by_name) : NULL;
}

// All names that stand for something, once each. Those of initializers may stand among the inputs, too.
static void collect_names(FyOnnxReader *r) {
  const Onnx__GraphProto *graph = r->graph;
  size_t count = graph->n_initializer + graph->n_input;
  for (size_t i = 0; i < graph->n_node; i++)
    count += graph->node[i]->n_output;
  r->names = fy_pool_take(r->pool, (count + 1) * sizeof *r->names);
  r->name_count = 0;
  for (size_t i = 0; i < graph->n_initializer; i++)
    r->names[r->name_count++] = (FyOnnxNamed){graph->initializer[i]->name ? graph->initializer[i]->name : "", -1};
  for (size_t i = 0; i < graph->n_node; i++)
    for (size_t k = 0; k < graph->node[i]->n_output; k++)
      if (*graph->node[i]->output[k])
        r->names[r->name_count++] = (FyOnnxNamed){graph->node[i]->output[k], -1};
  qsort(r->names, r->name_count, sizeof *r->names, by_name);
  for (size_t i = 1; i < r->name_count; i++)
    if (by_name(&r->names[i - 1], &r->names[i]) == 0)
      fy_onnx_malformed("two values are named \"%.80s\"", r->names[i].name);
  const size_t computed = r->name_count;
  for (size_t i = 0; i < graph->n_input; i++) {
    const char *name = graph->input[i]->name ? graph->input[i]->name : "";
    const FyOnnxNamed key = {.name = name};
    if (!computed || !bsearch(&key, r->names, computed, sizeof key, by_name))
      r->names[r->name_count++] = (FyOnnxNamed){name, -1};
  }
  qsort(r->names, r->name_count, sizeof *r->names, by_name);
}

static int value_named(const FyOnnxReader *r, const char *name) {
  const FyOnnxNamed *named = find(r, name);
  if (!named || named->value < 0)
    fy_onnx_malformed("\"%.80s\" is used before any node computes it", name);
  return named->value;
}

int fy_onnx_optional(FyOnnxReader *r, size_t i) {
  return i < r->node->n_input && *r->node->input[i] ? value_named(r, r->node->input[i]) : -1;
}

int fy_onnx_input(FyOnnxReader *r, size_t i) {
  const int value = fy_onnx_optional(r, i);
  if (value < 0)
    fy_onnx_malformed("input %zu is not given", i);
  return value;
}

bool fy_onnx_is_wanted(const FyOnnxReader *r, size_t output) {
  return output < r->node->n_output && *r->node->output[output];
}

void fy_onnx_result(FyOnnxReader *r, size_t output, int value) {
  if (fy_onnx_is_wanted(r, output))
    find(r, r->node->output[output])->value = value;
}

// ---- nodes -----------------------------------------------------------------------------------------------------------------

static FyOnnxRead *reader_of(const Onnx__NodeProto *node) {
  const char *op = node->op_type ? node->op_type : "";
  if (node->domain && *node->domain && strcmp(node->domain, "ai.onnx") != 0)
    fy_onnx_unsupported("ops of the domain \"%.80s\" are not supported: export without custom ops", node->domain);
  FyOnnxRead *read = fy_onnx_pointwise_reader(op);
  read = read ? read : fy_onnx_layer_reader(op);
  read = read ? read : fy_onnx_shape_reader(op);
  read = read ? read : fy_onnx_constant_reader(op);
  if (!read)
    fy_onnx_unsupported("this op is not supported: export a network of the ops that docs/15_tracing.md lists");
  return read;
}

static void read_node(FyOnnxReader *r, const Onnx__NodeProto *node) {
  r->node = node;
  r->attributes_used = 0;
  reader_of(node)(r);
  fy_onnx_check_attributes(r);
  for (size_t k = 0; k < node->n_output; k++)
    if (*node->output[k] && find(r, node->output[k])->value < 0)
      fy_onnx_unsupported("its output %zu is not supported", k);
}

// What is wrong, with the part of the file where it is.
static _Noreturn void raise_at(const FyOnnxReader *r, const FyError *error, const char *where) {
  const bool keeps =
      error->kind == FY_NOT_IMPLEMENTED_ERROR || error->kind == FY_OS_ERROR || error->kind == FY_OUT_OF_MEMORY_ERROR;
  fy_raise(keeps ? error->kind : FY_VALUE_ERROR, "%s: %s%.1000s", r->path, where, error->message);
}

static void try_node(FyOnnxReader *r, size_t i) {
  const Onnx__NodeProto *node = r->graph->node[i];
  FyError error;
  fy_trap(error) {
    read_node(r, node);
  }
  if (error.kind)
    raise_at(r, &error,
             fy_pool_print(r->pool, "node %zu, \"%.80s\" (%.40s): ", i, node->name ? node->name : "",
                           node->op_type ? node->op_type : ""));
}

// ---- inputs and initializers -----------------------------------------------------------------------------------------------

// Names as state_dict has them, of few parts; exporters' own begin with a slash.
static bool is_state_name(const char *name) {
  int dots = 0;
  size_t length = strlen(name);
  for (size_t i = 0; i < length && length <= FY_ONNX_MAX_NAME; i++)
    dots += name[i] == '.';
  return length > 0 && *name != '/' && length <= FY_ONNX_MAX_NAME && dots < 16;
}

static void try_initializer(FyOnnxReader *r, size_t i) {
  const Onnx__TensorProto *proto = r->graph->initializer[i];
  const char *name = proto->name ? proto->name : "";
  FyError error;
  fy_trap(error) {
    if (!r->initializers[i])
      r->initializers[i] = fy_onnx_read_tensor(r, proto);
    find(r, name)->value = fy_onnx_add_constant(r, is_state_name(name) ? name : NULL, r->initializers[i]);
  }
  if (error.kind)
    raise_at(r, &error, fy_pool_print(r->pool, "initializer \"%.80s\": ", name));
}

FyProgram *fy_onnx_read_graph(FyOnnxReader *r, FySize shape, FyDType dtype, const char *input) {
  const char *output = r->graph->output[0]->name ? r->graph->output[0]->name : "";
  r->program = fy_program_new(FY_CPU_DEVICE);
  r->beside = NULL;
  r->known = NULL;
  r->known_count = 0;
  FyError error;
  fy_trap(error) {
    collect_names(r);
    r->program->input = add_value(r, input, NULL, dtype, shape.ndim, shape.dim);
    find(r, input)->value = r->program->input;
  }
  if (error.kind)
    raise_at(r, &error, "");
  for (size_t i = 0; i < r->graph->n_initializer; i++)
    try_initializer(r, i);
  for (size_t i = 0; i < r->graph->n_node; i++)
    try_node(r, i);
  fy_trap(error) {
    r->program->output = value_named(r, output);
    if (r->known[r->program->output]->part)
      fy_onnx_unsupported("is an Erf, which is supported only as the part of a GELU");
  }
  if (error.kind)
    raise_at(r, &error, "the graph's output ");
  return r->program;
}
