// SPDX-License-Identifier: MIT
// F.conv2d, written out in full.
//
//   x       (N, C, H, W)             N images of C channels
//   weight  (O, C / groups, kH, kW)  O kernels
//   bias    (O) or none
//   out     (N, O, oH, oW)           oH = (H + 2 * padding - dilation * (kH - 1) - 1) / stride + 1, and oW likewise
//
//   out[n][o][y][x'] = bias[o] + sum over c, i, j of
//                      weight[o][c][i][j] * x[n][c][y * stride + i * dilation - padding][x' * stride + j * dilation - padding]
//
// where x is 0 outside the image. With groups, kernel o sees the channels of its own group only.
//
// Backward is two more convolutions, and a sum:
//
//   grad_x       each out[n][o][y][x'] hands its gradient, times the weight, back to the pixels that it was summed from
//   grad_weight  each weight[o][c][i][j] gets the sum of grad_out times the pixel that it was multiplied with
//   grad_bias    (O), the sum of grad_out over N, oH and oW
//
// The kernels for the CPU are three: a matrix product over columns of pixels (conv_im2col.c), which is the one to read first;
// oneDNN's (conv_dnn.c); and for 3x3 kernels Winograd's (winograd.h). Those for CUDA (conv.cu, conv_implicit.cu) are of the first
// kind. Which is used is a rule (conv_run.c, and here); in benchmark mode they are timed (conv_choose.c).
#include "op/convolution/conv.h"
#include "graph/place.h"
#include "op/convolution/conv_choose.h"
#include "op/convolution/conv_cpu.h"
#include "op/convolution/conv_dnn.h"
#include "op/op.h"
#include "op/ops.h"
#include <string.h>

// ---- checks ------------------------------------------------------------------------------------------------------------

static void check_dtypes(const FyTensor *x, const FyTensor *other, const char *role) {
  fy_check(x->array.dtype == other->array.dtype, FY_RUNTIME_ERROR,
           "Input type (%s) and %s type (%s) should be the same", fy_type_string(x), role, fy_type_string(other));
}

static void check_options(const FyConv2dParams *p) {
  fy_check(p->padding >= 0, FY_RUNTIME_ERROR, "negative padding is not supported");
  fy_check(p->stride > 0, FY_RUNTIME_ERROR, "non-positive stride is not supported");
  fy_check(p->dilation > 0, FY_RUNTIME_ERROR, "dilation should be greater than zero, but got [%d, %d]", p->dilation,
           p->dilation);
  fy_check(p->groups > 0, FY_RUNTIME_ERROR, "non-positive groups is not supported");
}

static void check_channels(const FyConv2dParams *p, const FyTensor *x, const FyTensor *weight, const FyTensor *bias) {
  long long o = (long long)weight->array.shape[0], channels = (long long)weight->array.shape[1] * p->groups;
  fy_check(o >= p->groups, FY_RUNTIME_ERROR,
           "Given groups=%d, expected weight to be at least %d at dimension 0, but got weight of size %s instead",
           p->groups, p->groups, fy_sizes_of(weight));
  fy_check(o % p->groups == 0, FY_RUNTIME_ERROR,
           "Given groups=%d, expected weight to be divisible by %d at dimension 0, but got weight of size [%s] instead",
           p->groups, p->groups, fy_sizes_of(weight));
  fy_check(x->array.shape[1] == channels, FY_RUNTIME_ERROR,
           "Given groups=%d, weight of size %s, expected input%s to have %lld channels, but got %lld channels instead",
           p->groups, fy_sizes_of(weight), fy_sizes_of(x), channels, (long long)x->array.shape[1]);
  if (bias)
    fy_check(bias->array.ndim == 1 && bias->array.shape[0] == o, FY_RUNTIME_ERROR,
             "Given weight of size %s, expected bias to be 1-dimensional with %lld elements, but got bias of size %s "
             "instead",
             fy_sizes_of(weight), o, fy_sizes_of(bias));
}

