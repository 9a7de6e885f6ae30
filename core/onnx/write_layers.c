// SPDX-License-Identifier: MIT
// How products, convolutions, pooling, normalization, reductions and losses are said in ONNX. What Ferry runs as one op is
// written as its parts.
#include "onnx/write.h"
#include "op/attention/attention.h"
#include "op/convolution/conv_pool.h"
#include "op/convolution/pool.h"
#include "op/loss/loss.h"
#include "op/normalization/layer_norm.h"
#include "op/normalization/norm.h"
#include "op/normalization/softmax.h"
#include "op/ops.h"
#include "op/product/matmul.h"
#include "op/reduction/reduce.h"
#include <math.h>
#include <string.h>

static const char *optional(FyOnnxWriter *w, int value) {
  return value < 0 ? NULL : fy_onnx_name(w, value);
}

static const FyProgramValue *input(const FyOnnxWriter *w, const FyProgramStep *step, int i) {
  return fy_onnx_value(w, step->in[i]);
}

// Whether a step takes the value, or it is the output.
static bool is_used(const FyOnnxWriter *w, int value) {
  for (int i = 0; i < w->program->step_count; i++)
    for (int k = 0; k < w->program->steps[i].n_in; k++)
      if (w->program->steps[i].in[k] == value)
        return true;
  return value == w->program->output;
}

// ---- products --------------------------------------------------------------------------------------------------------------

static void write_matmul(FyOnnxWriter *w, const FyProgramStep *step) {
  fy_onnx_last(w, step, "MatMul", FY_NAMES(fy_onnx_name(w, step->in[0]), fy_onnx_name(w, step->in[1])));
}

// The node is the step's last, or one before it.
static Onnx__NodeProto *part(FyOnnxWriter *w, const FyProgramStep *step, bool last, const char *op, int n,
                             const char *const *inputs) {
  return last ? fy_onnx_last(w, step, op, n, inputs) : fy_onnx_node(w, op, n, inputs);
}

// Of rows a Gemm, which takes the weight as state_dict has it; of other ranks a MatMul by the transposed weight.
static void write_linear(FyOnnxWriter *w, const FyProgramStep *step) {
  const bool relu = ((const FyLinearParams *)step->params)->relu;
  const char *x = fy_onnx_name(w, step->in[0]), *weight = fy_onnx_name(w, step->in[1]),
             *bias = optional(w, step->in[2]);
  Onnx__NodeProto *node;
  if (input(w, step, 0)->ndim == 2) {
    node = part(w, step, !relu, "Gemm", FY_NAMES(x, weight, bias));
    fy_onnx_int(w, node, "transB", 1);
  } else {
    Onnx__NodeProto *turned = fy_onnx_node(w, "Transpose", FY_NAMES(weight));
    fy_onnx_ints(w, turned, "perm", 2, (int64_t[]){1, 0});
    node = part(w, step, !relu && !bias, "MatMul", FY_NAMES(x, fy_onnx_output(turned)));
    if (bias)
      node = part(w, step, !relu, "Add", FY_NAMES(fy_onnx_output(node), bias));
  }
  if (relu)
    fy_onnx_last(w, step, "Relu", FY_NAMES(fy_onnx_output(node)));
}

// ---- attention -------------------------------------------------------------------------------------------------------------

// (l, s): 0 for the keys that a query sees, and minus infinity elsewhere.
static const char *causal_mask(FyOnnxWriter *w, int64_t l, int64_t s, FyDType dtype) {
  FyTensor *i = fy_unsqueeze(fy_arange((double)l), 1), *j = fy_unsqueeze(fy_arange((double)s), 0);
  FyTensor *seen = fy_zeros(FY_SCALAR, .dtype = dtype);
  return fy_onnx_constant(w, fy_where(fy_gt(j, i), fy_full_like(seen, -INFINITY), seen));
}

// softmax(query key^T * scale + mask) value.
static void write_attention(FyOnnxWriter *w, const FyProgramStep *step) {
  const FyAttentionParams *p = step->params;
  const FyProgramValue *query = input(w, step, FY_ATTENTION_QUERY), *key = input(w, step, FY_ATTENTION_KEY);
  const int ndim = query->ndim;
  int64_t perm[FY_MAX_DIM];
  for (int d = 0; d < ndim; d++)
    perm[d] = d < ndim - 2 ? d : 2 * ndim - 3 - d;
  fy_check(!p->is_causal || ndim > 2 || !w->batch_is_open, FY_NOT_IMPLEMENTED_ERROR,
           "fy_onnx_save: causal attention whose queries are the batch cannot be written: give it a batch, (N, L, E)");
  Onnx__NodeProto *node = fy_onnx_node(w, "Transpose", FY_NAMES(fy_onnx_name(w, step->in[FY_ATTENTION_KEY])));
  fy_onnx_ints(w, node, "perm", ndim, perm);
  node = fy_onnx_node(w, "MatMul", FY_NAMES(fy_onnx_name(w, step->in[FY_ATTENTION_QUERY]), fy_onnx_output(node)));
  node = fy_onnx_node(w, "Mul", FY_NAMES(fy_onnx_output(node), fy_onnx_number(w, query->dtype, p->scale)));
  if (p->is_causal)
    node = fy_onnx_node(
        w, "Add",
        FY_NAMES(fy_onnx_output(node), causal_mask(w, query->shape[ndim - 2], key->shape[ndim - 2], query->dtype)));
  node = fy_onnx_node(w, "Softmax", FY_NAMES(fy_onnx_output(node)));
  fy_onnx_last(w, step, "MatMul", FY_NAMES(fy_onnx_output(node), fy_onnx_name(w, step->in[FY_ATTENTION_VALUE])));
}

