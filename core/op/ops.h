// SPDX-License-Identifier: MIT
// Operations on tensors: torch's functions and torch.nn.functional.
//
// Shapes are written as PyTorch writes them. Unless said otherwise: inputs of any floating dtype (integers where the
// operation makes sense), any strides, all on one device; the result is new, row-major, on that device, owned by the
// innermost scope; gradients flow to every floating input; broadcasting and type promotion are PyTorch's. Errors have
// PyTorch's class and text: FY_RUNTIME_ERROR for unequal devices and shapes that do not broadcast, FY_NOT_IMPLEMENTED_ERROR
// for a dtype that an op does not know. A 0-dim CPU tensor may stand beside CUDA tensors.
//
// An op saves for its backward what PyTorch's saves: whether a change in place of an input or of the result makes backward an
// error, and whether a second backward is one, is as there.
#ifndef FERRY_OP_OPS_H
#define FERRY_OP_OPS_H

#include "op/creation/factory.h"
#include "op/host/host.h"
#include "tensor/tensor.h"

// ---- pointwise -----------------------------------------------------------------------------------------------------------

FY_API FyTensor *fy_add(FyTensor *a, FyTensor *b);        // torch.add(a, b): a + b
FY_API FyTensor *fy_sub(FyTensor *a, FyTensor *b);        // a - b; not for bool
FY_API FyTensor *fy_mul(FyTensor *a, FyTensor *b);        // a * b
FY_API FyTensor *fy_div(FyTensor *a, FyTensor *b);        // a / b, true division: integers become float32
FY_API FyTensor *fy_pow(FyTensor *a, FyTensor *exponent); // torch.pow(a, exponent)
FY_API FyTensor *fy_add_scalar(FyTensor *a,
                               double b);              // a + b, b a Python number: a whole one keeps integers
FY_API FyTensor *fy_sub_scalar(FyTensor *a, double b); // a - b
FY_API FyTensor *fy_mul_scalar(FyTensor *a, double b); // a * b
FY_API FyTensor *fy_div_scalar(FyTensor *a, double b); // a / b
// a ** exponent; an exponent of 0.5 is the square root, of -infinity too: NaN.
FY_API FyTensor *fy_pow_scalar(FyTensor *a, double exponent);
FY_API FyTensor *fy_neg(FyTensor *a);     // -a
FY_API FyTensor *fy_abs(FyTensor *a);     // torch.abs
FY_API FyTensor *fy_exp(FyTensor *a);     // torch.exp; integers become float32, here and below
FY_API FyTensor *fy_log(FyTensor *a);     // torch.log
FY_API FyTensor *fy_sqrt(FyTensor *a);    // torch.sqrt
FY_API FyTensor *fy_tanh(FyTensor *a);    // torch.tanh
FY_API FyTensor *fy_sigmoid(FyTensor *a); // torch.sigmoid
FY_API FyTensor *fy_relu(FyTensor *a);    // torch.relu
FY_API FyTensor *fy_gelu(FyTensor *a);    // F.gelu(a): the exact form, by erf
// torch.clamp; -INFINITY, INFINITY for no bound. A whole bound counts as an int, a fractional one lifts integers to float32.
// The gradient of an element equal to a bound is 0, as in PyTorch 2.15; earlier versions had 1 there.
FY_API FyTensor *fy_clamp(FyTensor *a, double min, double max);
FY_API FyTensor *fy_where(FyTensor *condition, FyTensor *a, FyTensor *b); // torch.where; condition is bool

// Comparisons: bool results, no gradient. torch.eq, ne, lt, le, gt, ge.
FY_API FyTensor *fy_eq(FyTensor *a, FyTensor *b);
FY_API FyTensor *fy_ne(FyTensor *a, FyTensor *b);
FY_API FyTensor *fy_lt(FyTensor *a, FyTensor *b);
FY_API FyTensor *fy_le(FyTensor *a, FyTensor *b);
FY_API FyTensor *fy_gt(FyTensor *a, FyTensor *b);
FY_API FyTensor *fy_ge(FyTensor *a, FyTensor *b);
FY_API FyTensor *fy_isfinite(FyTensor *a); // torch.isfinite

