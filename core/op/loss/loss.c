// cross_entropy (log_softmax and nll_loss in one) and mse_loss.
#include "op/loss/loss.h"
#include "op/op.h"
#include "op/ops.h"

int fy_cpu_cross_entropy(FyLaunch *launch);
int fy_cpu_cross_entropy_backward(FyLaunch *launch);
int fy_cpu_mse_loss(FyLaunch *launch);
int fy_cpu_mse_loss_backward(FyLaunch *launch);

_Static_assert((int)FY_REDUCE_MEAN == FY_LOSS_MEAN && (int)FY_REDUCE_SUM == FY_LOSS_SUM &&
                   (int)FY_REDUCE_NONE == FY_LOSS_NONE,
               "the kernels' names of the reductions");

// ---- cross_entropy -----------------------------------------------------------------------------------------------------

static void check_classes(const FyArray *x, const FyArray *target) {
  fy_check(x->ndim == 1 || x->ndim == 2, FY_RUNTIME_ERROR,
           "cross_entropy: expected input of 1 or 2 dimensions, (C) or (N, C), but got %d; flatten further dimensions "
           "into N first",
           x->ndim);
  if (!fy_dtype_is_floating((FyDType)x->dtype))
    fy_raise_not_implemented("log_softmax_lastdim_kernel_impl", (FyDType)x->dtype);
  int64_t n = x->ndim == 2 ? x->shape[0] : 1, targets = target->ndim ? target->shape[0] : 1;
  fy_check(target->ndim <= 1 && (x->ndim == 1 || target->ndim == 1), FY_RUNTIME_ERROR,
           "0D or 1D target tensor expected, multi-target not supported");
  fy_check(n == targets, FY_VALUE_ERROR, "Expected input batch_size (%lld) to match target batch_size (%lld).",
           (long long)n, (long long)targets);
  fy_check(target->dtype == FY_INT64, FY_RUNTIME_ERROR, "expected scalar type Long but found %s",
           fy_dtype_scalar_name((FyDType)target->dtype));
}

// A GPU cannot be asked without waiting for it: there a row with such a target has the loss NaN.
static void check_bounds(const FyArray *target, int64_t classes, int64_t ignore_index) {
  const int64_t *t = target->data, step = target->ndim ? target->stride[0] : 1;
  for (int64_t i = 0; i < target->numel; i++, t += step)
    fy_check(*t == ignore_index || (*t >= 0 && *t < classes), FY_INDEX_ERROR, "Target %lld is out of bounds.",
             (long long)*t);
}

static void infer_cross_entropy(FyCall *call) {
  const FyLossParams *p = call->params;
  const FyArray *x = &call->in[0]->array, *target = &call->in[1]->array;
  FyDType dtype = (FyDType)x->dtype;
  check_classes(x, target);
  for (int i = 0; i < 2; i++)
    fy_call_own_device(call, i);
  fy_call_contiguous(call, 0);
  fy_call_contiguous(call, 1);
  if (call->device.type == FY_CPU)
    check_bounds(&call->in[1]->array, x->shape[x->ndim - 1], p->ignore_index);
  FyDType stats = dtype == FY_FLOAT64 ? FY_FLOAT64 : FY_FLOAT32;
  int64_t n = x->ndim == 2 ? x->shape[0] : 1;
  fy_call_output(call, 0, dtype, p->reduction == FY_LOSS_NONE ? target->ndim : 0, target->shape);
  fy_call_output(call, 1, stats, 2, (int64_t[]){n, 2});
  fy_call_output(call, 2, stats, 0, NULL);
}

static void save_cross_entropy(FyCall *call, FyNode *node) {
  fy_save_input(node, call, 0);
  fy_save_input(node, call, 1);
  fy_save_output(node, call, 1);
  fy_save_output(node, call, 2);
}

static void backward_cross_entropy(FyNode *node, FyTensor *const *grad_out, FyTensor **grad_in) {
  if (grad_out[0])
    grad_in[0] =
        fy_run(&fy_op_cross_entropy_backward, fy_node_params(node, FyLossParams),
               FY_INPUTS(grad_out[0], fy_saved(node, 0), fy_saved(node, 1), fy_saved(node, 2), fy_saved(node, 3)));
}

static void infer_cross_entropy_backward(FyCall *call) {
  const FyArray *x = &call->in[1]->array;
  fy_call_cast(call, 0, (FyDType)x->dtype);
  for (int i = 0; i < call->n_in; i++)
    fy_call_contiguous(call, i);
  fy_call_output(call, 0, (FyDType)x->dtype, x->ndim, x->shape);
}

// ---- mse_loss ------------------------------------------------------------------------------------------------------------

static void infer_mse(FyCall *call) {
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

static void infer_mse_backward(FyCall *call) {
  FyDType dtype = fy_result_type(2, call->in + 1);
  for (int i = 0; i < call->n_in; i++) {
    fy_call_cast(call, i, dtype);
    fy_call_contiguous(call, i);
  }
  fy_call_output(call, 0, dtype, call->in[1]->array.ndim, call->in[1]->array.shape);
}

static void save_mse(FyCall *call, FyNode *node) {
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

// ---- records and public functions --------------------------------------------------------------------------------------

const FyOp fy_op_cross_entropy = {
    .name = "cross_entropy",
    .grad_name = "NllLossBackward0",
    .flags = FY_OP_CPU_HALF_AS_FLOAT,
    .autocast = FY_AUTOCAST_FLOAT32,
    .infer = infer_cross_entropy,
    .cpu = fy_cpu_cross_entropy,
    .save = save_cross_entropy,
    .backward = backward_cross_entropy,
    .params_size = sizeof(FyLossParams),
    .id = FY_OP_ID_cross_entropy,
};

const FyOp fy_op_cross_entropy_backward = {
    .name = "cross_entropy_backward",
    .flags = FY_OP_CPU_HALF_AS_FLOAT | FY_OP_NO_GRAD,
    .infer = infer_cross_entropy_backward,
    .cpu = fy_cpu_cross_entropy_backward,
    .params_size = sizeof(FyLossParams),
    .id = FY_OP_ID_cross_entropy_backward,
};

const FyOp fy_op_mse_loss = {
    .name = "mse_loss",
    .grad_name = "MseLossBackward0",
    .flags = FY_OP_CPU_HALF_AS_FLOAT,
    .autocast = FY_AUTOCAST_FLOAT32,
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

FyTensor *fy_cross_entropy_with(FyTensor *input, FyCrossEntropy options) {
  fy_check(options.target != NULL, FY_TYPE_ERROR, "cross_entropy() missing 1 required positional argument: 'target'");
  FyLossParams p = {options.reduction, options.set_ignore_index ? options.ignore_index : -100};
  FyTensor *out[3];
  fy_run_multi(&fy_op_cross_entropy, &p, FY_INPUTS(input, options.target), 3, out);
  fy_drop(out[1]);
  fy_drop(out[2]);
  return out[0];
}

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