// ---- convolution and pooling -------------------------------------------------------------------------------------------------

static void window(FyOnnxWriter *w, Onnx__NodeProto *node, int64_t height, int64_t width, int64_t stride,
                   int64_t padding) {
  fy_onnx_ints(w, node, "kernel_shape", 2, (int64_t[]){height, width});
  fy_onnx_ints(w, node, "strides", 2, (int64_t[]){stride, stride});
  fy_onnx_ints(w, node, "pads", 4, (int64_t[]){padding, padding, padding, padding});
}

static Onnx__NodeProto *convolution(FyOnnxWriter *w, const FyProgramStep *step, const FyConv2dParams *p, bool last) {
  const FyProgramValue *weight = input(w, step, 1);
  const char *x = fy_onnx_name(w, step->in[0]);
  Onnx__NodeProto *node =
      part(w, step, last, "Conv", FY_NAMES(x, fy_onnx_name(w, step->in[1]), optional(w, step->in[2])));
  window(w, node, weight->shape[2], weight->shape[3], p->stride, p->padding);
  fy_onnx_ints(w, node, "dilations", 2, (int64_t[]){p->dilation, p->dilation});
  fy_onnx_int(w, node, "group", p->groups);
  return node;
}

static void write_conv2d(FyOnnxWriter *w, const FyProgramStep *step) {
  convolution(w, step, step->params, true);
}

static void write_conv_pool(FyOnnxWriter *w, const FyProgramStep *step) {
  const FyConvPoolParams *p = step->params;
  const FyProgramValue *x = input(w, step, 0);
  const FyConvShape s = fy_conv_shape(&p->conv, x->shape, input(w, step, 1)->shape);
  const int64_t shape[] = {s.n, s.o, s.oh, s.ow};
  const bool *open = &w->open[step->in[0] * FY_MAX_DIM];
  const char *convolved = fy_onnx_output(convolution(w, step, &p->conv, false));
  const char *cut = fy_onnx_output(fy_onnx_node(w, "Relu", FY_NAMES(convolved)));
  fy_onnx_describe(w, convolved, x->dtype, 4, shape, open);
  fy_onnx_describe(w, cut, x->dtype, 4, shape, open);
  window(w, fy_onnx_last(w, step, "MaxPool", FY_NAMES(cut)), p->window, p->window, p->window, 0);
}

// An image without a batch (C, H, W) gets one for the while.
static void write_pool(FyOnnxWriter *w, const FyProgramStep *step) {
  const FyPool2dParams *p = step->params;
  const bool average = step->op == &fy_op_avg_pool2d, single = input(w, step, 0)->ndim == 3;
  const char *x = fy_onnx_name(w, step->in[0]), *first = single ? fy_onnx_integers(w, 1, (int64_t[]){0}) : NULL;
  fy_check(step->n_out < 2 || step->out[1] < 0 || !is_used(w, step->out[1]), FY_NOT_IMPLEMENTED_ERROR,
           "fy_onnx_save: the indices of max_pool2d cannot be written");
  if (single)
    x = fy_onnx_output(fy_onnx_node(w, "Unsqueeze", FY_NAMES(x, first)));
  Onnx__NodeProto *node = part(w, step, !single, average ? "AveragePool" : "MaxPool", FY_NAMES(x));
  window(w, node, p->kernel, p->kernel, p->stride, p->padding);
  if (average)
    fy_onnx_int(w, node, "count_include_pad", 1);
  if (single)
    fy_onnx_last(w, step, "Squeeze", FY_NAMES(fy_onnx_output(node), first));
}

// ---- normalization -----------------------------------------------------------------------------------------------------------