// ---- in place: a is changed and returned; its version counter rises ------------------------------------------------------
// Raise FY_RUNTIME_ERROR: "a leaf Variable that requires grad is being used in an in-place operation." (grad mode on),
// "output with shape [...] doesn't match the broadcast shape [...]", "result type Float can't be cast to the desired
// output type Long", "a view of a leaf Variable that requires grad is being used in an in-place operation.", "A view was
// created in no_grad mode and is being modified inplace ...", "Output 0 of SplitBackward0 is a view and is being modified
// inplace. ..." (graph/view.c tells of the last three), "unsupported operation: more than one element of the written-to
// tensor refers to a single memory location. ..." for an expanded target (but fy_fill_ and fy_zero_). An operand that shares
// memory with the target is read as it was before the call, in whatever way the two lie; PyTorch refuses some of these.

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
FY_API FyTensor *fy_copy_(FyTensor *a, FyTensor *source);       // broadcasts, converts, crosses devices
FY_API FyTensor *fy_copy_async_(FyTensor *a, FyTensor *source); // copy_(source, non_blocking=True)
FY_API FyTensor *fy_uniform_(FyTensor *a, double low, double high);
FY_API FyTensor *fy_normal_(FyTensor *a, double mean, double std);

// ---- reductions ------------------------------------------------------------------------------------------------------------
// Without a dimension: over all elements, to a 0-dim tensor. dim may be negative; with keepdim it stays as size 1.
// Sums of integers and bools are int64. float16 and bfloat16 accumulate in float32.

FY_API FyTensor *fy_sum(FyTensor *a);                                 // a.sum()
FY_API FyTensor *fy_sum_dim(FyTensor *a, int dim, bool keepdim);      // a.sum(dim, keepdim)
FY_API FyTensor *fy_sum_dims(FyTensor *a, FySize dims, bool keepdim); // a.sum((0, 2), keepdim)
FY_API FyTensor *fy_mean(FyTensor *a);                                // a.mean(); floating only
FY_API FyTensor *fy_mean_dim(FyTensor *a, int dim, bool keepdim);
FY_API FyTensor *fy_mean_dims(FyTensor *a, FySize dims, bool keepdim);
FY_API FyTensor *fy_max(FyTensor *a); // a.max(): NaN wins; the gradient is shared evenly among equal maxima
FY_API FyTensor *fy_min(FyTensor *a);
FY_API FyTensor *fy_argmax(FyTensor *a); // a.argmax(): index into the flattened tensor, int64; the first among equals
FY_API FyTensor *fy_argmin(FyTensor *a);
FY_API FyTensor *fy_argmax_dim(FyTensor *a, int dim, bool keepdim);
FY_API FyTensor *fy_argmin_dim(FyTensor *a, int dim, bool keepdim);

// a.max(dim): values and the int64 indices of the first maximum; the gradient goes to that element.
typedef struct FyValuesIndices {
  FyTensor *values, *indices;
} FyValuesIndices;
FY_API FyValuesIndices fy_max_dim(FyTensor *a, int dim, bool keepdim);
FY_API FyValuesIndices fy_min_dim(FyTensor *a, int dim, bool keepdim);

// ---- matrix products ---------------------------------------------------------------------------------------------------------

// torch.matmul: 1-D and 2-D as PyTorch does (vectors gain and lose a dimension), batches broadcast.
// "mat1 and mat2 shapes cannot be multiplied (2x3 and 4x5)".
FY_API FyTensor *fy_matmul(FyTensor *a, FyTensor *b);
// F.linear: x (*, in) by weight (out, in), transposed, plus bias (out), (1), () or NULL: (*, out). A weight (in),
// without a bias, gives (*).
FY_API FyTensor *fy_linear(FyTensor *x, FyTensor *weight, FyTensor *bias);
// F.relu(F.linear(x, weight, bias)) as one op, without the array in between; nn.Sequential calls it for Linear and ReLU.
FY_API FyTensor *fy_linear_relu(FyTensor *x, FyTensor *weight, FyTensor *bias);

// ---- softmax and losses --------------------------------------------------------------------------------------------------------

FY_API FyTensor *fy_softmax(FyTensor *a, int dim);     // F.softmax(a, dim)
FY_API FyTensor *fy_log_softmax(FyTensor *a, int dim); // F.log_softmax(a, dim)

typedef enum FyReduction { FY_REDUCE_MEAN = 0, FY_REDUCE_SUM, FY_REDUCE_NONE } FyReduction;

// F.cross_entropy(input, target): input (N, C) or (C), target int64 or uint8 classes (N) or (); ignored where it equals
// ignore_index (-100 unless .set_ignore_index). fy_cross_entropy(x, y) or fy_cross_entropy(x, y, .reduction = FY_REDUCE_SUM).
// A class out of range raises FY_INDEX_ERROR; on CUDA it is a device-side assert, which the next wait reports.
typedef struct FyCrossEntropy {
  FyTensor *target;
  FyReduction reduction;
  bool set_ignore_index;
  int64_t ignore_index;
} FyCrossEntropy;
#define fy_cross_entropy(input, ...) fy_cross_entropy_with((input), (FyCrossEntropy){.target = __VA_ARGS__})
FY_API FyTensor *fy_cross_entropy_with(FyTensor *input, FyCrossEntropy options);

