// SPDX-License-Identifier: MIT
// F.mse_loss: the mean, or the sum, of (x - target)^2.
#include "base/threads.h"
#include "op/loss/loss.h"
#include "op/op.h"
#include "op/ops.h"
#include "op/reduction/reduce_cpu.h"

enum { CHUNK = 16384, PARALLEL_GRAIN = 8192 };

// ---- the kernels for the CPU: chunks are summed in order, so the bits do not depend on the number of threads ------------

typedef struct Pairs {
  int64_t n;
  const void *x, *target, *grad;
  int reduction;
  double *sums; // one per chunk
  void *out;
} Pairs;

#define DEFINE_MSE(T, S)                                                                                               \
  static void squares_##S(int64_t begin, int64_t end, void *context) {                                                 \
    const Pairs *pairs = context;                                                                                      \
    const T *restrict x = pairs->x, *restrict target = pairs->target;                                                  \
    T *restrict out = pairs->out;                                                                                      \
    for (int64_t i = begin; i < end; i++)                                                                              \
      out[i] = (x[i] - target[i]) * (x[i] - target[i]);                                                                \
  }                                                                                                                    \
  static void chunk_sums_##S(int64_t begin, int64_t end, void *context) {                                              \
    const Pairs *pairs = context;                                                                                      \
    for (int64_t c = begin; c < end; c++) {                                                                            \
      int64_t from = c * CHUNK, n = pairs->n - from < CHUNK ? pairs->n - from : CHUNK;                                 \
      pairs->sums[c] = fy_squared_distance_##T((const T *)pairs->x + from, (const T *)pairs->target + from, n);        \
    }                                                                                                                  \
  }                                                                                                                    \
  static void differences_##S(int64_t begin, int64_t end, void *context) {                                             \
    const Pairs *pairs = context;                                                                                      \
    const T *restrict x = pairs->x, *restrict target = pairs->target, *grad = pairs->grad;                             \
    T *restrict out = pairs->out;                                                                                      \
    if (pairs->reduction == FY_LOSS_NONE) {                                                                            \
      for (int64_t i = begin; i < end; i++)                                                                            \
        out[i] = 2 * (x[i] - target[i]) * grad[i];                                                                     \
      return;                                                                                                          \
    }                                                                                                                  \
    T scale = pairs->reduction == FY_LOSS_MEAN ? 2 * grad[0] / (T)pairs->n : 2 * grad[0];                              \
    for (int64_t i = begin; i < end; i++)                                                                              \
      out[i] = (x[i] - target[i]) * scale;                                                                             \
  }
DEFINE_MSE(float, f32)
DEFINE_MSE(double, f64)

static int fy_cpu_mse_loss(FyLaunch *launch) {
  const FyLossParams *p = launch->params;
  const FyArray *x = launch->in[0];
  bool is_float = x->dtype == FY_FLOAT32;
  Pairs pairs = {.n = x->numel, .x = x->data, .target = launch->in[1]->data, .out = launch->out[0]->data};
  if (!is_float && x->dtype != FY_FLOAT64)
    return FY_LAUNCH_NO_KERNEL;
  if (p->reduction == FY_LOSS_NONE) {
    fy_parallel_for(pairs.n, PARALLEL_GRAIN, is_float ? squares_f32 : squares_f64, &pairs);
    return FY_LAUNCH_OK;
  }
  int64_t chunks = (pairs.n + CHUNK - 1) / CHUNK;
  double one, sum = 0;
  pairs.sums = chunks > 1 ? launch->workspace(launch, (size_t)chunks * sizeof(double)) : &one;
  if (!pairs.sums)
    return FY_LAUNCH_NO_MEMORY;
  fy_parallel_for(chunks, 1, is_float ? chunk_sums_f32 : chunk_sums_f64, &pairs);
  for (int64_t c = 0; c < chunks; c++)
    sum += pairs.sums[c];
  if (p->reduction == FY_LOSS_MEAN)
    sum /= (double)pairs.n;
  if (is_float)
    *(float *)pairs.out = (float)sum;
  else
    *(double *)pairs.out = sum;
  return FY_LAUNCH_OK;
}

static int fy_cpu_mse_loss_backward(FyLaunch *launch) {
  const FyLossParams *p = launch->params;
  const FyArray *x = launch->in[1];
  Pairs pairs = {.n = x->numel,
                 .x = x->data,
                 .target = launch->in[2]->data,
                 .grad = launch->in[0]->data,
                 .reduction = p->reduction,
                 .out = launch->out[0]->data};
  if (x->dtype != FY_FLOAT32 && x->dtype != FY_FLOAT64)
    return FY_LAUNCH_NO_KERNEL;
  fy_parallel_for(pairs.n, PARALLEL_GRAIN, x->dtype == FY_FLOAT32 ? differences_f32 : differences_f64, &pairs);
  return FY_LAUNCH_OK;
}

