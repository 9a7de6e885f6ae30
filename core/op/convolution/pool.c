// SPDX-License-Identifier: MIT
// F.max_pool2d and F.avg_pool2d, with their gradients.
#include "op/convolution/pool.h"
#include "op/op.h"
#include "op/ops.h"
#include "op/convolution/pool_cpu.h"
#include <string.h>

// ---- checks ------------------------------------------------------------------------------------------------------------

static void check_window(const FyPool2dParams *p) {
  fy_check(p->kernel > 0, FY_RUNTIME_ERROR, "kernel size should be greater than zero, but got kH: %d kW: %d", p->kernel,
           p->kernel);
  fy_check(p->stride > 0, FY_RUNTIME_ERROR, "stride should be greater than zero, but got dH: %d dW: %d", p->stride,
           p->stride);
  fy_check(p->padding >= 0, FY_RUNTIME_ERROR, "pad must be non-negative, but got pad: %d", p->padding);
  fy_check(p->padding <= p->kernel / 2, FY_RUNTIME_ERROR,
           "pad should be at most half of effective kernel size, but got pad=%d, kernel_size=%d and dilation=1",
           p->padding, p->kernel);
}

// Only the batch may be empty. The two ops say it in their own words, as in PyTorch.
static void check_input(const FyOpCall *call) {
  const FyTensor *x = call->in[0];
  const FyArray *a = &x->array;
  bool average = call->op == &fy_op_avg_pool2d, valid = a->ndim == 3 || a->ndim == 4;
  fy_check(valid || average, FY_RUNTIME_ERROR, "non-empty 3D or 4D (batch mode) tensor expected for input");
  if (average)
    fy_wrap_dim(-3, a->ndim); // raises for fewer dimensions
  for (int d = a->ndim == 4 ? 1 : 0; valid && d < a->ndim; d++)
    valid = a->shape[d] > 0;
  const char *shape = strchr(fy_shape_string(x), '[');
  fy_check(valid, FY_RUNTIME_ERROR,
           "Expected 3D or 4D (batch mode) tensor with optional 0 dim batch size for input, but got:%.*s",
           (int)(strlen(shape) - 1), shape);
}

// Checks and writes the output's shape.
static void pool_shape(FyOpCall *call, int64_t *shape) {
  const FyPool2dParams *p = call->params;
  const FyArray *a = &call->in[0]->array;
  check_input(call);
  check_window(p);
  if (!fy_dtype_is_floating(a->dtype))
    fy_raise_not_implemented(call->op->name, a->dtype);
  FyPoolShape s = fy_pool_shape(p, a->ndim, a->shape);
  long long channels = (long long)a->shape[a->ndim - 3];
  fy_check(s.oh > 0 && s.ow > 0, FY_RUNTIME_ERROR,
           "Given input size: (%lldx%lldx%lld). Calculated output size: (%lldx%lldx%lld). Output size is too small",
           channels, (long long)s.h, (long long)s.w, channels, (long long)s.oh, (long long)s.ow);
  memcpy(shape, a->shape, (size_t)a->ndim * sizeof *shape);
  shape[a->ndim - 2] = s.oh;
  shape[a->ndim - 1] = s.ow;
  fy_call_contiguous(call, 0);
}

static void pool_backward_infer(FyOpCall *call) {
  const FyPool2dParams *p = call->params;
  fy_call_contiguous(call, 0);
  fy_call_output(call, 0, call->in[0]->array.dtype, p->ndim, p->shape);
}

// The parameters of a backward: those of the forward and the input's shape.
static FyPool2dParams backward_params(const FyNode *node) {
  FyPool2dParams p = *fy_node_params(node, FyPool2dParams);
  p.ndim = node->inputs[0].ndim;
  memcpy(p.shape, node->inputs[0].shape, sizeof p.shape);
  return p;
}

static FyPool2dParams params_of(FyPool2d options) {
  return (FyPool2dParams){
      .kernel = options.kernel_size,
      .stride = options.stride ? options.stride : options.kernel_size,
      .padding = options.padding,
  };
}

// ---- maximum -----------------------------------------------------------------------------------------------------------

// The second output, seen by backward alone, says which tap of the window each maximum came from.
static void max_pool2d_infer(FyOpCall *call) {
  const FyPool2dParams *p = call->params;
  int64_t shape[4] = {0};
  pool_shape(call, shape);
  int ndim = call->in[0]->array.ndim;
  bool narrow = p->kernel <= 16;
  fy_call_output(call, 0, call->in[0]->array.dtype, ndim, shape);
  fy_call_output(call, 1, narrow ? FY_UINT8 : FY_INT32, ndim, shape);
}

