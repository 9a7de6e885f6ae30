// SPDX-License-Identifier: MIT
// Nodes, attributes, initializers and names: what ONNX graphs are put together from.
#include "onnx/write.h"
#include "op/host/host.h"
#include "op/ops.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ADD(w, list, count, item)                                                                                      \
  ((list) = fy_pool_grow((w)->pool, (list), (count), sizeof *(list)), (list)[(count)++] = (item))

static const char *fresh_name(FyOnnxWriter *w, const char *what) {
  return fy_pool_print(w->pool, "/%s.%d", what, w->fresh++);
}

// ---- initializers ----------------------------------------------------------------------------------------------------------

// `tensor` stays with the scope until the file is written, and so do its elements, which are not copied.
static void add_initializer(FyOnnxWriter *w, const char *name, FyTensor *tensor) {
  FyTensor *host = fy_contiguous(fy_cpu(fy_detach(tensor)));
  Onnx__TensorProto *proto = fy_pool_take(w->pool, sizeof *proto);
  onnx__tensor_proto__init(proto);
  proto->name = (char *)(uintptr_t)name;
  proto->has_data_type = proto->has_raw_data = true;
  proto->data_type = fy_onnx_type(fy_dtype_of(host));
  proto->raw_data = (ProtobufCBinaryData){.len = fy_nbytes(host), .data = fy_data_ptr(host)};
  for (int d = 0; d < host->array.ndim; d++)
    ADD(w, proto->dims, proto->n_dims, host->array.shape[d]);
  ADD(w, w->graph.initializer, w->graph.n_initializer, proto);
}

const char *fy_onnx_constant(FyOnnxWriter *w, FyTensor *tensor) {
  const char *name = fresh_name(w, "constant");
  add_initializer(w, name, tensor);
  return name;
}

const char *fy_onnx_filled(FyOnnxWriter *w, FyDType dtype, FySize shape, double number) {
  return fy_onnx_constant(w, fy_full(number, shape, .dtype = dtype));
}

const char *fy_onnx_number(FyOnnxWriter *w, FyDType dtype, double number) {
  return fy_onnx_filled(w, dtype, FY_SCALAR, number);
}

const char *fy_onnx_integers(FyOnnxWriter *w, int n, const int64_t *values) {
  const char *name = fresh_name(w, "constant");
  FyTensor *tensor = fy_empty(fy_shape(n), .dtype = FY_INT64);
  if (n)
    memcpy(fy_data_ptr(tensor), values, (size_t)n * sizeof *values);
  add_initializer(w, name, tensor);
  return name;
}

// ---- values ----------------------------------------------------------------------------------------------------------------

const char *fy_onnx_name(FyOnnxWriter *w, int value) {
  const FyProgramValue *v = fy_onnx_value(w, value);
  if (w->names[value])
    return w->names[value];
  w->names[value] = v->name && *v->name ? fy_pool_print(w->pool, "%s", v->name) : fresh_name(w, "constant");
  if (v->constant)
    add_initializer(w, w->names[value], v->constant);
  return w->names[value];
}

const char *fy_onnx_cast(FyOnnxWriter *w, const char *name, FyDType dtype) {
  Onnx__NodeProto *node = fy_onnx_node(w, "Cast", FY_NAMES(name));
  fy_onnx_int(w, node, "to", fy_onnx_type(dtype));
  return fy_onnx_output(node);
}

// A number of the program's own is written in the dtype that is wanted.
const char *fy_onnx_name_as(FyOnnxWriter *w, int value, FyDType dtype) {
  const FyProgramValue *v = fy_onnx_value(w, value);
  if (v->constant && !v->name && v->ndim == 0 && v->dtype != dtype)
    return fy_onnx_number(w, dtype, fy_item(v->constant));
  const char *name = fy_onnx_name(w, value);
  return fy_onnx_value(w, value)->dtype == dtype ? name : fy_onnx_cast(w, name, dtype);
}

void fy_onnx_alias(FyOnnxWriter *w, const FyProgramStep *step, const char *name) {
  if (step->out[0] == w->program->output) // it has a name of its own
    fy_onnx_last(w, step, "Identity", FY_NAMES(name));
  else
    w->names[step->out[0]] = name;
}

// ---- nodes -----------------------------------------------------------------------------------------------------------------

static Onnx__NodeProto *add_node(FyOnnxWriter *w, const char *op, const char *output, int n,
                                 const char *const *inputs) {
  Onnx__NodeProto *node = fy_pool_take(w->pool, sizeof *node);
  onnx__node_proto__init(node);
  node->op_type = (char *)(uintptr_t)op;
  node->name = fy_pool_print(w->pool, "%s_%zu", op, w->graph.n_node);
  ADD(w, node->output, node->n_output, (char *)(uintptr_t)output);
  while (n > 0 && !inputs[n - 1]) // what is not given at the end is left out, before that it is ""
    n--;
  for (int i = 0; i < n; i++)
    ADD(w, node->input, node->n_input, (char *)(uintptr_t)(inputs[i] ? inputs[i] : ""));
  ADD(w, w->graph.node, w->graph.n_node, node);
  return node;
}