// ---- shapes and gradients ----------------------------------------------------------------------------------------------

static void infer_mse(FyOpCall *call) {
  const FyLossParams *p = call->params;
  FyDType dtype = fy_result_type(2, call->in);
  if (!fy_dtype_is_floating(dtype))
    fy_raise_not_implemented(call->device.type == FY_CUDA ? "mse_cuda" : "mse_cpu", dtype);
  for (int i = 0; i < 2; i++) {
    fy_call_cast(call, i, dtype);
    fy_call_contiguous(call, i);
  }
  const FyArray *x = &call->in[0]->array;
  fy_call_output(call, 0, dtype, p->reduction == FY_LOSS_NONE ? x->ndim : 0, x->shape);
}

static void infer_mse_backward(FyOpCall *call) {
  FyDType dtype = fy_result_type(2, call->in + 1);
  for (int i = 0; i < call->n_in; i++) {
    fy_call_cast(call, i, dtype);
    fy_call_contiguous(call, i);
  }
  fy_call_output(call, 0, dtype, call->in[1]->array.ndim, call->in[1]->array.shape);
}

static void save_mse(FyOpCall *call, FyNode *node) {
  fy_save_input(node, call, 0);
  fy_save_input(node, call, 1);
}

static void backward_mse(FyNode *node, FyTensor *const *grad_out, FyTensor **grad_in) {
  FyTensor *grad = fy_run(&fy_op_mse_loss_backward, fy_node_params(node, FyLossParams),
                          FY_INPUTS(grad_out[0], fy_saved(node, 0), fy_saved(node, 1)));
  if (fy_node_needs(node, 0))
    grad_in[0] = grad;
  if (fy_node_needs(node, 1))
    grad_in[1] = fy_neg(grad);
}

// ---- records and the public function -----------------------------------------------------------------------------------

const FyOp fy_op_mse_loss = {
    .name = "mse_loss",
    .grad_name = "MseLossBackward0",
    .flags = FY_OP_CPU_HALF_AS_FLOAT,
    .autocast = FY_AUTOCAST_EVERYWHERE(FY_AUTOCAST_FLOAT32),
    .infer = infer_mse,
    .cpu = fy_cpu_mse_loss,
    .save = save_mse,
    .backward = backward_mse,
    .params_size = sizeof(FyLossParams),
    .id = FY_OP_ID_mse_loss,
};

const FyOp fy_op_mse_loss_backward = {
    .name = "mse_loss_backward",
    .flags = FY_OP_CPU_HALF_AS_FLOAT | FY_OP_NO_GRAD,
    .infer = infer_mse_backward,
    .cpu = fy_cpu_mse_loss_backward,
    .params_size = sizeof(FyLossParams),
    .id = FY_OP_ID_mse_loss_backward,
};

FyTensor *fy_mse_loss_with(FyTensor *input, FyMseLoss options) {
  FyTensor *target = options.target;
  fy_check(target != NULL, FY_TYPE_ERROR, "mse_loss() missing 1 required positional argument: 'target'");
  FyLossParams p = {.reduction = options.reduction};
  FySize shape;
  shape.ndim = fy_broadcast_shapes(&input->array, &target->array, shape.dim);
  bool same = input->array.ndim == target->array.ndim;
  for (int d = 0; same && d < shape.ndim; d++)
    same = input->array.shape[d] == target->array.shape[d];
  if (!same) {
    static bool warned;
    fy_warn_once(
        &warned,
        "Using a target size (%s) that is different to the input size (%s). This will likely lead to incorrect "
        "results due to broadcasting. Please ensure they have the same size.",
        fy_shape_string(target), fy_shape_string(input));
  }
  // A number may come from the CPU to a GPU's tensor, but a kernel reads its own device only.
  if (input->array.host_scalar && target->device.type == FY_CUDA)
    input = fy_to(input, target->device);
  if (target->array.host_scalar && input->device.type == FY_CUDA)
    target = fy_to(target, input->device);
  if (!same) {
    input = fy_expand(input, shape);
    target = fy_expand(target, shape);
  }
  return fy_run(&fy_op_mse_loss, &p, FY_INPUTS(input, target));
}
