// SPDX-License-Identifier: MIT
// Views: other shapes and strides on the same storage. Each is an op without a kernel, so that gradients flow through.
#include "op/shape/view.h"
#include "graph/view.h"
#include "op/op.h"
#include "op/ops.h"
#include <string.h>

// Strides for `shape` over the memory of `a`, or false when no strides can do it: each run of old dimensions that lies
// without gaps must be split or joined among itself.
static bool view_strides(const FyArray *a, int ndim, const int64_t *shape, int64_t *stride) {
  if (a->numel == 0 || a->contiguous) {
    int64_t step = 1;
    for (int i = ndim - 1; i >= 0; i--) {
      stride[i] = step;
      step *= shape[i] > 1 ? shape[i] : 1;
    }
    return true;
  }
  int next = ndim - 1;
  int64_t run = 1, filled = 1, base = a->ndim ? a->stride[a->ndim - 1] : 1;
  for (int i = a->ndim - 1; i >= 0; i--) {
    run *= a->shape[i];
    bool ends = i == 0 || (a->shape[i - 1] != 1 && a->stride[i - 1] != run * base);
    if (!ends)
      continue;
    while (next >= 0 && (filled < run || shape[next] == 1)) {
      stride[next] = filled * base;
      filled *= shape[next--];
    }
    if (filled != run)
      return false;
    if (i > 0) {
      base = a->stride[i - 1];
      run = filled = 1;
    }
  }
  return next == -1;
}

// Replaces a -1 in shape by what is left of numel; raises when the shape does not fit.
static FySize complete_shape(const FyTensor *t, const FySize given) {
  FySize shape = given;
  int64_t known = 1;
  int unknown = -1;
  for (int i = 0; i < shape.ndim; i++) {
    if (shape.dim[i] == -1) {
      fy_check(unknown < 0, FY_RUNTIME_ERROR, "only one dimension can be inferred");
      unknown = i;
      continue;
    }
    fy_check(shape.dim[i] >= 0, FY_RUNTIME_ERROR, "invalid shape dimension %lld", (long long)shape.dim[i]);
    known *= shape.dim[i];
  }
  if (unknown >= 0) {
    fy_check(known != 0, FY_RUNTIME_ERROR,
             "cannot reshape tensor of 0 elements into shape %s because the unspecified dimension size -1 can be any "
             "value and is ambiguous",
             fy_sizes_string(given.ndim, given.dim));
    shape.dim[unknown] = t->array.numel / known;
    known *= shape.dim[unknown];
  }
  fy_check(known == t->array.numel, FY_RUNTIME_ERROR, "shape '%s' is invalid for input of size %lld",
           fy_sizes_string(given.ndim, given.dim), (long long)t->array.numel);
  return shape;
}

static FyTensor *run(const FyOp *op, const FyViewParams *params, FyTensor *t) {
  return fy_run(op, params, FY_INPUTS(t));
}

// ---- view, reshape, flatten ----------------------------------------------------------------------------------------

// The shape for this input: the parameters', or, of a recorded call, with the size that follows the input's.
static FySize shape_for(const FyTensor *t, const FyViewParams *p) {
  FySize shape = {.ndim = p->ndim};
  memcpy(shape.dim, p->shape, sizeof shape.dim);
  if (p->dim == FY_VIEW_AS_GIVEN)
    return shape;
  if (p->dim == FY_VIEW_KEEP_FIRST)
    shape.dim[0] = t->array.shape[0];
  else
    shape.dim[p->dim - 1] = -1;
  return complete_shape(t, shape);
}

static void view_infer(FyOpCall *call) {
  const FySize shape = shape_for(call->in[0], call->params);
  int64_t stride[FY_MAX_DIM];
  fy_check(view_strides(&call->in[0]->array, shape.ndim, shape.dim, stride), FY_RUNTIME_ERROR,
           "view size is not compatible with input tensor's size and stride (at least one dimension spans across two "
           "contiguous subspaces). Use .reshape(...) instead.");
  fy_call_view(call, shape.ndim, shape.dim, stride, 0);
}

