// SPDX-License-Identifier: MIT
// What the records' infer functions describe a call with: dtypes, shapes and layouts. Nothing here allocates or computes.
#include "op/op.h"
#include <string.h>

_Noreturn void fy_raise_not_implemented(const char *op, FyDType dtype) {
  fy_raise(FY_NOT_IMPLEMENTED_ERROR, "\"%s\" not implemented for '%s'", op, fy_dtype_scalar_name(dtype));
}

bool fy_all_bfloat16(const FyOpCall *call) {
  for (int i = 0; i < call->n_in; i++)
    if (call->in[i] && call->in[i]->array.dtype != FY_BFLOAT16)
      return false;
  return true;
}

void fy_call_own_device(const FyOpCall *call, int i) {
  const FyTensor *t = call->in[i];
  if (t)
    fy_check_same_device(call->device, t->device);
}

// ---- dtypes ----------------------------------------------------------------------------------------------------------

static int category(FyDType dtype) {
  return fy_dtype_is_floating(dtype) ? 2 : dtype == FY_BOOL ? 0 : 1;
}

// Dimensioned tensors decide within their category; 0-dim ones and then plain numbers only raise the category.
FyDType fy_result_type(int n, FyTensor *const *tensors) {
  FyDType result[3] = {FY_DEFAULT_DTYPE, FY_DEFAULT_DTYPE, FY_DEFAULT_DTYPE};
  for (int i = 0; i < n; i++) {
    const FyTensor *t = tensors[i];
    if (!t)
      continue;
    int priority = t->wrapped_number ? 2 : t->array.ndim == 0 ? 1 : 0;
    FyDType dtype = t->wrapped_number && t->array.dtype == FY_FLOAT64 ? FY_FLOAT32 : (FyDType)t->array.dtype;
    result[priority] = result[priority] ? fy_promote_types(result[priority], dtype) : dtype;
  }
  FyDType type = FY_DEFAULT_DTYPE;
  for (int priority = 0; priority < 3; priority++) {
    FyDType other = result[priority];
    if (other && (!type || category(other) > category(type)))
      type = type ? fy_promote_types(type, other) : other;
  }
  return type;
}

// ---- inputs ----------------------------------------------------------------------------------------------------------

void fy_call_cast(FyOpCall *call, int i, FyDType dtype) {
  const FyTensor *t = call->in[i];
  if (!t || t->array.dtype == dtype)
    return;
  call->copied |= (uint8_t)(1u << i);
  call->wanted[i] = (uint8_t)dtype;
}

void fy_call_contiguous(FyOpCall *call, int i) {
  const FyTensor *t = call->in[i];
  if (!t || t->array.contiguous || call->copied >> i & 1u)
    return;
  call->copied |= (uint8_t)(1u << i);
  call->wanted[i] = t->array.dtype;
}

// ---- outputs ---------------------------------------------------------------------------------------------------------

// Whether the target of a call in place can take the result; of another dtype it is converted.
static void check_target(FyOpCall *call, FyDType dtype, int ndim, const int64_t *shape) {
  const FyArray *target = &call->out[0]->array;
  fy_check(fy_has_shape(target, ndim, shape), FY_RUNTIME_ERROR,
           "output with shape %s doesn't match the broadcast shape %s", fy_sizes_string(target->ndim, target->shape),
           fy_sizes_string(ndim, shape));
  if (target->dtype == dtype)
    return;
  fy_check(category(dtype) <= category(target->dtype), FY_RUNTIME_ERROR,
           "result type %s can't be cast to the desired output type %s", fy_dtype_scalar_name(dtype),
           fy_dtype_scalar_name(target->dtype));
  call->aside |= 1;
}

void fy_call_output(FyOpCall *call, int index, FyDType dtype, int ndim, const int64_t *shape) {
  FyOutput *o = &call->output[index];
  o->dtype = o->computed = (uint8_t)dtype;
  o->strided = o->pinned = false;
  o->ndim = ndim;
  if (ndim > FY_MAX_DIM)
    fy_panic("%s: an output of %d dimensions", call->op->name, ndim);
  for (int d = 0; d < ndim; d++)
    o->shape[d] = shape[d];
  if (call->in_place && index == 0)
    check_target(call, dtype, ndim, shape);
}

void fy_call_output_strided(FyOpCall *call, int index, FyDType dtype, int ndim, const int64_t *shape,
                            const int64_t *stride) {
  FyOutput *o = &call->output[index];
  fy_call_output(call, index, dtype, ndim, shape);
  o->strided = true;
  memcpy(o->stride, stride, (size_t)ndim * sizeof *stride);
}

void fy_call_view(FyOpCall *call, int ndim, const int64_t *shape, const int64_t *stride, int64_t offset) {
  FyOutput *o = call->output;
  o->dtype = o->computed = call->in[0]->array.dtype;
  o->ndim = ndim;
  o->offset = offset;
  for (int d = 0; d < ndim; d++) {
    o->shape[d] = shape[d];
    o->stride[d] = stride[d];
  }
}

void fy_call_output_contiguous(FyOpCall *call) {
  if (call->in_place && !call->out[0]->array.contiguous)
    call->aside |= 1;
}

// ---- pointwise ops ---------------------------------------------------------------------------------------------------

// Two inputs of one shape and dtype, as most are: nothing to promote or broadcast.
static bool are_alike(const FyOpCall *call) {
  const FyTensor *a = call->in[0], *b = call->in[call->n_in - 1];
  return call->n_in == 2 && a->array.dtype == b->array.dtype && !a->wrapped_number && !b->wrapped_number &&
         fy_same_shape(&a->array, &b->array);
}

void fy_infer_pointwise(FyOpCall *call, bool to_float, FyDType out_dtype) {
  const FyArray *first = &call->in[0]->array;
  if (are_alike(call) && (!to_float || fy_dtype_is_floating(first->dtype))) {
    fy_call_output(call, 0, out_dtype ? out_dtype : (FyDType)first->dtype, first->ndim, first->shape);
    return;
  }
  FyArray shape;
  shape.ndim = 0;
  FyDType type = fy_result_type(call->n_in, call->in);
  if (to_float && !fy_dtype_is_floating(type))
    type = FY_FLOAT32;
  for (int i = 0; i < call->n_in; i++) {
    int64_t out[FY_MAX_DIM];
    fy_call_cast(call, i, type);
    shape.ndim = (int16_t)fy_broadcast_shapes(&shape, &call->in[i]->array, out);
    memcpy(shape.shape, out, (size_t)shape.ndim * sizeof *out);
  }
  fy_call_output(call, 0, out_dtype ? out_dtype : type, shape.ndim, shape.shape);
}
