// SPDX-License-Identifier: MIT
// Operations on tensors: functions of torch and of torch.nn.functional, which these comments call F.
//
// Unless a comment says otherwise, the following applies. Shapes are written as in PyTorch's documentation. Inputs may
// have any floating-point dtype, integer dtypes if the operation is meaningful for them, and any strides. All inputs
// must be on the same device, but a 0-dim CPU tensor may be combined with CUDA tensors. Shapes broadcast, and dtypes
// are promoted, as in PyTorch. The result is a new row-major tensor on the device of the inputs, owned by the innermost
// scope. Gradients flow to every floating-point input.
//
// Errors have PyTorch's class and message: FY_RUNTIME_ERROR if devices differ or shapes do not match, FY_INDEX_ERROR if
// a dimension is out of range, and FY_NOT_IMPLEMENTED_ERROR if an op does not support a dtype.
//
// An op saves the same tensors for backward as PyTorch does. So changing an input or the result in place makes backward
// raise an error in the same cases, and so does a second backward.
#ifndef FERRY_OP_OPS_H
#define FERRY_OP_OPS_H

#include "op/creation/factory.h"
#include "op/host/host.h"
#include "tensor/tensor.h"

// ---- pointwise ------------------------------------------------------------------------------------------------------
// A number `b` or `exponent` acts like a Python number: a whole number does not change an integer dtype.

FY_API FyTensor *fy_add(FyTensor *a, FyTensor *b);            // torch.add(a, b): a + b
FY_API FyTensor *fy_sub(FyTensor *a, FyTensor *b);            // torch.sub(a, b): a - b; not for bool
FY_API FyTensor *fy_mul(FyTensor *a, FyTensor *b);            // torch.mul(a, b): a * b
FY_API FyTensor *fy_div(FyTensor *a, FyTensor *b);            // torch.div(a, b): a / b; integers become float32
FY_API FyTensor *fy_pow(FyTensor *a, FyTensor *exponent);     // torch.pow(a, exponent): a ** exponent
FY_API FyTensor *fy_add_scalar(FyTensor *a, double b);        // torch.add(a, b): a + b
FY_API FyTensor *fy_sub_scalar(FyTensor *a, double b);        // torch.sub(a, b): a - b
FY_API FyTensor *fy_mul_scalar(FyTensor *a, double b);        // torch.mul(a, b): a * b
FY_API FyTensor *fy_div_scalar(FyTensor *a, double b);        // torch.div(a, b): a / b; integers become float32
FY_API FyTensor *fy_pow_scalar(FyTensor *a, double exponent); // torch.pow(a, exponent); (-infinity) ** 0.5 is NaN
FY_API FyTensor *fy_neg(FyTensor *a);                         // torch.neg(a): -a
FY_API FyTensor *fy_abs(FyTensor *a);                         // torch.abs(a)
FY_API FyTensor *fy_exp(FyTensor *a);                         // torch.exp(a); integers become float32
FY_API FyTensor *fy_log(FyTensor *a);                         // torch.log(a); integers become float32
FY_API FyTensor *fy_sqrt(FyTensor *a);                        // torch.sqrt(a); integers become float32
FY_API FyTensor *fy_tanh(FyTensor *a);                        // torch.tanh(a); integers become float32
FY_API FyTensor *fy_sigmoid(FyTensor *a);                     // torch.sigmoid(a); integers become float32
FY_API FyTensor *fy_relu(FyTensor *a);                        // torch.relu(a)
FY_API FyTensor *fy_gelu(FyTensor *a);                        // F.gelu(a): the exact form, with erf

// Limits each element to [min, max]; -INFINITY and INFINITY mean no bound. A whole bound acts as an integer, and a
// fractional bound converts integers to float32. The gradient of an element that equals a bound is 0, as in PyTorch
// 2.15; in earlier versions it is 1. PyTorch: torch.clamp(a, min, max).
FY_API FyTensor *fy_clamp(FyTensor *a, double min, double max);