static FySize input_shape(const FyNode *node) {
  FySize shape = {.ndim = node->inputs[0].ndim};
  memcpy(shape.dim, node->inputs[0].shape, (size_t)shape.ndim * sizeof *shape.dim);
  return shape;
}

static void reshape_backward(FyNode *node, FyTensor *const *grad_out, FyTensor **grad_in) {
  grad_in[0] = fy_reshape(grad_out[0], input_shape(node));
}

const FyOp fy_op_view = {.name = "view",
                         .grad_name = "ViewBackward0",
                         .flags = FY_OP_VIEW,
                         .infer = view_infer,
                         .backward = reshape_backward,
                         .params_size = sizeof(FyViewParams),
                         .id = FY_OP_ID_view};

FyTensor *fy_view(FyTensor *t, FySize shape) {
  int left = FY_VIEW_AS_GIVEN;
  for (int i = 0; i < shape.ndim; i++)
    left = shape.dim[i] == -1 ? i + 1 : left;
  shape = complete_shape(t, shape);
  FyViewParams p = {.ndim = shape.ndim, .dim = left};
  memcpy(p.shape, shape.dim, sizeof p.shape);
  return run(&fy_op_view, &p, t);
}

FyTensor *fy_reshape(FyTensor *t, FySize shape) {
  int64_t stride[FY_MAX_DIM];
  const FySize whole = complete_shape(t, shape);
  if (view_strides(&t->array, whole.ndim, whole.dim, stride))
    return fy_view(t, shape);
  FyTensor *copied = fy_view(fy_contiguous(t), shape);
  fy_view_unlink(copied);
  return copied;
}

FyTensor *fy_view_as(FyTensor *t, const FyTensor *other) {
  return fy_view(t, fy_size(other));
}

FyTensor *fy_flatten(FyTensor *t, int start_dim, int end_dim) {
  const FyArray *a = &t->array;
  int start = fy_wrap_dim(start_dim, a->ndim), end = fy_wrap_dim(end_dim, a->ndim);
  if (a->ndim == 0)
    return fy_reshape(t, fy_shape(1));
  fy_check(start <= end, FY_RUNTIME_ERROR, "flatten() has invalid args: start_dim cannot come after end_dim");
  if (start == end)
    return t;
  FySize shape = {.ndim = 0};
  int64_t joined = 1;
  for (int i = 0; i < a->ndim; i++) {
    if (i < start || i > end)
      shape.dim[shape.ndim++] = a->shape[i];
    else if (joined *= a->shape[i], i == end)
      shape.dim[shape.ndim++] = joined;
  }
  return fy_reshape(t, shape);
}

// ---- transpose, permute --------------------------------------------------------------------------------------------

static void transpose_infer(FyOpCall *call) {
  const FyViewParams *p = call->params;
  FyArray a = call->in[0]->array;
  if (a.ndim) {
    a.shape[p->dim] = call->in[0]->array.shape[p->dim1];
    a.shape[p->dim1] = call->in[0]->array.shape[p->dim];
    a.stride[p->dim] = call->in[0]->array.stride[p->dim1];
    a.stride[p->dim1] = call->in[0]->array.stride[p->dim];
  }
  fy_call_view(call, a.ndim, a.shape, a.stride, 0);
}

static void transpose_backward(FyNode *node, FyTensor *const *grad_out, FyTensor **grad_in) {
  const FyViewParams *p = fy_node_params(node, FyViewParams);
  grad_in[0] = fy_transpose(grad_out[0], p->dim, p->dim1);
}

static const char *transpose_name(const FyNode *node) {
  return fy_node_params(node, FyViewParams)->step ? "TBackward0" : "TransposeBackward0"; // step 1: called as t()
}