static void check_kernel(const FyConv2dParams *p, const FyTensor *x, const FyTensor *weight) {
  long long h = (long long)x->array.shape[2] + 2LL * p->padding, w = (long long)x->array.shape[3] + 2LL * p->padding;
  long long kh = (weight->array.shape[2] - 1) * p->dilation + 1, kw = (weight->array.shape[3] - 1) * p->dilation + 1;
  fy_check(weight->array.shape[2] > 0 && weight->array.shape[3] > 0, FY_RUNTIME_ERROR,
           "kernel size should be greater than zero, but got kernel_height: %lld kernel_width: %lld",
           (long long)weight->array.shape[2], (long long)weight->array.shape[3]);
  fy_check(h >= kh && w >= kw, FY_RUNTIME_ERROR,
           "Calculated padded input size per channel: (%lld x %lld). Kernel size: (%lld x %lld). Kernel size can't be "
           "greater than actual input size",
           h, w, kh, kw);
  fy_check(x->array.numel > 0 || x->array.shape[0] == 0 || x->array.shape[1] == 0, FY_RUNTIME_ERROR,
           "Only zero batch or zero channel inputs are supported, but got input shape: %s", fy_sizes_of(x));
}

// ---- forward -----------------------------------------------------------------------------------------------------------

static void check_ranks(const FyTensor *x, const FyTensor *weight, int stride) {
  fy_check(weight->array.ndim >= 3, FY_RUNTIME_ERROR, "weight should have at least three dimensions");
  fy_check(x->array.ndim == 4, FY_RUNTIME_ERROR,
           "Expected 3D (unbatched) or 4D (batched) input to conv2d, but got input of size: %s", fy_sizes_of(x));
  fy_check(weight->array.ndim == 4, FY_RUNTIME_ERROR,
           "expected stride to be a single integer value or a list of %d values to match the convolution dimensions, "
           "but got stride=[%d, %d]",
           weight->array.ndim - 2, stride, stride);
}

static void conv2d_infer(FyOpCall *call) {
  const FyConv2dParams *p = call->params;
  FyTensor *x = call->in[0], *weight = call->in[1], *bias = call->in[2];
  check_ranks(x, weight, p->stride);
  check_options(p);
  check_channels(p, x, weight, bias);
  check_kernel(p, x, weight);
  check_dtypes(x, weight, "weight");
  if (bias)
    check_dtypes(x, bias, "bias");
  if (!fy_dtype_is_floating(x->array.dtype) && x->array.numel > 0)
    fy_raise_not_implemented(call->device.type == FY_CUDA ? "conv2d_cuda" : "slow_conv2d_cpu", x->array.dtype);
  for (int i = 0; i < 3; i++)
    fy_call_contiguous(call, i);
  FyConvShape s = fy_conv_shape(p, x->array.shape, weight->array.shape);
  fy_call_output(call, 0, x->array.dtype, 4, (int64_t[]){s.n, s.o, s.oh, s.ow});
}

// With few channels, or where the processor has no tiles (kernel/dnn.h), a bfloat16 convolution is made in float32.
static bool conv2d_in_bfloat16(const FyOpCall *call) {
  if (!fy_all_bfloat16(call))
    return false;
  FyConvShape s = fy_conv_shape(call->params, call->in[0]->array.shape, call->in[1]->array.shape);
  return call->in[0]->array.numel > 0 && fy_dnn_convolves_bfloat16(FY_DNN_FORWARD, &s, call->in[2] != NULL);
}

static FyConvAlgorithm algorithm_of(const FyLaunch *l) {
  return (FyConvAlgorithm)((const FyConv2dParams *)l->params)->algorithm;
}

// By the rule, where oneDNN has declined; a bfloat16 convolution is made by oneDNN alone.
static bool may_use_columns(FyConvAlgorithm algorithm, int dtype) {
  return dtype != FY_BFLOAT16 && (algorithm == FY_CONV_BY_RULE || algorithm == FY_CONV_IM2COL);
}