// Takes each element from `a` if the condition is true, otherwise from `b`. Raises FY_RUNTIME_ERROR if the condition is
// not a bool tensor. PyTorch: torch.where(condition, a, b).
FY_API FyTensor *fy_where(FyTensor *condition, FyTensor *a, FyTensor *b);

// Compare two tensors element by element, or test the elements of one. The result is a bool tensor, which has no
// gradient.
FY_API FyTensor *fy_eq(FyTensor *a, FyTensor *b); // torch.eq(a, b): a == b
FY_API FyTensor *fy_ne(FyTensor *a, FyTensor *b); // torch.ne(a, b): a != b
FY_API FyTensor *fy_lt(FyTensor *a, FyTensor *b); // torch.lt(a, b): a < b
FY_API FyTensor *fy_le(FyTensor *a, FyTensor *b); // torch.le(a, b): a <= b
FY_API FyTensor *fy_gt(FyTensor *a, FyTensor *b); // torch.gt(a, b): a > b
FY_API FyTensor *fy_ge(FyTensor *a, FyTensor *b); // torch.ge(a, b): a >= b
FY_API FyTensor *fy_isfinite(FyTensor *a);        // torch.isfinite(a)

// ---- in place -------------------------------------------------------------------------------------------------------
// Change `a` in place and return it. The version counter of `a` increases. If an operand shares memory with `a`,
// its values from before the call are used, however the two overlap. PyTorch rejects some of these cases.
//
// Raise FY_RUNTIME_ERROR with PyTorch's messages: "output with shape [...] doesn't match the broadcast shape [...]" and
// "result type Float can't be cast to the desired output type Long". While grad mode is on: "a leaf Variable that
// requires grad is being used in an in-place operation.". For views (graph/view.c explains these errors): "a view of a
// leaf Variable that requires grad is being used in an in-place operation.", "A view was created in no_grad mode and is
// being modified inplace ..." and "Output 0 of SplitBackward0 is a view and is being modified inplace. ...". For an
// expanded tensor, except in fy_fill_ and fy_zero_: "unsupported operation: more than one element of the written-to
// tensor refers to a single memory location. ...".

FY_API FyTensor *fy_add_(FyTensor *a, FyTensor *b);
FY_API FyTensor *fy_sub_(FyTensor *a, FyTensor *b);
FY_API FyTensor *fy_mul_(FyTensor *a, FyTensor *b);
FY_API FyTensor *fy_div_(FyTensor *a, FyTensor *b);
FY_API FyTensor *fy_add_scalar_(FyTensor *a, double b);
FY_API FyTensor *fy_sub_scalar_(FyTensor *a, double b);
FY_API FyTensor *fy_mul_scalar_(FyTensor *a, double b);
FY_API FyTensor *fy_div_scalar_(FyTensor *a, double b);
FY_API FyTensor *fy_pow_scalar_(FyTensor *a, double exponent);
FY_API FyTensor *fy_neg_(FyTensor *a);
FY_API FyTensor *fy_exp_(FyTensor *a);
FY_API FyTensor *fy_log_(FyTensor *a);
FY_API FyTensor *fy_sqrt_(FyTensor *a);
FY_API FyTensor *fy_tanh_(FyTensor *a);
FY_API FyTensor *fy_sigmoid_(FyTensor *a);
FY_API FyTensor *fy_relu_(FyTensor *a);
FY_API FyTensor *fy_clamp_(FyTensor *a, double min, double max);
FY_API FyTensor *fy_zero_(FyTensor *a);
FY_API FyTensor *fy_fill_(FyTensor *a, double value);
FY_API FyTensor *fy_copy_(FyTensor *a, FyTensor *source);           // shape (broadcast), dtype and device may differ
FY_API FyTensor *fy_copy_async_(FyTensor *a, FyTensor *source);     // a.copy_(source, non_blocking=True)
FY_API FyTensor *fy_uniform_(FyTensor *a, double low, double high); // uniform random numbers in [low, high)
FY_API FyTensor *fy_normal_(FyTensor *a, double mean, double std);  // normally distributed random numbers