const FyOp fy_op_transpose = {.name = "transpose",
                              .grad_name = "TransposeBackward0",
                              .grad_name_of = transpose_name,
                              .flags = FY_OP_VIEW,
                              .infer = transpose_infer,
                              .backward = transpose_backward,
                              .params_size = sizeof(FyViewParams),
                              .id = FY_OP_ID_transpose};

FyTensor *fy_transpose(FyTensor *t, int dim0, int dim1) {
  FyViewParams p = {.dim = fy_wrap_dim(dim0, t->array.ndim), .dim1 = fy_wrap_dim(dim1, t->array.ndim)};
  return run(&fy_op_transpose, &p, t);
}

FyTensor *fy_t(FyTensor *t) {
  fy_check(t->array.ndim <= 2, FY_RUNTIME_ERROR, "t() expects a tensor with <= 2 dimensions, but self is %dD",
           t->array.ndim);
  FyViewParams p = {.dim = 0, .dim1 = t->array.ndim == 2, .step = 1};
  return run(&fy_op_transpose, &p, t);
}

static void permute_infer(FyOpCall *call) {
  const FyViewParams *p = call->params;
  const FyArray *in = &call->in[0]->array;
  int64_t shape[FY_MAX_DIM], stride[FY_MAX_DIM];
  for (int i = 0; i < p->ndim; i++) {
    shape[i] = in->shape[p->shape[i]];
    stride[i] = in->stride[p->shape[i]];
  }
  fy_call_view(call, p->ndim, shape, stride, 0);
}

static void permute_backward(FyNode *node, FyTensor *const *grad_out, FyTensor **grad_in) {
  const FyViewParams *p = fy_node_params(node, FyViewParams);
  FySize inverse = {.ndim = p->ndim};
  for (int i = 0; i < p->ndim; i++)
    inverse.dim[p->shape[i]] = i;
  grad_in[0] = fy_permute(grad_out[0], inverse);
}

const FyOp fy_op_permute = {.name = "permute",
                            .grad_name = "PermuteBackward0",
                            .flags = FY_OP_VIEW,
                            .infer = permute_infer,
                            .backward = permute_backward,
                            .params_size = sizeof(FyViewParams),
                            .id = FY_OP_ID_permute};

FyTensor *fy_permute(FyTensor *t, FySize dims) {
  FyViewParams p = {.ndim = dims.ndim};
  unsigned seen = 0;
  fy_check(dims.ndim == t->array.ndim, FY_RUNTIME_ERROR,
           "permute(): number of dimensions in the tensor input does not match the length of the desired ordering of "
           "dimensions i.e. input.dim() = %d is not equal to len(dims) = %d",
           t->array.ndim, dims.ndim);
  for (int i = 0; i < dims.ndim; i++) {
    p.shape[i] = fy_wrap_dim(dims.dim[i], dims.ndim);
    fy_check(!(seen >> p.shape[i] & 1), FY_RUNTIME_ERROR, "permute(): duplicate dims are not allowed.");
    seen |= 1u << p.shape[i];
  }
  return run(&fy_op_permute, &p, t);
}

// ---- select, slice -------------------------------------------------------------------------------------------------

static void select_infer(FyOpCall *call) {
  const FyViewParams *p = call->params;
  FyArray a = call->in[0]->array;
  int64_t offset = p->start * a.stride[p->dim];
  for (int i = p->dim; i + 1 < a.ndim; i++) {
    a.shape[i] = a.shape[i + 1];
    a.stride[i] = a.stride[i + 1];
  }
  fy_call_view(call, a.ndim - 1, a.shape, a.stride, offset);
}

static FyTensor *zeros_of_input(const FyNode *node) {
  const FyMeta *m = &node->inputs[0];
  return fy_zeros_with((FyFactory){.size = input_shape(node), .dtype = m->dtype, .device = m->device});
}