// F.mse_loss(input, target): equal shapes. fy_mse_loss(x, y, .reduction = FY_REDUCE_NONE).
typedef struct FyMseLoss {
  FyTensor *target;
  FyReduction reduction;
} FyMseLoss;
#define fy_mse_loss(input, ...) fy_mse_loss_with((input), (FyMseLoss){.target = __VA_ARGS__})
FY_API FyTensor *fy_mse_loss_with(FyTensor *input, FyMseLoss options);

// ---- images: tensors are (N, C, H, W) ------------------------------------------------------------------------------------------

// F.conv2d(x, weight, bias): x (N, C, H, W), weight (O, C / groups, kH, kW), bias (O) or NULL.
// fy_conv2d(x, w, b) or fy_conv2d(x, w, NULL, .stride = 2, .padding = 1). A stride, dilation or groups of 0 means 1.
typedef struct FyConv2d {
  FyTensor *bias;
  int stride, padding, dilation, groups;
} FyConv2d;
#define fy_conv2d(x, weight, ...) fy_conv2d_with((x), (weight), (FyConv2d){.bias = __VA_ARGS__})
FY_API FyTensor *fy_conv2d_with(FyTensor *x, FyTensor *weight, FyConv2d options);

// F.max_pool2d and F.avg_pool2d: fy_max_pool2d(x, 2), fy_max_pool2d(x, 3, .stride = 2, .padding = 1). A stride of 0 stands
// for the kernel size. Average pooling counts the padding, as PyTorch's default does.
typedef struct FyPool2d {
  int kernel_size, stride, padding;
} FyPool2d;
#define fy_max_pool2d(x, ...) fy_max_pool2d_with((x), (FyPool2d){.kernel_size = __VA_ARGS__})
FY_API FyTensor *fy_max_pool2d_with(FyTensor *x, FyPool2d options);
#define fy_avg_pool2d(x, ...) fy_avg_pool2d_with((x), (FyPool2d){.kernel_size = __VA_ARGS__})
FY_API FyTensor *fy_avg_pool2d_with(FyTensor *x, FyPool2d options);

// F.max_pool2d(F.relu(F.conv2d(x, weight, bias)), window) with no array in between: on a CPU about half the time, and a
// quarter of the memory, of the three. x (N, C, H, W); options as of fy_conv2d, the bias among them, and of fy_max_pool2d;
// raises what they raise. Windows that do not tile the output (with a stride or padding of their own) and groups run as the
// three ops. nn.Sequential calls it where Conv2d, ReLU and MaxPool2d follow one another.
FY_API FyTensor *fy_conv2d_relu_max_pool2d(FyTensor *x, FyTensor *weight, FyConv2d conv, FyPool2d pool);

// F.batch_norm over dimension 1 of x (N, C) or (N, C, H, W). running_mean, running_var (C) are updated in place when
// training, and may not require grad; weight and bias (C) may be NULL, and so may the running ones, both, when training.
// momentum 0.1 and eps 1e-5 are PyTorch's defaults, to be given here.
FY_API FyTensor *fy_batch_norm(FyTensor *x, FyTensor *running_mean, FyTensor *running_var, FyTensor *weight,
                               FyTensor *bias, bool training, double momentum, double eps);

// F.dropout(x, p, training): zeroes with probability p and scales the rest by 1 / (1 - p). x itself when not training.
FY_API FyTensor *fy_dropout(FyTensor *x, double p, bool training);

// ---- joining and picking -------------------------------------------------------------------------------------------------------

FY_API FyTensor *fy_cat(FyTensors tensors, int dim);   // torch.cat(tensors, dim)
FY_API FyTensor *fy_stack(FyTensors tensors, int dim); // torch.stack(tensors, dim)

// torch.index_select; index int64 or int32, 1-D. Out of range: FY_INDEX_ERROR along dimension 0, FY_RUNTIME_ERROR along others,
// as in PyTorch; on CUDA, here and in fy_embedding, a device-side assert, which the next wait reports.
FY_API FyTensor *fy_index_select(FyTensor *a, int dim, FyTensor *index);
// F.embedding: rows of weight (V, D) at indices (*), int64 or int32: (*, D).
FY_API FyTensor *fy_embedding(FyTensor *indices, FyTensor *weight);

// ---- views: they share storage, and gradients flow through -----------------------------------------------------------