// ---- reductions -----------------------------------------------------------------------------------------------------
// Reduce all elements to a 0-dim tensor, or reduce the elements along one or several dimensions. A negative dimension
// counts from the end. With `keepdim`, the dimension remains with size 1. Sums of integers and bools are int64. float16
// and bfloat16 are accumulated in float32. fy_mean raises FY_NOT_IMPLEMENTED_ERROR unless the dtype is floating-point.

FY_API FyTensor *fy_sum(FyTensor *a);                                  // tensor.sum()
FY_API FyTensor *fy_sum_dim(FyTensor *a, int dim, bool keepdim);       // tensor.sum(dim, keepdim)
FY_API FyTensor *fy_sum_dims(FyTensor *a, FySize dims, bool keepdim);  // tensor.sum(dims, keepdim)
FY_API FyTensor *fy_mean(FyTensor *a);                                 // tensor.mean()
FY_API FyTensor *fy_mean_dim(FyTensor *a, int dim, bool keepdim);      // tensor.mean(dim, keepdim)
FY_API FyTensor *fy_mean_dims(FyTensor *a, FySize dims, bool keepdim); // tensor.mean(dims, keepdim)

// Return the largest or smallest element as a 0-dim tensor; if an element is NaN, the result is NaN. Elements that
// equal the result share its gradient evenly.
FY_API FyTensor *fy_max(FyTensor *a); // tensor.max()
FY_API FyTensor *fy_min(FyTensor *a); // tensor.min()

// Return the index of the largest or smallest element, int64: the first one if several are equal. Without a dimension,
// it is the index in the flattened tensor. The result has no gradient.
FY_API FyTensor *fy_argmax(FyTensor *a);                            // tensor.argmax()
FY_API FyTensor *fy_argmin(FyTensor *a);                            // tensor.argmin()
FY_API FyTensor *fy_argmax_dim(FyTensor *a, int dim, bool keepdim); // tensor.argmax(dim, keepdim)
FY_API FyTensor *fy_argmin_dim(FyTensor *a, int dim, bool keepdim); // tensor.argmin(dim, keepdim)

// Return the largest or smallest elements along a dimension, and the int64 index of each: the first one if several are
// equal. The gradient flows to this element only. PyTorch: tensor.max(dim, keepdim) and tensor.min(dim, keepdim).
typedef struct FyValuesIndices {
  FyTensor *values, *indices;
} FyValuesIndices;
FY_API FyValuesIndices fy_max_dim(FyTensor *a, int dim, bool keepdim);
FY_API FyValuesIndices fy_min_dim(FyTensor *a, int dim, bool keepdim);

// ---- matrix products ------------------------------------------------------------------------------------------------

// Computes a matrix product of tensors with one or more dimensions. As in PyTorch, a vector counts as a matrix with one
// row or one column, and this dimension is removed from the result. All dimensions but the last two are batch
// dimensions, which broadcast. Raises FY_RUNTIME_ERROR "mat1 and mat2 shapes cannot be multiplied (2x3 and 4x5)".
// PyTorch: torch.matmul(a, b).
FY_API FyTensor *fy_matmul(FyTensor *a, FyTensor *b);

// Multiplies x (*, in) by the transpose of weight (out, in), adds the bias, and returns a tensor (*, out). The bias has
// the shape (out), (1) or (), or is NULL. The weight may also have the shape (in), without a bias; then the result has
// the shape (*). PyTorch: F.linear(x, weight, bias).
FY_API FyTensor *fy_linear(FyTensor *x, FyTensor *weight, FyTensor *bias);

// Computes a linear layer and ReLU as one op, without an intermediate tensor. fy_nn_sequential uses it for a Linear
// layer that is followed by ReLU. PyTorch: F.relu(F.linear(x, weight, bias)).
FY_API FyTensor *fy_linear_relu(FyTensor *x, FyTensor *weight, FyTensor *bias);