static int fy_cpu_conv2d(FyLaunch *l) {
  const FyArray *x = l->in[0], *weight = l->in[1], *bias = l->in[2];
  FyConvShape s = fy_conv_shape(l->params, x->shape, weight->shape);
  const void *bias_data = bias ? bias->data : NULL;
  FyConvAlgorithm algorithm = algorithm_of(l);
  if (l->out[0]->numel == 0)
    return FY_LAUNCH_OK;
  int status =
      fy_conv_run_forward(l, &algorithm, &s, x->dtype, x->data, weight->data, bias_data, l->out[0]->data, NULL);
  if (status == FY_LAUNCH_NO_KERNEL && may_use_columns(algorithm, x->dtype))
    status = fy_im2col_forward(l, &s, x->dtype, x->data, weight->data, bias_data, l->out[0]->data);
  return status;
}

// Both, whichever gradient is wanted, as PyTorch does: a change in place of either is an error.
static void conv2d_save(FyOpCall *call, FyNode *node) {
  fy_save_input(node, call, 0);
  fy_save_input(node, call, 1);
}

static void conv2d_backward(FyNode *node, FyTensor *const *grad_out, FyTensor **grad_in) {
  FyTensor *x = fy_saved(node, 0), *weight = fy_saved(node, 1), *grad = fy_contiguous(grad_out[0]);
  FyConv2dParams p = *fy_node_params(node, FyConv2dParams);
  if (fy_node_needs(node, 0)) {
    memcpy(p.shape, x->array.shape, sizeof p.shape);
    grad_in[0] = fy_run(&fy_op_conv2d_backward_input, &p, FY_INPUTS(grad, weight));
  }
  if (fy_node_needs(node, 1)) {
    memcpy(p.shape, weight->array.shape, sizeof p.shape);
    grad_in[1] = fy_run_into(&fy_op_conv2d_backward_weight, &p, FY_INPUTS(grad, x), fy_node_place(node, 1));
  }
  if (fy_node_needs(node, 2))
    grad_in[2] = fy_sum_dims(grad, fy_shape(0, 2, 3), false);
}

// Of the matrices that a convolution is a product of: each row a pixel of the output and what lies under the window.
static void conv2d_cost(const FyLaunch *launch, FyOpCost *cost) {
  const FyConvShape s = fy_conv_shape(launch->params, launch->in[0]->shape, launch->in[1]->shape);
  const double groups = (double)s.groups;
  fy_cost_product(launch, cost, (double)(s.n * s.oh * s.ow), (double)s.o / groups, (double)(s.c * s.kh * s.kw) / groups,
                  groups);
  cost->counted = true;
}

const FyOp fy_op_conv2d = {
    .name = "conv2d",
    .grad_name = "ConvolutionBackward0",
    .flags = FY_OP_CPU_HALF_AS_FLOAT | FY_OP_WEIGHTED,
    .autocast = FY_AUTOCAST_EVERYWHERE(FY_AUTOCAST_LOWER),
    .infer = conv2d_infer,
    .cpu = fy_cpu_conv2d,
    .choose = fy_choose_conv2d,
    .cpu_bfloat16 = conv2d_in_bfloat16,
    .save = conv2d_save,
    .backward = conv2d_backward,
    .params_size = sizeof(FyConv2dParams),
    .cost = conv2d_cost,
    .id = FY_OP_ID_conv2d,
};

FyTensor *fy_conv2d_with(FyTensor *x, FyTensor *weight, FyConv2d options) {
  FyConv2dParams p = {
      .stride = options.stride ? options.stride : 1,
      .padding = options.padding,
      .dilation = options.dilation ? options.dilation : 1,
      .groups = options.groups ? options.groups : 1,
  };
  if (x->array.ndim != 3)
    return fy_run(&fy_op_conv2d, &p, FY_INPUTS(x, weight, options.bias));
  return fy_squeeze_dim(fy_run(&fy_op_conv2d, &p, FY_INPUTS(fy_unsqueeze(x, 0), weight, options.bias)), 0);
}

// ---- backward ----------------------------------------------------------------------------------------------------------

static void conv2d_backward_infer(FyOpCall *call) {
  const FyConv2dParams *p = call->params;
  fy_call_contiguous(call, 0);
  fy_call_contiguous(call, 1);
  fy_call_output(call, 0, call->in[0]->array.dtype, 4, p->shape);
}

static bool backward_input_in_bfloat16(const FyOpCall *call) {
  const FyConv2dParams *p = call->params;
  FyConvShape s = fy_conv_shape(p, p->shape, call->in[1]->array.shape);
  return fy_all_bfloat16(call) && fy_dnn_convolves_bfloat16(FY_DNN_BACKWARD_INPUT, &s, false);
}