Onnx__NodeProto *fy_onnx_node(FyOnnxWriter *w, const char *op, int n, const char *const *inputs) {
  return add_node(w, op, fresh_name(w, op), n, inputs);
}

Onnx__NodeProto *fy_onnx_last(FyOnnxWriter *w, const FyProgramStep *step, const char *op, int n,
                              const char *const *inputs) {
  const int value = step->out[0];
  const FyProgramValue *v = fy_onnx_value(w, value);
  if (!w->names[value])
    w->names[value] = v->name && *v->name           ? v->name
                      : value == w->program->output ? "output"
                                                    : fresh_name(w, step->op->name);
  if (value != w->program->output)
    fy_onnx_describe(w, w->names[value], v->dtype, v->ndim, v->shape, &w->open[value * FY_MAX_DIM]);
  return add_node(w, op, w->names[value], n, inputs);
}

// ---- attributes --------------------------------------------------------------------------------------------------------------

static Onnx__AttributeProto *add_attribute(FyOnnxWriter *w, Onnx__NodeProto *node, const char *name, int type) {
  Onnx__AttributeProto *attribute = fy_pool_take(w->pool, sizeof *attribute);
  onnx__attribute_proto__init(attribute);
  attribute->name = (char *)(uintptr_t)name;
  attribute->has_type = true;
  attribute->type = type;
  ADD(w, node->attribute, node->n_attribute, attribute);
  return attribute;
}

void fy_onnx_int(FyOnnxWriter *w, Onnx__NodeProto *node, const char *name, int64_t value) {
  Onnx__AttributeProto *attribute = add_attribute(w, node, name, FY_ONNX_INT);
  attribute->has_i = true;
  attribute->i = value;
}

void fy_onnx_float(FyOnnxWriter *w, Onnx__NodeProto *node, const char *name, double value) {
  Onnx__AttributeProto *attribute = add_attribute(w, node, name, FY_ONNX_FLOAT);
  attribute->has_f = true;
  attribute->f = (float)value;
}

void fy_onnx_text(FyOnnxWriter *w, Onnx__NodeProto *node, const char *name, const char *value) {
  Onnx__AttributeProto *attribute = add_attribute(w, node, name, FY_ONNX_STRING);
  attribute->has_s = true;
  attribute->s = (ProtobufCBinaryData){.len = strlen(value), .data = (uint8_t *)(uintptr_t)value};
}

void fy_onnx_ints(FyOnnxWriter *w, Onnx__NodeProto *node, const char *name, int n, const int64_t *values) {
  Onnx__AttributeProto *attribute = add_attribute(w, node, name, FY_ONNX_INTS);
  for (int i = 0; i < n; i++)
    ADD(w, attribute->ints, attribute->n_ints, values[i]);
}

void fy_onnx_tensor(FyOnnxWriter *w, Onnx__NodeProto *node, const char *name, FyDType dtype, double number) {
  fy_onnx_filled(w, dtype, fy_shape(1), number); // an initializer, which is taken out of the graph again
  add_attribute(w, node, name, FY_ONNX_TENSOR)->t = w->graph.initializer[--w->graph.n_initializer];
}

// ---- what values look like -----------------------------------------------------------------------------------------------------

Onnx__ValueInfoProto *fy_onnx_info(FyOnnxWriter *w, const char *name, FyDType dtype, int ndim, const int64_t *shape,
                                   const bool *open) {
  struct {
    Onnx__ValueInfoProto info;
    Onnx__TypeProto type;
    Onnx__TypeProto__Tensor tensor;
    Onnx__TensorShapeProto shape;
    Onnx__TensorShapeProto__Dimension dims[FY_MAX_DIM], *pointers[FY_MAX_DIM];
  } *all = fy_pool_take(w->pool, sizeof *all);
  onnx__value_info_proto__init(&all->info);
  onnx__type_proto__init(&all->type);
  onnx__type_proto__tensor__init(&all->tensor);
  onnx__tensor_shape_proto__init(&all->shape);
  all->info.name = (char *)(uintptr_t)name;
  all->info.type = &all->type;
  all->type.tensor_type = &all->tensor;
  all->tensor.has_elem_type = true;
  all->tensor.elem_type = fy_onnx_type(dtype);
  all->tensor.shape = &all->shape;
  all->shape.n_dim = (size_t)ndim;
  all->shape.dim = all->pointers;
  const int64_t batch = fy_onnx_value(w, w->program->input)->shape[0];
  for (int d = 0; d < ndim; d++) {
    Onnx__TensorShapeProto__Dimension *dim = all->pointers[d] = &all->dims[d];
    onnx__tensor_shape_proto__dimension__init(dim);
    if (!open[d]) {
      dim->value_case = ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_VALUE;
      dim->dim_value = shape[d];
    } else if (shape[d] == batch) { // else it is some other number that grows with the batch, and is left out
      dim->value_case = ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_PARAM;
      dim->dim_param = (char *)(uintptr_t) "batch";
    }
  }
  return &all->info;
}

void fy_onnx_describe(FyOnnxWriter *w, const char *name, FyDType dtype, int ndim, const int64_t *shape,
                      const bool *open) {
  ADD(w, w->graph.value_info, w->graph.n_value_info, fy_onnx_info(w, name, dtype, ndim, shape, open));
}
