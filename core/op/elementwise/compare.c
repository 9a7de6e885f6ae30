// SPDX-License-Identifier: MIT
// Comparisons, isfinite and where.
#include "op/op.h"
#include "op/ops.h"
#include "op/elementwise/pointwise_loops.h"
#include <string.h>

static void infer_compare(FyOpCall *call) {
  fy_infer_pointwise(call, false, FY_BOOL);
}

#define COMPARISON(OP)                                                                                                 \
  FY_MATH_ALL(FY_COMPARE_LOOPS_, OP)                                                                                   \
  FY_KERNEL(binary, OP, FY_LOOPS_OF_ALL, FY_GRAIN_CHEAP)                                                               \
  const FyOp fy_op_##OP = {                                                                                            \
      .name = #OP,                                                                                                     \
      .flags = FY_OP_CPU_HALF_AS_FLOAT | FY_OP_NO_GRAD,                                                                \
      .infer = infer_compare,                                                                                          \
      .cpu = fy_cpu_##OP,                                                                                              \
      .id = FY_OP_ID_##OP,                                                                                             \
  };

COMPARISON(eq)
COMPARISON(ne)
COMPARISON(lt)
COMPARISON(le)
COMPARISON(gt)
COMPARISON(ge)

FyTensor *fy_eq(FyTensor *a, FyTensor *b) {
  return fy_run(&fy_op_eq, NULL, FY_INPUTS(a, b));
}
FyTensor *fy_ne(FyTensor *a, FyTensor *b) {
  return fy_run(&fy_op_ne, NULL, FY_INPUTS(a, b));
}
FyTensor *fy_lt(FyTensor *a, FyTensor *b) {
  return fy_run(&fy_op_lt, NULL, FY_INPUTS(a, b));
}
FyTensor *fy_le(FyTensor *a, FyTensor *b) {
  return fy_run(&fy_op_le, NULL, FY_INPUTS(a, b));
}
FyTensor *fy_gt(FyTensor *a, FyTensor *b) {
  return fy_run(&fy_op_gt, NULL, FY_INPUTS(a, b));
}
FyTensor *fy_ge(FyTensor *a, FyTensor *b) {
  return fy_run(&fy_op_ge, NULL, FY_INPUTS(a, b));
}

// ---- isfinite ----------------------------------------------------------------------------------------------------------

FY_UNARY_LOOP(loop_isfinite_f32, bool, float, fy_isfinite_f32(x))
FY_UNARY_LOOP(loop_isfinite_f64, bool, double, fy_isfinite_f64(x))

// Integers are finite all of them.
static void loop_all_true(char *const *data, const int64_t *stride, int64_t n, const void *context) {
  bool *out = (bool *)(void *)data[0];
  (void)context;
  for (int64_t i = 0; i < n; i++)
    out[i * stride[0]] = true;
}

static int fy_cpu_isfinite(FyLaunch *l) {
  static FyLoop *const loops[FY_DTYPE_COUNT] = {
      FY_LOOPS_OF_FLOATS(isfinite), [FY_INT64] = loop_all_true, [FY_INT32] = loop_all_true,
      [FY_UINT8] = loop_all_true,   [FY_BOOL] = loop_all_true,
  };
  return fy_pointwise_unary(l, loops, FY_GRAIN_CHEAP);
}

static void infer_isfinite(FyOpCall *call) {
  infer_compare(call);
  fy_flatten_on_cuda(call);
}

const FyOp fy_op_isfinite = {
    .name = "isfinite",
    .flags = FY_OP_CPU_HALF_AS_FLOAT | FY_OP_NO_GRAD,
    .infer = infer_isfinite,
    .cpu = fy_cpu_isfinite,
    .id = FY_OP_ID_isfinite,
};

FyTensor *fy_isfinite(FyTensor *a) {
  return fy_run(&fy_op_isfinite, NULL, FY_INPUTS(a));
}

// ---- where -------------------------------------------------------------------------------------------------------------
// Values are moved, never computed with: one loop per element size.