// tensor.view(shape): one dimension may be -1. Raises FY_RUNTIME_ERROR ("view size is not compatible with input tensor's
// size and stride ...") when the strides do not allow it, and "shape '[...]' is invalid for input of size N".
FY_API FyTensor *fy_view(FyTensor *t, FySize shape);
// tensor.reshape(shape): a view where possible, else a copy.
FY_API FyTensor *fy_reshape(FyTensor *t, FySize shape);
FY_API FyTensor *fy_flatten(FyTensor *t, int start_dim, int end_dim); // torch.flatten(t, start_dim, end_dim)
FY_API FyTensor *fy_transpose(FyTensor *t, int dim0, int dim1);       // tensor.transpose(dim0, dim1)
FY_API FyTensor *fy_t(FyTensor *t);                                   // tensor.t(), 2-D at most
FY_API FyTensor *fy_permute(FyTensor *t, FySize dims);                // tensor.permute(dims)
FY_API FyTensor *fy_select(FyTensor *t, int dim, int64_t index);      // tensor.select(dim, index): t[index] for dim 0
FY_API FyTensor *fy_slice(FyTensor *t, int dim, int64_t start, int64_t end, int64_t step); // t[start:end:step] on dim
FY_API FyTensor *fy_narrow(FyTensor *t, int dim, int64_t start, int64_t length);           // torch.narrow
FY_API FyTensor *fy_expand(FyTensor *t, FySize shape); // tensor.expand(shape); -1 keeps a size
FY_API FyTensor *fy_squeeze(FyTensor *t);              // torch.squeeze(t): all dimensions of size 1
FY_API FyTensor *fy_squeeze_dim(FyTensor *t, int dim);
FY_API FyTensor *fy_unsqueeze(FyTensor *t, int dim);
FY_API FyTensor *fy_view_as(FyTensor *t, const FyTensor *other);

// torch.chunk(t, chunks, dim): at most `chunks` views; returns how many and stores them in `out`.
FY_API int fy_chunk(FyTensor *t, int chunks, int dim, FyTensor **out);

// ---- copies and moves --------------------------------------------------------------------------------------------------

FY_API FyTensor *fy_contiguous(FyTensor *t); // itself when contiguous already, else a copy
FY_API FyTensor *fy_clone(FyTensor *t);

// tensor.to(device, ...): fy_to(x, device), fy_to(x, device, .dtype = FY_FLOAT16, .non_blocking = true). Returns `t`
// itself (no copy) when device and dtype are already right, unless .copy. With .non_blocking a copy from pinned host
// memory to a CUDA device, or to pinned memory, returns before it is done. Gradients flow back to t's device.
typedef struct FyTo {
  FyDevice device;
  FyDType dtype;
  bool non_blocking, copy;
} FyTo;
#define fy_to(t, ...) fy_to_with((t), (FyTo){.device = __VA_ARGS__})
FY_API FyTensor *fy_to_with(FyTensor *t, FyTo options);
FY_API FyTensor *fy_to_dtype(FyTensor *t, FyDType dtype); // tensor.to(dtype)
FY_API FyTensor *fy_cuda_current(FyTensor *t);            // tensor.cuda(): fy_cuda(t), to the current CUDA device
FY_API FyTensor *fy_cuda_at(FyTensor *t, int index);      // tensor.cuda(index): fy_cuda(t, 1)
#define fy_cuda(...) FY_CUDA_FUNCTION(__VA_ARGS__, fy_cuda_at, fy_cuda_current, 0)(__VA_ARGS__)
#define FY_CUDA_FUNCTION(tensor, index, function, ...) function
FY_API FyTensor *fy_cpu(FyTensor *t);        // tensor.cpu()
FY_API FyTensor *fy_half(FyTensor *t);       // tensor.half()
FY_API FyTensor *fy_float(FyTensor *t);      // tensor.float()
FY_API FyTensor *fy_double(FyTensor *t);     // tensor.double()
FY_API FyTensor *fy_long(FyTensor *t);       // tensor.long()
FY_API FyTensor *fy_pin_memory(FyTensor *t); // tensor.pin_memory()

// ---- for gradient scalers (amp/) ---------------------------------------------------------------------------------------

// torch._amp_foreach_non_finite_check_and_unscale_(grads, found_inf, inv_scale): multiplies every gradient in place by
// inv_scale, and sets found_inf to 1 if an element of one was infinite or NaN before; otherwise it stays as it was. Both
// are one-element float32 tensors on the gradients' device, where all of it happens: nothing waits.
FY_API void fy_amp_foreach_non_finite_check_and_unscale_(FyTensors grads, FyTensor *found_inf, FyTensor *inv_scale);

// torch._amp_update_scale_: where found_inf is not 0, scale (float32) is multiplied by backoff_factor and growth_tracker (int32)
// becomes 0. Otherwise growth_tracker counts on, and when it reaches growth_interval, it becomes 0 and scale is multiplied by
// growth_factor, unless that is infinite. One element each, on one device; changed in place. Returns scale.
FY_API FyTensor *fy_amp_update_scale_(FyTensor *scale, FyTensor *growth_tracker, FyTensor *found_inf,
                                      double growth_factor, double backoff_factor, int64_t growth_interval);

#endif
