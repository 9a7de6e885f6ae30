// SPDX-License-Identifier: MIT
// F.batch_norm, written out in full. x is (N, C) or (N, C, H, W): N images of C channels of A = H * W values, or of 1.
//
//   mean[c] = sum of channel c of all images / (N * A)                        (C)
//   var[c]  = sum of (x - mean[c])^2 over the same / (N * A)                  (C)
//   xhat    = (x - mean[c]) * invstd[c]        invstd = 1 / sqrt(var + eps)   as x
//   out     = xhat * weight[c] + bias[c]                                      as x
//
// In evaluation, mean and var are the running ones; in training those follow the batch: running = (1 - momentum) * running +
// momentum * batch, with var * n / (n - 1), n = N * A, in place of var.
//
// Backward, with grad as out and sums over a channel's n values:
//
//   grad_weight[c] = sum of grad * xhat        grad_bias[c] = sum of grad                                          (C)
//   grad_x = (grad - grad_bias[c] / n - xhat * grad_weight[c] / n) * invstd[c] * weight[c]                         as x
//
// The two terms taken away are there because mean and var depend on x; running ones do not, and in evaluation grad_x is
// grad * invstd[c] * weight[c]. Kept for it: x, weight, and the mean and invstd that were used.
#include "op/normalization/norm.h"
#include "op/normalization/norm_cpu.h"
#include "base/state.h"
#include "op/op.h"
#include "op/ops.h"

// ---- checks ------------------------------------------------------------------------------------------------------------

static void check_elements(const FyTensor *t, const char *name, int64_t channels) {
  if (t)
    fy_check(t->array.numel == channels, FY_RUNTIME_ERROR, "%s should contain %lld elements not %lld", name,
             (long long)channels, (long long)t->array.numel);
}

// Parameters and statistics have x's dtype, or float32 beside a half type.
static void check_dtype(const FyOpCall *call, const FyTensor *t) {
  const FyTensor *x = call->in[FY_NORM_X];
  if (!t || t->array.dtype == x->array.dtype || t->array.dtype == fy_dtype_of_sums(x->array.dtype))
    return;
  const char *wanted = fy_dtype_scalar_name(x->array.dtype), *found = fy_dtype_scalar_name(t->array.dtype);
  fy_check(call->device.type == FY_CPU, FY_RUNTIME_ERROR, "expected scalar type %s but found %s", wanted, found);
  fy_check(x->array.dtype == FY_FLOAT32, FY_RUNTIME_ERROR, "mixed dtype (CPU): all inputs must share same datatype.");
  fy_raise(FY_RUNTIME_ERROR, "mixed dtype (CPU): expect parameter to have scalar type of Float");
}

// Running statistics are updated without autograd: one that requires grad is a mistake.
static void check_no_grad(const FyTensor *t, const char *name) {
  fy_check(
      !t || !t->requires_grad || !fy_grad_enabled, FY_RUNTIME_ERROR,
      "The function 'native_batch_norm' is not differentiable with respect to argument '%s'. This input cannot have "
      "requires_grad True.",
      name);
}

static void check_input(const FyTensor *x, const FyBatchNormParams *p) {
  FyNormShape s = fy_norm_shape(&x->array);
  fy_check(x->array.ndim >= 2, FY_VALUE_ERROR,
           "batch_norm: expected an input (N, C, ...) of at least 2 dimensions, but got %s", fy_shape_string(x));
  if (!fy_dtype_is_floating(x->array.dtype) && x->array.numel > 0)
    fy_raise_not_implemented("batch_norm", x->array.dtype);
  fy_check(!p->training || s.images * s.area != 1, FY_VALUE_ERROR,
           "Expected more than 1 value per channel when training, got input size %s", fy_shape_string(x));
}

// ---- shapes and dtypes -------------------------------------------------------------------------------------------------