static void select_backward(FyNode *node, FyTensor *const *grad_out, FyTensor **grad_in) {
  const FyViewParams *p = fy_node_params(node, FyViewParams);
  FyTensor *grad = zeros_of_input(node);
  fy_copy_(fy_select(grad, p->dim, p->start), grad_out[0]);
  grad_in[0] = grad;
}

const FyOp fy_op_select = {.name = "select",
                           .grad_name = "SelectBackward0",
                           .flags = FY_OP_VIEW,
                           .infer = select_infer,
                           .backward = select_backward,
                           .params_size = sizeof(FyViewParams),
                           .id = FY_OP_ID_select};

FyTensor *fy_select(FyTensor *t, int dim, int64_t index) {
  fy_check(t->array.ndim, FY_INDEX_ERROR, "select() cannot be applied to a 0-dim tensor.");
  int d = fy_wrap_dim(dim, t->array.ndim);
  int64_t size = t->array.shape[d];
  fy_check(index >= -size && index < size, FY_INDEX_ERROR,
           "select(): index %lld out of range for tensor of size %s at dimension %d", (long long)index, fy_sizes_of(t),
           d);
  FyViewParams p = {.dim = d, .start = index < 0 ? index + size : index};
  return run(&fy_op_select, &p, t);
}

static void slice_infer(FyOpCall *call) {
  const FyViewParams *p = call->params;
  FyArray a = call->in[0]->array;
  int64_t offset = p->start * a.stride[p->dim];
  a.shape[p->dim] = p->length;
  int64_t stride;
  if (!__builtin_mul_overflow(a.stride[p->dim], p->step, &stride)) // else one element at most: no step is taken
    a.stride[p->dim] = stride;
  fy_call_view(call, a.ndim, a.shape, a.stride, p->length ? offset : 0);
}

static void slice_backward(FyNode *node, FyTensor *const *grad_out, FyTensor **grad_in) {
  const FyViewParams *p = fy_node_params(node, FyViewParams);
  FyTensor *grad = zeros_of_input(node);
  fy_copy_(run(&fy_op_slice, p, grad), grad_out[0]);
  grad_in[0] = grad;
}

const FyOp fy_op_slice = {.name = "slice",
                          .grad_name = "SliceBackward0",
                          .flags = FY_OP_VIEW,
                          .infer = slice_infer,
                          .backward = slice_backward,
                          .params_size = sizeof(FyViewParams),
                          .id = FY_OP_ID_slice};

// A part of a tensor that was cut into several.
static const char *split_name(const FyNode *node) {
  return fy_node_params(node, FyViewParams)->length ? "SplitBackward0" : "SplitWithSizesBackward0";
}

const FyOp fy_op_split = {.name = "split",
                          .grad_name = "SplitBackward0",
                          .grad_name_of = split_name,
                          .flags = FY_OP_VIEW | FY_OP_ONE_OF_SEVERAL,
                          .infer = slice_infer,
                          .backward = slice_backward,
                          .params_size = sizeof(FyViewParams),
                          .id = FY_OP_ID_split};

static int64_t clip(int64_t value, int64_t size) {
  if (value < 0)
    value += size;
  return value < 0 ? 0 : value > size ? size : value;
}

FyTensor *fy_slice(FyTensor *t, int dim, int64_t start, int64_t end, int64_t step) {
  fy_check(t->array.ndim, FY_INDEX_ERROR, "slice() cannot be applied to a 0-dim tensor.");
  fy_check(step > 0, FY_RUNTIME_ERROR, "slice step must be positive");
  int d = fy_wrap_dim(dim, t->array.ndim);
  int64_t size = t->array.shape[d];
  start = clip(start, size);
  end = clip(end, size);
  FyViewParams p = {.dim = d, .start = start, .step = step, .length = end > start ? (end - start - 1) / step + 1 : 0};
  return run(&fy_op_slice, &p, t);
}

