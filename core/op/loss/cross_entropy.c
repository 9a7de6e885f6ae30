// SPDX-License-Identifier: MIT
// F.cross_entropy: softmax, logarithm and the choice of the target's class in one op, written out in full.
//
//   x       (N, C)  scores of N samples for C classes; (C) is one sample
//   target  (N)     the right class of each, 0 .. C-1, or ignore_index: the sample does not count
//   p       (N, C)  p[r][i] = e^x[r][i] / sum over k of e^x[r][k]      the softmax of each row
//   loss[r] = -log p[r][target[r]]
//   out     ()      the mean of loss over the samples that count, or the sum; (N) with the reduction "none"
//
// Backward: the derivative of loss[r] by x[r][i] is p[r][i] - 1 at the target and p[r][i] elsewhere, so
//
//   grad_x[r][i] = (p[r][i] - (i == target[r])) * grad_out / count     for the mean
//
// That p is all it needs of x, so p is what the forward keeps, as a second output that the caller never sees.
#include "base/threads.h"
#include "op/elementwise/pointwise_math.h"
#include "op/loss/loss.h"
#include "op/op.h"
#include "op/ops.h"
#include "op/reduction/reduce_cpu.h"

_Static_assert((int)FY_REDUCE_MEAN == FY_LOSS_MEAN && (int)FY_REDUCE_SUM == FY_LOSS_SUM &&
                   (int)FY_REDUCE_NONE == FY_LOSS_NONE,
               "the kernels' names of the reductions");

enum { IN_X, IN_TARGET };
enum { OUT_LOSS, OUT_P, OUT_COUNT };
enum { SAVED_P, SAVED_TARGET, SAVED_COUNT };
enum { GRAD_IN_LOSS, GRAD_IN_P, GRAD_IN_TARGET, GRAD_IN_COUNT }; // inputs of the backward op

// ---- shapes and dtypes -------------------------------------------------------------------------------------------------

static bool is_of_shape(const FyArray *a, const FyArray *b) {
  bool same = a->ndim == b->ndim;
  for (int d = 0; same && d < a->ndim; d++)
    same = a->shape[d] == b->shape[d];
  return same;
}

static void check_shapes(const FyArray *x, const FyArray *target) {
  long long n = x->ndim ? (long long)x->shape[0] : 0, targets = target->ndim ? (long long)target->shape[0] : 0;
  fy_check(x->ndim > 0, FY_INDEX_ERROR, "Dimension out of range (expected to be in range of [-1, 0], but got 1)");
  fy_check(x->ndim == 1 || n == targets, FY_VALUE_ERROR,
           "Expected input batch_size (%lld) to match target batch_size (%lld).", n, targets);
  fy_check(x->ndim <= 2, FY_NOT_IMPLEMENTED_ERROR,
           "cross_entropy: expected input of 1 or 2 dimensions, (C) or (N, C), but got %d; flatten further dimensions "
           "into N first",
           x->ndim);
  fy_check(target->ndim <= 1, FY_RUNTIME_ERROR, "0D or 1D target tensor expected, multi-target not supported");
}

static void check_target(const FyArray *x, const FyArray *target) {
  FyDType dtype = (FyDType)target->dtype;
  fy_check(dtype == FY_INT64 || dtype == FY_UINT8, FY_RUNTIME_ERROR,
           "expected target dtype to be Long or Byte, but got %s", fy_dtype_scalar_name(dtype));
  fy_check(x->ndim == 2 || target->numel == 1, FY_VALUE_ERROR,
           "For 1D input, 1D target must have size 1, but got target size: %lld", (long long)target->numel);
}

// Targets of the same shape would be probabilities, one for each class.
static void check_probabilities(const FyArray *x, const FyArray *target) {
  bool floating = fy_dtype_is_floating((FyDType)target->dtype);
  if (!is_of_shape(x, target))
    return;
  fy_check(floating, FY_RUNTIME_ERROR, "Expected floating point type for target with class probabilities, got %s",
           fy_dtype_scalar_name((FyDType)target->dtype));
  fy_raise(FY_NOT_IMPLEMENTED_ERROR, "cross_entropy: class probabilities as the target are not available");
}