// Computes softmax(query * transpose(key) * scale) * value, without storing the matrix of scores:
//
//   fy_scaled_dot_product_attention(query, key, value)
//   fy_scaled_dot_product_attention(query, key, value, .is_causal = true)
//
// query has the shape (*, L, E), key (*, S, E), and value (*, S, Ev); the result is (*, L, Ev). All have the same dtype,
// which is floating-point. float16 and bfloat16 are computed in float32. With .is_causal, query i attends only to the keys
// 0 to i. Raises FY_RUNTIME_ERROR for other shapes: the batch sizes * must be equal, and do not broadcast. There are no
// arguments attn_mask, dropout_p and enable_gqa; use fy_matmul and fy_softmax instead. PyTorch:
// F.scaled_dot_product_attention(query, key, value, is_causal=is_causal, scale=scale).
typedef struct FyAttention {
  FyTensor *value;
  bool is_causal;
  double scale; // 0 means 1 / sqrt(E)
} FyAttention;
#define fy_scaled_dot_product_attention(query, key, ...)                                                               \
  fy_scaled_dot_product_attention_with((query), (key), (FyAttention){.value = __VA_ARGS__})
FY_API FyTensor *fy_scaled_dot_product_attention_with(FyTensor *query, FyTensor *key, FyAttention options);

// ---- softmax, layer norm and losses ---------------------------------------------------------------------------------

FY_API FyTensor *fy_softmax(FyTensor *a, int dim);     // F.softmax(a, dim)
FY_API FyTensor *fy_log_softmax(FyTensor *a, int dim); // F.log_softmax(a, dim)

// Normalizes x (*, normalized_shape) over its last dimensions, which must have the sizes of normalized_shape: each slice
// gets the mean 0 and the variance 1. Then multiplies by weight and adds bias, both of the shape normalized_shape, or
// NULL. float16 and bfloat16 are computed in float32. PyTorch's default of eps is 1e-5; here you must pass it. Raises
// FY_RUNTIME_ERROR if the shapes do not match, or if the dtype of weight or bias is not that of x; beside a half type on
// the CPU, both may be float32. PyTorch: F.layer_norm(x, normalized_shape, weight, bias, eps).
FY_API FyTensor *fy_layer_norm(FyTensor *x, FySize normalized_shape, FyTensor *weight, FyTensor *bias, double eps);

typedef enum FyReduction { FY_REDUCE_MEAN = 0, FY_REDUCE_SUM, FY_REDUCE_NONE } FyReduction;

// Computes the cross-entropy loss of scores and classes:
//
//   fy_cross_entropy(x, y)
//   fy_cross_entropy(x, y, .reduction = FY_REDUCE_SUM)
//
// The input has the shape (N, C) or (C). The target contains classes, int64 or uint8, in the shape (N) or (). Samples
// whose target equals ignore_index do not count. The result is a 0-dim tensor; with FY_REDUCE_NONE, it has the shape of
// the target. Raises FY_INDEX_ERROR if a class is out of range. On a CUDA device, this is a device-side assert instead,
// which the next call that waits for the device reports. Raises FY_NOT_IMPLEMENTED_ERROR if the target contains class
// probabilities. PyTorch: F.cross_entropy(input, target, ignore_index, reduction).
typedef struct FyCrossEntropy {
  FyTensor *target;
  FyReduction reduction;
  bool set_ignore_index; // use `ignore_index`; otherwise it is -100
  int64_t ignore_index;
} FyCrossEntropy;
#define fy_cross_entropy(input, ...) fy_cross_entropy_with((input), (FyCrossEntropy){.target = __VA_ARGS__})
FY_API FyTensor *fy_cross_entropy_with(FyTensor *input, FyCrossEntropy options);