static void write_batch_norm(FyOnnxWriter *w, const FyProgramStep *step) {
  const FyBatchNormParams *p = step->params;
  fy_check(!p->training, FY_NOT_IMPLEMENTED_ERROR,
           "fy_onnx_save: batch_norm in training mode changes its running statistics, which a file cannot: call "
           "fy_eval(model) before fy_trace");
  const FyProgramValue *mean = input(w, step, FY_NORM_RUNNING_MEAN);
  const char *weight = optional(w, step->in[FY_NORM_WEIGHT]), *bias = optional(w, step->in[FY_NORM_BIAS]);
  if (!weight)
    weight = fy_onnx_filled(w, mean->dtype, fy_shape(mean->shape[0]), 1);
  if (!bias)
    bias = fy_onnx_filled(w, mean->dtype, fy_shape(mean->shape[0]), 0);
  Onnx__NodeProto *node = fy_onnx_last(w, step, "BatchNormalization",
                                       FY_NAMES(fy_onnx_name(w, step->in[FY_NORM_X]), weight, bias,
                                                fy_onnx_name(w, step->in[FY_NORM_RUNNING_MEAN]),
                                                fy_onnx_name(w, step->in[FY_NORM_RUNNING_VAR])));
  fy_onnx_float(w, node, "epsilon", p->eps);
}

// The scale is required, of x's dtype.
static void write_layer_norm(FyOnnxWriter *w, const FyProgramStep *step) {
  const FyLayerNormParams *p = step->params;
  const FyProgramValue *x = input(w, step, FY_LAYER_NORM_X);
  const int weight = step->in[FY_LAYER_NORM_WEIGHT];
  FySize shape = {.ndim = p->dims};
  memcpy(shape.dim, p->shape, sizeof shape.dim);
  const char *scale = weight < 0 ? fy_onnx_filled(w, x->dtype, shape, 1) : fy_onnx_name_as(w, weight, x->dtype),
             *bias = NULL;
  if (step->in[FY_LAYER_NORM_BIAS] >= 0)
    bias = fy_onnx_name_as(w, step->in[FY_LAYER_NORM_BIAS], x->dtype);
  Onnx__NodeProto *node =
      fy_onnx_last(w, step, "LayerNormalization", FY_NAMES(fy_onnx_name(w, step->in[FY_LAYER_NORM_X]), scale, bias));
  fy_onnx_int(w, node, "axis", -p->dims);
  fy_onnx_float(w, node, "epsilon", p->eps);
}

// The softmax of one number needs a dimension.
static void write_softmax(FyOnnxWriter *w, const FyProgramStep *step) {
  const char *op = step->op == &fy_op_softmax ? "Softmax" : "LogSoftmax", *x = fy_onnx_name(w, step->in[0]);
  const bool scalar = input(w, step, 0)->ndim == 0;
  const char *first = scalar ? fy_onnx_integers(w, 1, (int64_t[]){0}) : NULL;
  if (scalar)
    x = fy_onnx_output(fy_onnx_node(w, "Unsqueeze", FY_NAMES(x, first)));
  Onnx__NodeProto *node = part(w, step, !scalar, op, FY_NAMES(x));
  fy_onnx_int(w, node, "axis", ((const FySoftmaxParams *)step->params)->dim);
  if (scalar)
    fy_onnx_last(w, step, "Squeeze", FY_NAMES(fy_onnx_output(node), first));
}

// ---- reductions ----------------------------------------------------------------------------------------------------------------

static void reduce(FyOnnxWriter *w, const FyProgramStep *step, const char *op, const char *x, uint32_t dims,
                   bool keepdim) {
  int64_t axes[FY_MAX_DIM];
  int n = 0;
  for (int d = 0; d < input(w, step, 0)->ndim; d++)
    if (dims >> d & 1)
      axes[n++] = d;
  if (!n) {
    fy_onnx_alias(w, step, x);
    return;
  }
  Onnx__NodeProto *node = fy_onnx_last(w, step, op, FY_NAMES(x, fy_onnx_integers(w, n, axes)));
  fy_onnx_int(w, node, "keepdims", keepdim);
}

static void write_sum(FyOnnxWriter *w, const FyProgramStep *step) {
  const FyReduceParams *p = step->params;
  const char *x = fy_onnx_name_as(w, step->in[0], fy_onnx_value(w, step->out[0])->dtype);
  reduce(w, step, step->op == &fy_op_sum ? "ReduceSum" : "ReduceMean", x, p->dims, p->keepdim);
}

