// SPDX-License-Identifier: MIT
// Values that are known while a file is read: constants, shapes, and what exporters compute of them.
#include "onnx/read.h"
#include "op/copy/copy.h"
#include "op/ops.h"
#include "op/shape/view.h"
#include <string.h>

static FyTensor *integers(int n, const int64_t *values) {
  FyTensor *tensor = fy_empty(fy_shape(n), .dtype = FY_INT64);
  if (n)
    memcpy(fy_data_ptr(tensor), values, (size_t)n * sizeof *values);
  return tensor;
}

// One of several attributes has the value.
static FyTensor *constant_of(FyOnnxReader *r) {
  const Onnx__AttributeProto *a;
  if ((a = fy_onnx_attribute(r, "value", FY_ONNX_TENSOR))) {
    if (!a->t)
      fy_onnx_malformed("its value is no tensor");
    return fy_onnx_read_tensor(r, a->t);
  }
  if ((a = fy_onnx_attribute(r, "value_float", FY_ONNX_FLOAT)))
    return fy_full((double)a->f, FY_SCALAR, .dtype = FY_FLOAT32);
  if ((a = fy_onnx_attribute(r, "value_int", FY_ONNX_INT))) {
    FyTensor *tensor = fy_empty(FY_SCALAR, .dtype = FY_INT64);
    *(int64_t *)fy_data_ptr(tensor) = a->i;
    return tensor;
  }
  if ((a = fy_onnx_attribute(r, "value_ints", FY_ONNX_INTS))) {
    fy_onnx_take(r, (int64_t)a->n_ints, FY_INT64);
    return integers((int)a->n_ints, a->ints);
  }
  if ((a = fy_onnx_attribute(r, "value_floats", FY_ONNX_FLOATS))) {
    fy_onnx_take(r, (int64_t)a->n_floats, FY_FLOAT32);
    FyTensor *tensor = fy_empty(fy_shape((int64_t)a->n_floats), .dtype = FY_FLOAT32);
    if (a->n_floats)
      memcpy(fy_data_ptr(tensor), a->floats, a->n_floats * sizeof *a->floats);
    return tensor;
  }
  fy_onnx_unsupported("it has no value that is a tensor or a number");
}

static void read_constant(FyOnnxReader *r) {
  fy_onnx_result(r, 0, fy_onnx_add_constant(r, NULL, constant_of(r)));
}

static int64_t bounded(int64_t end, int ndim) {
  end = end < 0 ? (end < -ndim ? 0 : end + ndim) : end;
  return end > ndim ? ndim : end;
}

static void read_shape(FyOnnxReader *r) {
  const int of = fy_onnx_input(r, 0);
  const FyArray *a = fy_onnx_array(r, of);
  const int64_t start = bounded(fy_onnx_read_int(r, "start", 0), a->ndim);
  const int64_t end = bounded(fy_onnx_read_int(r, "end", a->ndim), a->ndim);
  const int shape = fy_onnx_add_constant(r, NULL, integers(end > start ? (int)(end - start) : 0, a->shape + start));
  if (start == 0 && end == a->ndim)
    r->known[shape]->shape_of = of + 1;
  fy_onnx_result(r, 0, shape);
}

static void read_size(FyOnnxReader *r) {
  FyTensor *tensor = fy_empty(FY_SCALAR, .dtype = FY_INT64);
  *(int64_t *)fy_data_ptr(tensor) = fy_onnx_array(r, fy_onnx_input(r, 0))->numel;
  fy_onnx_result(r, 0, fy_onnx_add_constant(r, NULL, tensor));
}

// One element, expanded: it takes no memory, whatever its shape. In the shape of another value, a fill of that.
static void read_constant_of_shape(FyOnnxReader *r) {
  int64_t shape[FY_MAX_DIM];
  const int n = fy_onnx_integers_of(r, fy_onnx_input(r, 0), "the shape", shape, FY_MAX_DIM);
  const Onnx__AttributeProto *value = fy_onnx_attribute(r, "value", FY_ONNX_TENSOR);
  FyTensor *element = value && value->t ? fy_onnx_read_tensor(r, value->t) : fy_zeros(FY_SCALAR, .dtype = FY_FLOAT32);
  if (fy_numel(element) != 1)
    fy_onnx_malformed("its value has %lld elements, not 1", (long long)fy_numel(element));
  const int like = r->known[fy_onnx_input(r, 0)]->shape_of - 1;
  if (like >= 0) {
    const int filled = fy_onnx_emit(r, &fy_op_fill, &(FyFill){.value = fy_item(element)}, FY_VALUES(like));
    fy_onnx_result(r, 0, fy_onnx_converted(r, filled, fy_dtype_of(element)));
    return;
  }
  FyViewParams p = {.ndim = n};
  memcpy(p.shape, shape, (size_t)n * sizeof *shape);
  fy_onnx_check_shape(n, shape);
  const int scalar = fy_onnx_add_constant(r, NULL, fy_reshape(element, FY_SCALAR));
  fy_onnx_result(r, 0, fy_onnx_emit(r, &fy_op_expand, &p, FY_VALUES(scalar)));
}

// start, start + delta, ... below limit.
static void read_range(FyOnnxReader *r) {
  double range[3];
  for (size_t i = 0; i < 3; i++) {
    const int value = fy_onnx_input(r, i);
    FyTensor *constant = fy_onnx_constant(r, value);
    if (!constant || constant->array.numel != 1)
      fy_onnx_unsupported("its bounds are no numbers that the file fixes");
    range[i] = fy_item(constant);
  }
  const FyDType dtype = (FyDType)fy_onnx_array(r, fy_onnx_input(r, 0))->dtype;
  const double count = (range[1] - range[0]) / range[2];
  if (!(count > -1e15 && count < 1e15))
    fy_onnx_malformed("a range from %g to %g by %g", range[0], range[1], range[2]);
  fy_onnx_take(r, count > 0 ? (int64_t)count + 1 : 0, dtype);
  FyTensor *values = count > 0 ? fy_arange(range[1], .start = range[0], .step = range[2], .dtype = dtype)
                               : fy_empty(fy_shape(0), .dtype = dtype);
  fy_onnx_result(r, 0, fy_onnx_add_constant(r, NULL, values));
}

FyOnnxRead *fy_onnx_constant_reader(const char *op) {
  static const struct {
    const char *name;
    FyOnnxRead *read;
  } readers[] = {
      {"Constant", read_constant}, {"Shape", read_shape},
      {"Size", read_size},         {"ConstantOfShape", read_constant_of_shape},
      {"Range", read_range},
  };
  for (size_t i = 0; i < sizeof readers / sizeof *readers; i++)
    if (strcmp(readers[i].name, op) == 0)
      return readers[i].read;
  return NULL;
}