static int fy_cpu_conv2d_backward_input(FyLaunch *l) {
  const FyArray *grad = l->in[0], *weight = l->in[1];
  FyArray *out = l->out[0];
  FyConvShape s = fy_conv_shape(l->params, out->shape, weight->shape);
  FyConvAlgorithm algorithm = algorithm_of(l);
  if (out->numel == 0)
    return FY_LAUNCH_OK;
  int status = fy_conv_run_backward_input(l, &algorithm, &s, out->dtype, grad->data, weight->data, out->data, NULL);
  if (status == FY_LAUNCH_NO_KERNEL && may_use_columns(algorithm, out->dtype))
    status = fy_im2col_backward_input(l, &s, out->dtype, grad->data, weight->data, out->data);
  return status;
}

static void backward_input_cost(const FyLaunch *launch, FyOpCost *cost) {
  const FyConvShape s = fy_conv_shape(launch->params, launch->out[0]->shape, launch->in[1]->shape);
  const double groups = (double)s.groups;
  fy_cost_product(launch, cost, (double)(s.n * s.oh * s.ow), (double)(s.c * s.kh * s.kw) / groups, (double)s.o / groups,
                  groups);
}

const FyOp fy_op_conv2d_backward_input = {
    .name = "conv2d_backward_input",
    .flags = FY_OP_CPU_HALF_AS_FLOAT | FY_OP_NO_GRAD,
    .infer = conv2d_backward_infer,
    .cpu = fy_cpu_conv2d_backward_input,
    .choose = fy_choose_conv2d_backward_input,
    .cpu_bfloat16 = backward_input_in_bfloat16,
    .params_size = sizeof(FyConv2dParams),
    .cost = backward_input_cost,
    .id = FY_OP_ID_conv2d_backward_input,
};

static bool backward_weight_in_bfloat16(const FyOpCall *call) {
  const FyConv2dParams *p = call->params;
  FyConvShape s = fy_conv_shape(p, call->in[1]->array.shape, p->shape);
  return fy_all_bfloat16(call) && fy_dnn_convolves_bfloat16(FY_DNN_BACKWARD_WEIGHT, &s, false);
}

static int fy_cpu_conv2d_backward_weight(FyLaunch *l) {
  const FyArray *grad = l->in[0], *x = l->in[1];
  FyArray *out = l->out[0];
  FyConvShape s = fy_conv_shape(l->params, x->shape, out->shape);
  if (grad->numel == 0 || out->numel == 0) { // an empty batch
    fy_array_clear(out);
    return FY_LAUNCH_OK;
  }
  FyConvAlgorithm algorithm = algorithm_of(l);
  int status = fy_conv_run_backward_weight(l, &algorithm, &s, out->dtype, grad->data, x->data, out->data, NULL);
  if (status == FY_LAUNCH_NO_KERNEL && may_use_columns(algorithm, out->dtype))
    status = fy_im2col_backward_weight(l, &s, out->dtype, grad->data, x->data, out->data);
  return status;
}

static void backward_weight_cost(const FyLaunch *launch, FyOpCost *cost) {
  const FyConvShape s = fy_conv_shape(launch->params, launch->in[1]->shape, launch->out[0]->shape);
  const double groups = (double)s.groups;
  fy_cost_product(launch, cost, (double)s.o / groups, (double)(s.c * s.kh * s.kw) / groups, (double)(s.n * s.oh * s.ow),
                  groups);
}

const FyOp fy_op_conv2d_backward_weight = {
    .name = "conv2d_backward_weight",
    .flags = FY_OP_CPU_HALF_AS_FLOAT | FY_OP_NO_GRAD,
    .infer = conv2d_backward_infer,
    .cpu = fy_cpu_conv2d_backward_weight,
    .choose = fy_choose_conv2d_backward_weight,
    .cpu_bfloat16 = backward_weight_in_bfloat16,
    .params_size = sizeof(FyConv2dParams),
    .cost = backward_weight_cost,
    .id = FY_OP_ID_conv2d_backward_weight,
};