static void write_extremum(FyOnnxWriter *w, const FyProgramStep *step) {
  const FyExtremumParams *p = step->params;
  const bool low = step->op == &fy_op_min || step->op == &fy_op_min_dim;
  const char *x = fy_onnx_name(w, step->in[0]);
  const uint32_t dims = p->dim < 0 ? ~0u : 1u << p->dim;
  reduce(w, step, low ? "ReduceMin" : "ReduceMax", x, dims, p->keepdim);
  fy_check(step->n_out < 2 || step->out[1] < 0 || !is_used(w, step->out[1]) || input(w, step, 0)->ndim,
           FY_NOT_IMPLEMENTED_ERROR, "fy_onnx_save: the indices of %s of a 0-dim tensor cannot be written",
           step->op->name);
  if (step->n_out < 2 || step->out[1] < 0 || !is_used(w, step->out[1]))
    return;
  const FyProgramStep indices = {.op = step->op, .n_out = 1, .out = {step->out[1]}};
  Onnx__NodeProto *node = fy_onnx_last(w, &indices, low ? "ArgMin" : "ArgMax", FY_NAMES(x));
  fy_onnx_int(w, node, "axis", p->dim);
  fy_onnx_int(w, node, "keepdims", p->keepdim);
}

// Over all elements: of the tensor as one row.
static void write_arg(FyOnnxWriter *w, const FyProgramStep *step) {
  const FyExtremumParams *p = step->params;
  const char *x = fy_onnx_name(w, step->in[0]), *op = step->op == &fy_op_argmin ? "ArgMin" : "ArgMax";
  const bool all = p->dim < 0 || input(w, step, 0)->ndim == 0;
  if (all)
    x = fy_onnx_output(fy_onnx_node(w, "Reshape", FY_NAMES(x, fy_onnx_integers(w, 1, (int64_t[]){-1}))));
  Onnx__NodeProto *node = fy_onnx_last(w, step, op, FY_NAMES(x));
  fy_onnx_int(w, node, "axis", all ? 0 : p->dim);
  fy_onnx_int(w, node, "keepdims", !all && p->keepdim);
}

// ---- losses --------------------------------------------------------------------------------------------------------------------

static void write_mse_loss(FyOnnxWriter *w, const FyProgramStep *step) {
  const int reduction = ((const FyLossParams *)step->params)->reduction;
  const FyDType dtype = fy_onnx_value(w, step->out[0])->dtype;
  const char *x = fy_onnx_name_as(w, step->in[0], dtype), *target = fy_onnx_name_as(w, step->in[1], dtype);
  const char *difference = fy_onnx_output(fy_onnx_node(w, "Sub", FY_NAMES(x, target)));
  Onnx__NodeProto *square = part(w, step, reduction == FY_REDUCE_NONE, "Mul", FY_NAMES(difference, difference));
  if (reduction != FY_REDUCE_NONE)
    reduce(w, step, reduction == FY_REDUCE_SUM ? "ReduceSum" : "ReduceMean", fy_onnx_output(square), ~0u, false);
}

static void write_cross_entropy(FyOnnxWriter *w, const FyProgramStep *step) {
  static const char *const reductions[] = {
      [FY_REDUCE_MEAN] = "mean", [FY_REDUCE_SUM] = "sum", [FY_REDUCE_NONE] = "none"};
  const FyLossParams *p = step->params;
  fy_check(input(w, step, 0)->ndim == 2, FY_NOT_IMPLEMENTED_ERROR,
           "fy_onnx_save: cross_entropy of one row (C) cannot be written: give it a batch, (1, C)");
  Onnx__NodeProto *node =
      fy_onnx_last(w, step, "SoftmaxCrossEntropyLoss",
                   FY_NAMES(fy_onnx_name(w, step->in[0]), fy_onnx_name_as(w, step->in[1], FY_INT64)));
  fy_onnx_text(w, node, "reduction", reductions[p->reduction]);
  fy_onnx_int(w, node, "ignore_index", p->ignore_index);
}

FyOnnxWrite *fy_onnx_layer_writer(const FyOp *op) {
  switch (op->id) {
  case FY_OP_ID_matmul:
    return write_matmul;
  case FY_OP_ID_linear:
    return write_linear;
  case FY_OP_ID_scaled_dot_product_attention:
    return write_attention;
  case FY_OP_ID_conv2d:
    return write_conv2d;
  case FY_OP_ID_conv2d_relu_max_pool2d:
    return write_conv_pool;
  case FY_OP_ID_max_pool2d:
  case FY_OP_ID_avg_pool2d:
    return write_pool;
  case FY_OP_ID_batch_norm:
    return write_batch_norm;
  case FY_OP_ID_layer_norm:
    return write_layer_norm;
  case FY_OP_ID_softmax:
  case FY_OP_ID_log_softmax:
    return write_softmax;
  case FY_OP_ID_sum:
  case FY_OP_ID_mean:
    return write_sum;
  case FY_OP_ID_max:
  case FY_OP_ID_min:
  case FY_OP_ID_max_dim:
  case FY_OP_ID_min_dim:
    return write_extremum;
  case FY_OP_ID_argmax:
  case FY_OP_ID_argmin:
    return write_arg;
  case FY_OP_ID_mse_loss:
    return write_mse_loss;
  case FY_OP_ID_cross_entropy:
    return write_cross_entropy;
  default:
    return NULL;
  }
}