// The target is read as it lies.
static void check_bounds(const void *params, const FyArray *const *in) {
  const int64_t ignore_index = ((const FyLossParams *)params)->ignore_index;
  const FyArray *x = in[IN_X], *target = in[IN_TARGET];
  const int64_t classes = x->shape[x->ndim - 1];
  int64_t step = target->ndim ? target->stride[0] : 0;
  for (int64_t i = 0; i < target->numel; i++) {
    int64_t t = target->dtype == FY_UINT8 ? ((const uint8_t *)target->data)[i * step]
                                          : ((const int64_t *)target->data)[i * step];
    fy_check(t == ignore_index || (t >= 0 && t < classes), FY_INDEX_ERROR, "Target %lld is out of bounds.",
             (long long)t);
  }
}

static void cross_entropy_infer(FyOpCall *call) {
  const FyLossParams *p = call->params;
  const FyArray *x = &call->in[IN_X]->array, *target = &call->in[IN_TARGET]->array;
  FyDType dtype = (FyDType)x->dtype, wide = fy_dtype_of_sums(x->dtype);
  check_probabilities(x, target);
  if (!fy_dtype_is_floating(dtype) && x->numel > 0)
    fy_raise_not_implemented("log_softmax_lastdim_kernel_impl", dtype);
  check_shapes(x, target);
  check_target(x, target);
  if (!fy_dtype_is_floating(dtype))
    fy_raise_not_implemented("nll_loss_out_frame", dtype);
  fy_call_own_device(call, IN_X);
  fy_call_own_device(call, IN_TARGET);
  fy_call_cast(call, IN_TARGET, FY_INT64);
  fy_call_contiguous(call, IN_X);
  fy_call_contiguous(call, IN_TARGET);
  fy_call_output(call, OUT_LOSS, dtype, p->reduction == FY_LOSS_NONE ? target->ndim : 0, target->shape);
  fy_call_output(call, OUT_P, dtype, x->ndim, x->shape);
  fy_call_output(call, OUT_COUNT, wide, 0, NULL);
}

// ---- the kernels for the CPU -------------------------------------------------------------------------------------------
// Their twins for CUDA are in loss.cu.

typedef struct Rows {
  int64_t n, classes;    // N and C
  const void *x;         // (N, C)
  const int64_t *target; // (N)
  int64_t ignore_index;
  int reduction;
  void *p;      // (N, C): written by the forward, read by the backward
  void *losses; // (N): of the forward
  const void *grad, *count;
  void *grad_x; // (N, C): of the backward
} Rows;

// Rows of at most NARROW classes are taken LANES at a time. A thread's part has about PARALLEL_GRAIN elements.
enum { NARROW = 16, LANES = 16, PARALLEL_GRAIN = 8192 };

#define T float
#define S f32
#include "op/loss/cross_entropy_rows.h"

#define T double
#define S f64
#include "op/loss/cross_entropy_rows.h"

static Rows rows_of(const FyLaunch *launch, const FyArray *x, const FyArray *target) {
  const FyLossParams *p = launch->params;
  return (Rows){
      .n = x->ndim == 2 ? x->shape[0] : 1,
      .classes = x->shape[x->ndim - 1],
      .target = target->data,
      .ignore_index = p->ignore_index,
      .reduction = p->reduction,
  };
}

static int64_t grain_of(const Rows *rows) {
  return PARALLEL_GRAIN / (rows->classes + 1) + 1;
}

static int fy_cpu_cross_entropy(FyLaunch *launch) {
  enum { FEW = 64 };
  double few[FEW]; // the losses of few rows need no workspace
  const FyArray *x = launch->in[IN_X];
  void *out = launch->out[OUT_LOSS]->data, *count = launch->out[OUT_COUNT]->data;
  bool is_float = x->dtype == FY_FLOAT32;
  Rows rows = rows_of(launch, x, launch->in[IN_TARGET]);
  rows.x = x->data;
  rows.p = launch->out[OUT_P]->data;
  rows.losses = rows.reduction == FY_LOSS_NONE ? out : few;
  if (rows.reduction != FY_LOSS_NONE && rows.n > FEW)
    rows.losses = launch->workspace(launch, (size_t)rows.n * sizeof(double));
  if (!rows.losses && rows.n > 0)
    return FY_LAUNCH_NO_MEMORY;
  fy_parallel_for(rows.n, grain_of(&rows), is_float ? forward_f32 : forward_f64, &rows);
  if (is_float)
    reduce_f32(&rows, out, count);
  else
    reduce_f64(&rows, out, count);
  return FY_LAUNCH_OK;
}