// Computes the mean squared error of two tensors:
//
//   fy_mse_loss(x, y)
//   fy_mse_loss(x, y, .reduction = FY_REDUCE_NONE)
//
// The shapes should be equal; different shapes are broadcast, with a warning, as in PyTorch. The result is a 0-dim
// tensor; with FY_REDUCE_NONE, it has the shape of the input. PyTorch: F.mse_loss(input, target, reduction).
typedef struct FyMseLoss {
  FyTensor *target;
  FyReduction reduction;
} FyMseLoss;
#define fy_mse_loss(input, ...) fy_mse_loss_with((input), (FyMseLoss){.target = __VA_ARGS__})
FY_API FyTensor *fy_mse_loss_with(FyTensor *input, FyMseLoss options);

// ---- images (N, C, H, W) --------------------------------------------------------------------------------------------

// Computes a convolution:
//
//   fy_conv2d(x, w, b)
//   fy_conv2d(x, w, NULL, .stride = 2, .padding = 1)
//
// x has the shape (N, C, H, W) or (C, H, W), the weight (O, C / groups, kH, kW), and the bias (O). The bias may be
// NULL. PyTorch: F.conv2d(x, weight, bias, stride, padding, dilation, groups).
typedef struct FyConv2d {
  FyTensor *bias;
  int stride, padding, dilation, groups; // a stride, dilation or groups of 0 means 1
} FyConv2d;
#define fy_conv2d(x, weight, ...) fy_conv2d_with((x), (weight), (FyConv2d){.bias = __VA_ARGS__})
FY_API FyTensor *fy_conv2d_with(FyTensor *x, FyTensor *weight, FyConv2d options);

// Compute the maximum or the average of each window:
//
//   fy_max_pool2d(x, 2)
//   fy_max_pool2d(x, 3, .stride = 2, .padding = 1)
//
// x has the shape (N, C, H, W) or (C, H, W). The average includes the padding, as with PyTorch's defaults. PyTorch:
// F.max_pool2d(x, kernel_size, stride, padding) and F.avg_pool2d(x, kernel_size, stride, padding).
typedef struct FyPool2d {
  int kernel_size, stride, padding; // a stride of 0 means the kernel size
} FyPool2d;
#define fy_max_pool2d(x, ...) fy_max_pool2d_with((x), (FyPool2d){.kernel_size = __VA_ARGS__})
FY_API FyTensor *fy_max_pool2d_with(FyTensor *x, FyPool2d options);
#define fy_avg_pool2d(x, ...) fy_avg_pool2d_with((x), (FyPool2d){.kernel_size = __VA_ARGS__})
FY_API FyTensor *fy_avg_pool2d_with(FyTensor *x, FyPool2d options);

// Computes a convolution, ReLU and max pooling as one op, without intermediate tensors. On a CPU, this takes about half
// the time and a quarter of the memory of the three ops. x has the shape (N, C, H, W). The options, which include the
// bias, and the errors are those of fy_conv2d and fy_max_pool2d. If groups is not 1, or if the pooling windows have
// padding or a stride that differs from their size, the three ops run one after the other. fy_nn_sequential uses this
// function for a Conv2d layer that is followed by ReLU and MaxPool2d. PyTorch: F.max_pool2d(F.relu(F.conv2d(x, weight,
// bias)), kernel_size).
FY_API FyTensor *fy_conv2d_relu_max_pool2d(FyTensor *x, FyTensor *weight, FyConv2d conv, FyPool2d pool);

// Normalizes x (N, C) or (N, C, H, W) for each channel, that is, over all dimensions but dimension 1. In training, it
// uses the mean and variance of the batch, and updates running_mean and running_var (C) in place; both may then be
// NULL. Otherwise, it uses running_mean and running_var. Neither may require grad. weight and bias (C) may be NULL.
// PyTorch's defaults are momentum 0.1 and eps 1e-5; here you must pass both. PyTorch: F.batch_norm(x, running_mean,
// running_var, weight, bias, training, momentum, eps).
FY_API FyTensor *fy_batch_norm(FyTensor *x, FyTensor *running_mean, FyTensor *running_var, FyTensor *weight,
                               FyTensor *bias, bool training, double momentum, double eps);