FyTensor *fy_narrow(FyTensor *t, int dim, int64_t start, int64_t length) {
  fy_check(t->array.ndim, FY_RUNTIME_ERROR, "narrow() cannot be applied to a 0-dim tensor.");
  int d = fy_wrap_dim(dim, t->array.ndim);
  int64_t size = t->array.shape[d];
  fy_check(length >= 0, FY_RUNTIME_ERROR, "narrow(): length must be non-negative.");
  fy_check(start >= -size && start <= size, FY_INDEX_ERROR,
           "start out of range (expected to be in range of [%lld, %lld], but got %lld)", (long long)-size,
           (long long)size, (long long)start);
  start = start < 0 ? start + size : start;
  fy_check(start <= size - length, FY_RUNTIME_ERROR, "start (%lld) + length (%lld) exceeds dimension size (%lld).",
           (long long)start, (long long)length, (long long)size);
  FyViewParams p = {.dim = d, .start = start, .step = 1, .length = length};
  return run(&fy_op_slice, &p, t);
}

int fy_chunk(FyTensor *t, int chunks, int dim, FyTensor **out) {
  fy_check(t->array.ndim, FY_RUNTIME_ERROR, "chunk expects at least a 1-dimensional tensor");
  fy_check(chunks > 0, FY_RUNTIME_ERROR, "chunk expects `chunks` to be greater than 0, got: %d", chunks);
  int d = fy_wrap_dim(dim, t->array.ndim), n = 0;
  int64_t size = t->array.shape[d], step = size ? (size + chunks - 1) / chunks : 1;
  int count = size ? (int)((size + step - 1) / step) : chunks;
  for (; n < count; n++) {
    int64_t start = n * step, rest = size - start;
    FyViewParams p = {.dim = d, .start = start, .step = 1, .length = rest < step ? rest : step};
    if (!size)
      p.start = p.length = 0;
    out[n] = run(&fy_op_split, &p, t);
    out[n]->view_number = (int16_t)n;
  }
  return n;
}

// ---- expand, squeeze, unsqueeze ------------------------------------------------------------------------------------

static void expand_infer(FyOpCall *call) {
  const FyViewParams *p = call->params;
  const FyArray *in = &call->in[0]->array;
  int64_t shape[FY_MAX_DIM], stride[FY_MAX_DIM];
  fy_check(p->ndim >= in->ndim, FY_RUNTIME_ERROR,
           "expand(torch.%sTensor{%s}, size=%s): the number of sizes provided (%d) must be greater or equal to the "
           "number of dimensions in the tensor (%d)",
           fy_dtype_scalar_name(in->dtype), fy_sizes_of(call->in[0]), fy_sizes_string(p->ndim, p->shape), p->ndim,
           in->ndim);
  for (int i = p->ndim - 1; i >= 0; i--) {
    int j = i - (p->ndim - in->ndim);
    int64_t size = p->shape[i], old = j >= 0 ? in->shape[j] : 1;
    fy_check(size >= 0 || j >= 0, FY_RUNTIME_ERROR,
             "expand(torch.%sTensor{%s}, size=%s): the expanded size of the tensor (%lld) isn't allowed in a "
             "leading, non-existing dimension %d",
             fy_dtype_scalar_name(in->dtype), fy_sizes_of(call->in[0]), fy_sizes_string(p->ndim, p->shape),
             (long long)size, i);
    if (size == -1)
      size = old;
    fy_check(size == old || old == 1, FY_RUNTIME_ERROR,
             "The expanded size of the tensor (%lld) must match the existing size (%lld) at non-singleton dimension "
             "%d.  Target sizes: %s.  Tensor sizes: %s",
             (long long)size, (long long)old, i, fy_sizes_string(p->ndim, p->shape), fy_sizes_of(call->in[0]));
    shape[i] = size;
    stride[i] = j >= 0 && old == size ? in->stride[j] : 0;
  }
  fy_call_view(call, p->ndim, shape, stride, 0);
}