static void batch_norm_infer(FyOpCall *call) {
  static const char *const names[] = {"input", "weight", "bias", "running_mean", "running_var"};
  const FyBatchNormParams *p = call->params;
  const FyTensor *x = call->in[FY_NORM_X], *mean = call->in[FY_NORM_RUNNING_MEAN], *var = call->in[FY_NORM_RUNNING_VAR];
  int64_t channels = x->array.ndim < 2 ? 0 : x->array.shape[1];
  FyDType dtype = fy_dtype_of_sums(x->array.dtype);
  if (x->array.ndim >= 2)
    check_input(x, p);
  for (int i = FY_NORM_WEIGHT; i <= FY_NORM_RUNNING_VAR; i++) {
    fy_check(call->in[i] || i < FY_NORM_RUNNING_MEAN || p->training, FY_RUNTIME_ERROR,
             "%s must be defined in evaluation mode", names[i]);
    check_elements(call->in[i], names[i], channels);
  }
  check_input(x, p);
  fy_check(!mean == !var, FY_VALUE_ERROR, "running_mean and running_var must either both be None or neither be None");
  for (int i = FY_NORM_WEIGHT; i <= FY_NORM_RUNNING_VAR; i++) {
    fy_call_own_device(call, i);
    check_dtype(call, call->in[i]);
    if (i >= FY_NORM_RUNNING_MEAN)
      check_no_grad(call->in[i], names[i]);
    fy_call_cast(call, i, dtype); // of what training updates it is the dtype already: fy_batch_norm saw to it
    fy_call_contiguous(call, i);
  }
  fy_call_contiguous(call, FY_NORM_X);
  fy_call_output(call, FY_NORM_OUT, x->array.dtype, x->array.ndim, x->array.shape);
  fy_call_output(call, FY_NORM_MEAN, dtype, 1, &channels);
  fy_call_output(call, FY_NORM_INVSTD, dtype, 1, &channels);
}

// ---- the gradient ------------------------------------------------------------------------------------------------------

enum { SAVED_X, SAVED_WEIGHT, SAVED_MEAN, SAVED_INVSTD, SAVED_RUNNING_MEAN, SAVED_RUNNING_VAR };

// The running statistics as PyTorch keeps them: a change of them in place, other than by this op, is an error.
static void batch_norm_save(FyOpCall *call, FyNode *node) {
  fy_save_input(node, call, FY_NORM_X);
  fy_save_input(node, call, FY_NORM_WEIGHT);
  fy_save_output(node, call, FY_NORM_MEAN);
  fy_save_output(node, call, FY_NORM_INVSTD);
  fy_save_input(node, call, FY_NORM_RUNNING_MEAN);
  fy_save_input(node, call, FY_NORM_RUNNING_VAR);
}

static void batch_norm_backward(FyNode *node, FyTensor *const *grad_out, FyTensor **grad_in) {
  FyTensor *grads[3], *x = fy_saved(node, SAVED_X), *weight = fy_saved(node, SAVED_WEIGHT);
  FyTensor *mean = fy_saved(node, SAVED_MEAN), *invstd = fy_saved(node, SAVED_INVSTD);
  fy_saved(node, SAVED_RUNNING_MEAN); // raises if it was changed
  fy_saved(node, SAVED_RUNNING_VAR);
  fy_run_multi(&fy_op_batch_norm_backward, fy_node_params(node, FyBatchNormParams),
               FY_INPUTS(grad_out[0], x, mean, invstd, weight), 3, grads);
  for (int i = FY_NORM_X; i <= FY_NORM_BIAS; i++)
    grad_in[i] = fy_node_needs(node, i) ? grads[i] : NULL;
}

static bool batch_norm_in_bfloat16(const FyOpCall *call) {
  return call->in[FY_NORM_X]->array.dtype == FY_BFLOAT16;
}

// ---- cost --------------------------------------------------------------------------------------------------------------

// The sums over each channel are a block's; what uses them is a second kernel, which reads the same again.
static void channel_sums(const FyArray *x, int arrays, FyOpCost *cost) {
  cost->blocks = (double)fy_norm_shape(x).channels;
  cost->before = arrays * (double)x->numel * (double)fy_dtype_size(x->dtype);
}

static void batch_norm_cost(const FyLaunch *launch, FyOpCost *cost) {
  if (((const FyBatchNormParams *)launch->params)->training)
    channel_sums(launch->in[FY_NORM_X], 1, cost);
}