static int fy_cpu_cross_entropy_backward(FyLaunch *launch) {
  const FyArray *p = launch->in[GRAD_IN_P];
  Rows rows = rows_of(launch, p, launch->in[GRAD_IN_TARGET]);
  rows.p = p->data;
  rows.grad = launch->in[GRAD_IN_LOSS]->data;
  rows.count = launch->in[GRAD_IN_COUNT]->data;
  rows.grad_x = launch->out[0]->data;
  fy_parallel_for(rows.n, grain_of(&rows), p->dtype == FY_FLOAT32 ? backward_f32 : backward_f64, &rows);
  return FY_LAUNCH_OK;
}

// ---- the gradient ------------------------------------------------------------------------------------------------------

static void cross_entropy_save(FyOpCall *call, FyNode *node) {
  fy_save_output(node, call, OUT_P);
  fy_save_input(node, call, IN_TARGET);
  fy_save_output(node, call, OUT_COUNT);
}

static void cross_entropy_backward(FyNode *node, FyTensor *const *grad_out, FyTensor **grad_in) {
  FyTensor *p = fy_saved(node, SAVED_P), *target = fy_saved(node, SAVED_TARGET), *count = fy_saved(node, SAVED_COUNT);
  if (grad_out[OUT_LOSS])
    grad_in[IN_X] = fy_run(&fy_op_cross_entropy_backward, fy_node_params(node, FyLossParams),
                           FY_INPUTS(grad_out[OUT_LOSS], p, target, count));
}

static void cross_entropy_backward_infer(FyOpCall *call) {
  const FyArray *p = &call->in[GRAD_IN_P]->array;
  fy_call_cast(call, GRAD_IN_LOSS, (FyDType)p->dtype);
  fy_call_cast(call, GRAD_IN_TARGET, FY_INT64);
  fy_call_contiguous(call, GRAD_IN_LOSS);
  fy_call_contiguous(call, GRAD_IN_TARGET);
  fy_call_output(call, 0, (FyDType)p->dtype, p->ndim, p->shape);
}

// ---- records and the public function -----------------------------------------------------------------------------------

const FyOp fy_op_cross_entropy = {
    .name = "cross_entropy",
    .grad_name = "NllLossBackward0",
    .flags = FY_OP_CPU_HALF_AS_FLOAT,
    .autocast = FY_AUTOCAST_EVERYWHERE(FY_AUTOCAST_FLOAT32),
    .infer = cross_entropy_infer,
    .check = check_bounds,
    .cpu = fy_cpu_cross_entropy,
    .save = cross_entropy_save,
    .backward = cross_entropy_backward,
    .params_size = sizeof(FyLossParams),
    .id = FY_OP_ID_cross_entropy,
};

const FyOp fy_op_cross_entropy_backward = {
    .name = "cross_entropy_backward",
    .flags = FY_OP_CPU_HALF_AS_FLOAT | FY_OP_NO_GRAD,
    .infer = cross_entropy_backward_infer,
    .cpu = fy_cpu_cross_entropy_backward,
    .params_size = sizeof(FyLossParams),
    .id = FY_OP_ID_cross_entropy_backward,
};

FyTensor *fy_cross_entropy_with(FyTensor *input, FyCrossEntropy options) {
  fy_check(options.target != NULL, FY_TYPE_ERROR, "cross_entropy() missing 1 required positional argument: 'target'");
  FyLossParams p = {options.reduction, options.set_ignore_index ? options.ignore_index : -100};
  FyTensor *out[3];
  fy_run_multi(&fy_op_cross_entropy, &p, FY_INPUTS(input, options.target), 3, out);
  fy_drop(out[OUT_P]);
  fy_drop(out[OUT_COUNT]);
  return out[OUT_LOSS];
}