#define WHERE_LOOP(NAME, T)                                                                                            \
  static void NAME(char *const *data, const int64_t *stride, int64_t n, const void *context) {                         \
    T *out = (T *)(void *)data[0];                                                                                     \
    const uint8_t *condition = (const uint8_t *)(const void *)data[1];                                                 \
    const T *a = (const T *)(const void *)data[2], *b = (const T *)(const void *)data[3];                              \
    (void)context;                                                                                                     \
    if (stride[0] == 1 && stride[1] == 1 && stride[2] == 1 && stride[3] == 1) {                                        \
      FY_SIMD for (int64_t i = 0; i < n; i++) {                                                                        \
        const T x = a[i], y = b[i]; /* both, or the loads would hang on the condition one by one */                    \
        out[i] = condition[i] ? x : y;                                                                                 \
      }                                                                                                                \
    } else if (stride[0] == 1 && stride[1] == 1 && stride[2] == 1 && stride[3] == 0) {                                 \
      const T y = *b;                                                                                                  \
      FY_SIMD for (int64_t i = 0; i < n; i++) {                                                                        \
        const T x = a[i];                                                                                              \
        out[i] = condition[i] ? x : y;                                                                                 \
      }                                                                                                                \
    } else {                                                                                                           \
      for (int64_t i = 0; i < n; i++)                                                                                  \
        out[i * stride[0]] = condition[i * stride[1]] ? a[i * stride[2]] : b[i * stride[3]];                           \
    }                                                                                                                  \
  }
WHERE_LOOP(where_1, uint8_t)
WHERE_LOOP(where_2, uint16_t)
WHERE_LOOP(where_4, uint32_t)
WHERE_LOOP(where_8, uint64_t)

static int fy_cpu_where(FyLaunch *l) {
  const size_t size = fy_dtype_size((FyDType)l->out[0]->dtype);
  FyLoop *loop = size == 1 ? where_1 : size == 2 ? where_2 : size == 4 ? where_4 : where_8;
  fy_iter_pointwise(l->out[0], 3, l->in, FY_GRAIN_CHEAP, loop, NULL);
  return FY_LAUNCH_OK;
}

static void infer_where(FyOpCall *call) {
  FyArray common = {.ndim = 0};
  const FyDType dtype = fy_result_type(2, call->in + 1);
  fy_check(call->in[0]->array.dtype == FY_BOOL, FY_RUNTIME_ERROR,
           "where expected condition to be a boolean tensor, but got a tensor with dtype %s",
           fy_dtype_scalar_name((FyDType)call->in[0]->array.dtype));
  fy_call_cast(call, 1, dtype);
  fy_call_cast(call, 2, dtype);
  for (int i = 0; i < 3; i++) {
    int64_t shape[FY_MAX_DIM];
    common.ndim = (int16_t)fy_broadcast_shapes(&common, &call->in[i]->array, shape);
    memcpy(common.shape, shape, (size_t)common.ndim * sizeof *shape);
  }
  fy_call_output(call, 0, dtype, common.ndim, common.shape);
}

static void where_backward(FyNode *node, FyTensor *const *grad_out, FyTensor **grad_in) {
  FyTensor *condition = fy_saved(node, 0), *zero = fy_number(0);
  if (fy_node_needs(node, 1))
    grad_in[1] = fy_where(condition, grad_out[0], zero);
  if (fy_node_needs(node, 2))
    grad_in[2] = fy_where(condition, zero, grad_out[0]);
}

const FyOp fy_op_where = {
    .name = "where",
    .grad_name = "WhereBackward0",
    .infer = infer_where,
    .cpu = fy_cpu_where,
    .save = fy_save_first_input,
    .backward = where_backward,
    .id = FY_OP_ID_where,
};

FyTensor *fy_where(FyTensor *condition, FyTensor *a, FyTensor *b) {
  return fy_run(&fy_op_where, NULL, FY_INPUTS(condition, a, b));
}
