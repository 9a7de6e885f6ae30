// SPDX-License-Identifier: MIT
// Shapes and dtypes of ops that are not run, by their records; and the numbers that the format has for dtypes.
#include "onnx/file.h"
#include <stdio.h>
#include <string.h>

static const struct {
  const char *name;
  FyDType dtype;
} types[] = {
    {"UNDEFINED", FY_DEFAULT_DTYPE},
    {"FLOAT", FY_FLOAT32},
    {"UINT8", FY_UINT8},
    {"INT8", FY_DEFAULT_DTYPE},
    {"UINT16", FY_DEFAULT_DTYPE},
    {"INT16", FY_DEFAULT_DTYPE},
    {"INT32", FY_INT32},
    {"INT64", FY_INT64},
    {"STRING", FY_DEFAULT_DTYPE},
    {"BOOL", FY_BOOL},
    {"FLOAT16", FY_FLOAT16},
    {"DOUBLE", FY_FLOAT64},
    {"UINT32", FY_DEFAULT_DTYPE},
    {"UINT64", FY_DEFAULT_DTYPE},
    {"COMPLEX64", FY_DEFAULT_DTYPE},
    {"COMPLEX128", FY_DEFAULT_DTYPE},
    {"BFLOAT16", FY_BFLOAT16},
};
enum { TYPES = sizeof types / sizeof *types };

int fy_onnx_type(FyDType dtype) {
  for (int i = 1; i < TYPES; i++)
    if (types[i].dtype == dtype)
      return i;
  fy_panic("ONNX has no type for %s", fy_dtype_name(dtype));
}

FyDType fy_onnx_dtype(int type) {
  return type > 0 && type < TYPES ? types[type].dtype : FY_DEFAULT_DTYPE;
}

const char *fy_onnx_type_name(int type) {
  static _Thread_local char other[24];
  if (type >= 0 && type < TYPES)
    return types[type].name;
  snprintf(other, sizeof other, "type %d", type);
  return other;
}

void fy_onnx_stand_in(FyTensor *t, FyDType dtype, int ndim, const int64_t *shape) {
  memset(t, 0, sizeof *t);
  t->device = FY_CPU_DEVICE;
  t->array.dtype = (uint8_t)dtype;
  t->array.ndim = (int16_t)ndim;
  int64_t step = 1;
  for (int d = ndim - 1; d >= 0; d--) {
    t->array.shape[d] = shape[d];
    t->array.stride[d] = step;
    step *= shape[d] > 1 ? shape[d] : 1;
  }
  fy_array_finish(&t->array);
}

void fy_onnx_infer(const FyOp *op, const void *params, int n_in, FyTensor *const *in, int n_out, FyOutput *out) {
  FyOpCall call = {
      .op = op, .params = params, .in = in, .n_in = n_in, .n_out = n_out, .device = FY_CPU_DEVICE, .output = out};
  memset(out, 0, (size_t)n_out * sizeof *out);
  for (int i = 0; i < n_out; i++)
    out[i].dtype = out[i].computed = FY_DEFAULT_DTYPE;
  op->infer(&call);
}