static void batch_norm_backward_cost(const FyLaunch *launch, FyOpCost *cost) {
  channel_sums(launch->in[FY_NORM_GRAD_X], 2, cost);
}

// ---- records and the public function -----------------------------------------------------------------------------------

const FyOp fy_op_batch_norm = {
    .name = "batch_norm",
    .grad_name = "NativeBatchNormBackward0",
    .flags = FY_OP_CPU_HALF_AS_FLOAT,
    .infer = batch_norm_infer,
    .cpu = fy_cpu_batch_norm,
    .cpu_bfloat16 = batch_norm_in_bfloat16,
    .save = batch_norm_save,
    .backward = batch_norm_backward,
    .cost = batch_norm_cost,
    .params_size = sizeof(FyBatchNormParams),
    .id = FY_OP_ID_batch_norm,
};

// What the kernel updates in place: `running` itself where it can, else a copy in the statistics' dtype.
static FyTensor *updatable(const FyTensor *x, FyTensor *running) {
  if (!running || (running->array.contiguous && (FyDType)running->array.dtype == fy_dtype_of_sums(x->array.dtype)))
    return running;
  return fy_contiguous(fy_to_dtype(fy_detach(running), fy_dtype_of_sums(x->array.dtype)));
}

// As in PyTorch the update is no change that the version counts: statistics may follow several batches before one backward.
static void store_update(FyTensor *running, FyTensor *updated) {
  if (!running || running == updated)
    return;
  uint32_t version = fy_version_of(running);
  fy_copy_(running, updated);
  atomic_store_explicit(&running->storage->version, version, memory_order_relaxed);
}

FyTensor *fy_batch_norm(FyTensor *x, FyTensor *running_mean, FyTensor *running_var, FyTensor *weight, FyTensor *bias,
                        bool training, double momentum, double eps) {
  FyBatchNormParams p = {.training = training, .momentum = momentum, .eps = eps};
  FyTensor *mean = training ? updatable(x, running_mean) : running_mean, *out[3];
  FyTensor *var = training ? updatable(x, running_var) : running_var;
  fy_run_multi(&fy_op_batch_norm, &p, FY_INPUTS(x, weight, bias, mean, var), 3, out);
  fy_drop(out[FY_NORM_MEAN]);
  fy_drop(out[FY_NORM_INVSTD]);
  if (training) {
    store_update(running_mean, mean);
    store_update(running_var, var);
  }
  return out[FY_NORM_OUT];
}

// ---- backward ----------------------------------------------------------------------------------------------------------

static void batch_norm_backward_infer(FyOpCall *call) {
  const FyTensor *x = call->in[FY_NORM_GRAD_X];
  FyDType dtype = fy_dtype_of_sums(x->array.dtype);
  int64_t channels = x->array.shape[1];
  fy_call_cast(call, FY_NORM_GRAD, x->array.dtype);
  fy_call_contiguous(call, FY_NORM_GRAD);
  fy_call_contiguous(call, FY_NORM_GRAD_X);
  fy_call_cast(call, FY_NORM_GRAD_WEIGHT, dtype);
  fy_call_contiguous(call, FY_NORM_GRAD_WEIGHT);
  fy_call_output(call, 0, x->array.dtype, x->array.ndim, x->array.shape);
  fy_call_output(call, 1, dtype, 1, &channels);
  fy_call_output(call, 2, dtype, 1, &channels);
}

static bool backward_in_bfloat16(const FyOpCall *call) {
  return call->in[FY_NORM_GRAD_X]->array.dtype == FY_BFLOAT16;
}

const FyOp fy_op_batch_norm_backward = {
    .name = "batch_norm_backward",
    .flags = FY_OP_CPU_HALF_AS_FLOAT | FY_OP_NO_GRAD,
    .infer = batch_norm_backward_infer,
    .cpu = fy_cpu_batch_norm_backward,
    .cpu_bfloat16 = backward_in_bfloat16,
    .cost = batch_norm_backward_cost,
    .params_size = sizeof(FyBatchNormParams),
    .id = FY_OP_ID_batch_norm_backward,
};