// Sets each element to zero with probability p, and multiplies the others by 1 / (1 - p). Returns x itself unless
// `training` is set. Raises FY_VALUE_ERROR unless 0 <= p <= 1. PyTorch: F.dropout(x, p, training).
FY_API FyTensor *fy_dropout(FyTensor *x, double p, bool training);

// ---- joining and indexing -------------------------------------------------------------------------------------------

FY_API FyTensor *fy_cat(FyTensors tensors, int dim);   // torch.cat(tensors, dim)
FY_API FyTensor *fy_stack(FyTensors tensors, int dim); // torch.stack(tensors, dim)

// Selects entries of `a` along a dimension: entry i of the result is entry index[i] of `a`. `index` is a 1-D tensor of
// int64 or int32. If an index is out of range, raises FY_INDEX_ERROR along dimension 0 and FY_RUNTIME_ERROR along other
// dimensions, as in PyTorch. On a CUDA device, this is a device-side assert instead, which the next call that waits for
// the device reports. PyTorch: torch.index_select(a, dim, index).
FY_API FyTensor *fy_index_select(FyTensor *a, int dim, FyTensor *index);

// Returns the rows of weight (V, D) at indices (*), int64 or int32, as a tensor (*, D). Raises FY_INDEX_ERROR if an
// index is out of range; on a CUDA device, this is a device-side assert, as for fy_index_select. PyTorch:
// F.embedding(indices, weight).
FY_API FyTensor *fy_embedding(FyTensor *indices, FyTensor *weight);

// ---- views ----------------------------------------------------------------------------------------------------------
// A view is a tensor that shares the storage of `t`, with a different shape or different strides. Gradients flow
// through views. A negative dimension counts from the end.

// Returns a view with a different shape. One dimension may be -1 and is then computed from the others. Raises
// FY_RUNTIME_ERROR "view size is not compatible with input tensor's size and stride ..." if the strides do not allow a
// view, and "shape '[...]' is invalid for input of size N". PyTorch: tensor.view(shape).
FY_API FyTensor *fy_view(FyTensor *t, FySize shape);

// Returns a view with a different shape if the strides allow it, otherwise a copy. PyTorch: tensor.reshape(shape).
FY_API FyTensor *fy_reshape(FyTensor *t, FySize shape);

FY_API FyTensor *fy_flatten(FyTensor *t, int start_dim,
                            int end_dim);                        // torch.flatten(t, start_dim, end_dim)
FY_API FyTensor *fy_transpose(FyTensor *t, int dim0, int dim1);  // tensor.transpose(dim0, dim1)
FY_API FyTensor *fy_t(FyTensor *t);                              // tensor.t(); at most 2 dimensions
FY_API FyTensor *fy_permute(FyTensor *t, FySize dims);           // tensor.permute(dims)
FY_API FyTensor *fy_select(FyTensor *t, int dim, int64_t index); // tensor.select(dim, index): t[index] if dim is 0

// Returns t[start:end:step] along a dimension. Negative and out-of-range bounds are treated as in Python. Raises
// FY_RUNTIME_ERROR unless step > 0. PyTorch: t[start:end:step].
FY_API FyTensor *fy_slice(FyTensor *t, int dim, int64_t start, int64_t end, int64_t step);

FY_API FyTensor *fy_narrow(FyTensor *t, int dim, int64_t start, int64_t length); // torch.narrow(t, dim, start, length)
FY_API FyTensor *fy_expand(FyTensor *t, FySize shape);           // tensor.expand(shape); -1 keeps the size
FY_API FyTensor *fy_squeeze(FyTensor *t);                        // torch.squeeze(t): removes all dimensions of size 1
FY_API FyTensor *fy_squeeze_dim(FyTensor *t, int dim);           // torch.squeeze(t, dim)
FY_API FyTensor *fy_unsqueeze(FyTensor *t, int dim);             // torch.unsqueeze(t, dim)
FY_API FyTensor *fy_view_as(FyTensor *t, const FyTensor *other); // tensor.view_as(other)