// Backward reads the taps alone. The input is kept as PyTorch keeps it, so that a change of it in place is the same error;
// it costs nothing behind a ReLU or a convolution, which hold it anyway.
static void max_pool2d_save(FyOpCall *call, FyNode *node) {
  fy_save_input(node, call, 0);
  fy_save_output(node, call, 1);
}

static void max_pool2d_backward(FyNode *node, FyTensor *const *grad_out, FyTensor **grad_in) {
  FyPool2dParams p = backward_params(node);
  fy_saved(node, 0); // raises if it was changed
  grad_in[0] = fy_run(&fy_op_max_pool2d_backward, &p, FY_INPUTS(grad_out[0], fy_saved(node, 1)));
}

const FyOp fy_op_max_pool2d = {
    .name = "max_pool2d",
    .grad_name = "MaxPool2DWithIndicesBackward0",
    .flags = FY_OP_CPU_HALF_AS_FLOAT,
    .infer = max_pool2d_infer,
    .cpu = fy_cpu_max_pool2d,
    .cpu_bfloat16 = fy_all_bfloat16,
    .save = max_pool2d_save,
    .backward = max_pool2d_backward,
    .params_size = sizeof(FyPool2dParams),
    .id = FY_OP_ID_max_pool2d,
};

static bool gradient_is_bfloat16(const FyOpCall *call) {
  return call->in[0]->array.dtype == FY_BFLOAT16;
}

const FyOp fy_op_max_pool2d_backward = {
    .name = "max_pool2d_backward",
    .flags = FY_OP_CPU_HALF_AS_FLOAT | FY_OP_NO_GRAD,
    .infer = pool_backward_infer,
    .cpu = fy_cpu_max_pool2d_backward,
    .cpu_bfloat16 = gradient_is_bfloat16,
    .params_size = sizeof(FyPool2dParams),
    .id = FY_OP_ID_max_pool2d_backward,
};

FyTensor *fy_max_pool2d_with(FyTensor *x, FyPool2d options) {
  FyTensor *out[2];
  FyPool2dParams p = params_of(options);
  fy_run_multi(&fy_op_max_pool2d, &p, FY_INPUTS(x), 2, out);
  fy_drop(out[1]);
  return out[0];
}

// ---- average -----------------------------------------------------------------------------------------------------------

static void avg_pool2d_infer(FyOpCall *call) {
  int64_t shape[4] = {0};
  pool_shape(call, shape);
  fy_call_output(call, 0, call->in[0]->array.dtype, call->in[0]->array.ndim, shape);
}

// Nothing is saved: PyTorch keeps an input here that nobody reads.
static void avg_pool2d_backward(FyNode *node, FyTensor *const *grad_out, FyTensor **grad_in) {
  FyPool2dParams p = backward_params(node);
  grad_in[0] = fy_run(&fy_op_avg_pool2d_backward, &p, FY_INPUTS(grad_out[0]));
}

const FyOp fy_op_avg_pool2d = {
    .name = "avg_pool2d",
    .grad_name = "AvgPool2DBackward0",
    .flags = FY_OP_CPU_HALF_AS_FLOAT,
    .infer = avg_pool2d_infer,
    .cpu = fy_cpu_avg_pool2d,
    .cpu_bfloat16 = fy_all_bfloat16,
    .backward = avg_pool2d_backward,
    .params_size = sizeof(FyPool2dParams),
    .id = FY_OP_ID_avg_pool2d,
};

const FyOp fy_op_avg_pool2d_backward = {
    .name = "avg_pool2d_backward",
    .flags = FY_OP_CPU_HALF_AS_FLOAT | FY_OP_NO_GRAD,
    .infer = pool_backward_infer,
    .cpu = fy_cpu_avg_pool2d_backward,
    .cpu_bfloat16 = fy_all_bfloat16,
    .params_size = sizeof(FyPool2dParams),
    .id = FY_OP_ID_avg_pool2d_backward,
};

FyTensor *fy_avg_pool2d_with(FyTensor *x, FyPool2d options) {
  FyPool2dParams p = params_of(options);
  return fy_run(&fy_op_avg_pool2d, &p, FY_INPUTS(x));
}