static void expand_backward(FyNode *node, FyTensor *const *grad_out, FyTensor **grad_in) {
  (void)node;
  grad_in[0] = grad_out[0]; // the engine sums the expanded dimensions
}

const FyOp fy_op_expand = {.name = "expand",
                           .grad_name = "ExpandBackward0",
                           .flags = FY_OP_VIEW,
                           .infer = expand_infer,
                           .backward = expand_backward,
                           .params_size = sizeof(FyViewParams),
                           .id = FY_OP_ID_expand};

FyTensor *fy_expand(FyTensor *t, FySize shape) {
  FyViewParams p = {.ndim = shape.ndim};
  memcpy(p.shape, shape.dim, sizeof p.shape);
  return run(&fy_op_expand, &p, t);
}

// dim is a mask of the dimensions to remove.
static void squeeze_infer(FyOpCall *call) {
  const FyViewParams *p = call->params;
  FyArray a = call->in[0]->array;
  int ndim = 0;
  for (int i = 0; i < a.ndim; i++) {
    if (p->dim >> i & 1)
      continue;
    a.shape[ndim] = a.shape[i];
    a.stride[ndim++] = a.stride[i];
  }
  fy_call_view(call, ndim, a.shape, a.stride, 0);
}

static const char *squeeze_name(const FyNode *node) {
  return fy_node_params(node, FyViewParams)->step ? "SqueezeBackward1" : "SqueezeBackward0";
}

const FyOp fy_op_squeeze = {.name = "squeeze",
                            .grad_name = "SqueezeBackward0",
                            .grad_name_of = squeeze_name,
                            .flags = FY_OP_VIEW,
                            .infer = squeeze_infer,
                            .backward = reshape_backward,
                            .params_size = sizeof(FyViewParams),
                            .id = FY_OP_ID_squeeze};

FyTensor *fy_squeeze(FyTensor *t) {
  FyViewParams p = {.dim = 0};
  for (int i = 0; i < t->array.ndim; i++)
    p.dim |= (t->array.shape[i] == 1) << i;
  return run(&fy_op_squeeze, &p, t);
}

FyTensor *fy_squeeze_dim(FyTensor *t, int dim) {
  int d = fy_wrap_dim(dim, t->array.ndim);
  FyViewParams p = {.dim = t->array.ndim && t->array.shape[d] == 1 ? 1 << d : 0, .step = 1};
  return run(&fy_op_squeeze, &p, t);
}

static void unsqueeze_infer(FyOpCall *call) {
  const FyViewParams *p = call->params;
  FyArray a = call->in[0]->array;
  fy_check(a.ndim < FY_MAX_DIM, FY_RUNTIME_ERROR, "a tensor has at most %d dimensions in Ferry", FY_MAX_DIM);
  for (int i = a.ndim; i > p->dim; i--) {
    a.shape[i] = a.shape[i - 1];
    a.stride[i] = a.stride[i - 1];
  }
  a.stride[p->dim] = p->dim < a.ndim ? a.shape[p->dim + 1] * a.stride[p->dim + 1] : 1;
  a.shape[p->dim] = 1;
  fy_call_view(call, a.ndim + 1, a.shape, a.stride, 0);
}

const FyOp fy_op_unsqueeze = {.name = "unsqueeze",
                              .grad_name = "UnsqueezeBackward0",
                              .flags = FY_OP_VIEW,
                              .infer = unsqueeze_infer,
                              .backward = reshape_backward,
                              .params_size = sizeof(FyViewParams),
                              .id = FY_OP_ID_unsqueeze};

FyTensor *fy_unsqueeze(FyTensor *t, int dim) {
  FyViewParams p = {.dim = fy_wrap_dim(dim, t->array.ndim + 1)};
  return run(&fy_op_unsqueeze, &p, t);
}