// Splits a tensor along a dimension into at most `chunks` views of equal size (the last one may be smaller), stores
// them in `out`, and returns their number. PyTorch: torch.chunk(t, chunks, dim).
FY_API int fy_chunk(FyTensor *t, int chunks, int dim, FyTensor **out);

// ---- copies and conversions -----------------------------------------------------------------------------------------

FY_API FyTensor *fy_contiguous(FyTensor *t); // tensor.contiguous(): t itself if it is contiguous, otherwise a copy
FY_API FyTensor *fy_clone(FyTensor *t);      // tensor.clone()

// Copies a tensor to a device, or converts its dtype, or both:
//
//   fy_to(x, device)
//   fy_to(x, device, .dtype = FY_FLOAT16, .non_blocking = true)
//
// Returns `t` itself if it already has this device and dtype, unless .copy is set. With .non_blocking, a copy between
// pinned host memory and a CUDA device may still be in progress when the function returns; a result on the host is then
// in pinned memory. Gradients flow back to the device and dtype of t. PyTorch: tensor.to(device, dtype, non_blocking,
// copy).
typedef struct FyTo {
  FyDevice device;
  FyDType dtype;
  bool non_blocking, copy;
} FyTo;
#define fy_to(t, ...) fy_to_with((t), (FyTo){.device = __VA_ARGS__})
FY_API FyTensor *fy_to_with(FyTensor *t, FyTo options);
FY_API FyTensor *fy_to_dtype(FyTensor *t, FyDType dtype); // tensor.to(dtype)
FY_API FyTensor *fy_cuda_current(FyTensor *t);            // tensor.cuda(): fy_cuda(t) copies to the current CUDA device
FY_API FyTensor *fy_cuda_at(FyTensor *t, int index);      // tensor.cuda(index): fy_cuda(t, 1) copies to CUDA device 1
#define fy_cuda(...) FY_CUDA_FUNCTION(__VA_ARGS__, fy_cuda_at, fy_cuda_current, 0)(__VA_ARGS__)
#define FY_CUDA_FUNCTION(tensor, index, function, ...) function
FY_API FyTensor *fy_cpu(FyTensor *t);        // tensor.cpu()
FY_API FyTensor *fy_half(FyTensor *t);       // tensor.half()
FY_API FyTensor *fy_float(FyTensor *t);      // tensor.float()
FY_API FyTensor *fy_double(FyTensor *t);     // tensor.double()
FY_API FyTensor *fy_long(FyTensor *t);       // tensor.long()
FY_API FyTensor *fy_pin_memory(FyTensor *t); // tensor.pin_memory()

// ---- for gradient scalers (amp/) ------------------------------------------------------------------------------------

// Multiplies every gradient by inv_scale in place, and sets found_inf to 1 if an element was infinite or NaN before;
// otherwise found_inf does not change. found_inf and inv_scale are float32 tensors with one element on the gradients'
// device, which does all the work: the function does not wait for it. PyTorch:
// torch._amp_foreach_non_finite_check_and_unscale_(grads, found_inf, inv_scale).
FY_API void fy_amp_foreach_non_finite_check_and_unscale_(FyTensors grads, FyTensor *found_inf, FyTensor *inv_scale);

// Updates the scale of a gradient scaler in place, and returns `scale`. If found_inf is not 0, multiplies scale by
// backoff_factor and sets growth_tracker to 0. Otherwise increases growth_tracker by 1. When it reaches
// growth_interval, sets it to 0 and multiplies scale by growth_factor, unless the product is infinite. The tensors have
// one element each, on the same device: scale and found_inf float32, growth_tracker int32. PyTorch:
// torch._amp_update_scale_(scale, growth_tracker, found_inf, growth_factor, backoff_factor, growth_interval).
FY_API FyTensor *fy_amp_update_scale_(FyTensor *scale, FyTensor *growth_tracker, FyTensor *found_inf,
                                      double growth_factor, double backoff_factor, int64_t growth_interval);

#endif
