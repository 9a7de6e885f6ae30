// SPDX-License-Identifier: MIT
// The gradients of the two nodes that views and in-place changes leave in the graph (graph/view.c explains them).
#include "graph/view.h"
#include "op/launch.h"
#include "op/ops.h"

// As many elements as lie between a tensor's first and last, with those that no index reaches.
static int64_t extent(const FyGeometry *g) {
  int64_t last = 0;
  for (int d = 0; d < g->ndim; d++) {
    if (g->shape[d] == 0)
      return 0;
    last += (g->shape[d] - 1) * g->stride[d];
  }
  return last + 1;
}

// Memory laid out as the base's, zeros, as one row.
static FyTensor *memory_like(const FyGeometry *base, FyDType dtype, FyDevice device) {
  return fy_zeros_with((FyFactory){.size = fy_shape(extent(base)), .dtype = dtype, .device = device});
}

static FyTensor *part(const FyTensor *memory, const FyGeometry *g) {
  return fy_new_alias(memory, g->ndim, g->shape, g->stride, g->offset);
}

// Elements that were read several times get the sum of what was asked of them: dimensions of stride 0 are summed, and left
// with one element.
static FyTensor *sum_expanded(FyTensor *grad, FyGeometry *g) {
  FySize dims = {.ndim = 0};
  for (int d = 0; d < g->ndim; d++) {
    if (g->stride[d] != 0 || g->shape[d] <= 1)
      continue;
    dims.dim[dims.ndim++] = d;
    g->shape[d] = 1;
  }
  return dims.ndim ? fy_sum_dims(grad, dims, true) : grad;
}

// Of a base that is itself expanded (it was detached so): each memory location stands for several elements, which share
// its gradient.
static double elements_per_location(const FyGeometry *base) {
  double count = 1;
  for (int d = 0; d < base->ndim; d++)
    if (base->stride[d] == 0 && base->shape[d] > 1)
      count *= (double)base->shape[d];
  return count;
}

static void as_strided_backward(FyNode *node, FyTensor *const *grad_out, FyTensor **grad_in) {
  FyRegion region = *fy_node_params(node, FyRegion);
  const FyMeta *base = &node->inputs[0];
  FyTensor *memory = memory_like(&region.base, (FyDType)base->dtype, base->device);
  FyTensor *grad = sum_expanded(grad_out[0], &region.view);
  fy_copy_(part(memory, &region.view), grad);
  double shared = elements_per_location(&region.base);
  if (shared > 1)
    fy_div_scalar_(memory, shared);
  grad_in[0] = part(memory, &region.base);
}

const FyNodeKind fy_as_strided_node = {.name = "AsStridedBackward0", .backward = as_strided_backward};

// A copy of `grad` in the base's layout.
static FyTensor *clone_like(FyTensor *grad, const FyGeometry *base) {
  int64_t dense = 1;
  bool row_major = true;
  for (int d = base->ndim - 1; d >= 0; dense *= base->shape[d--])
    row_major &= base->stride[d] == dense || base->shape[d] == 1;
  if (row_major)
    return fy_clone(grad);
  FyTensor *copy = part(memory_like(base, fy_dtype_of(grad), fy_device_of(grad)), base);
  return fy_copy_(copy, grad);
}

// The gradient of the base, a copy in the base's own layout: of the view's part, what the op on the view makes of it.
static void copy_slices_backward(FyNode *node, FyTensor *const *grad_out, FyTensor **grad_in) {
  FyTensor *through[FY_MAX_INPUTS] = {NULL};
  fy_node_check_not_released(node); // as PyTorch, whose node gives up the op on the view
  const FyRegion *region = fy_node_params(node, FyRegion);
  FyTensor *grad = clone_like(grad_out[0], &region->base);
  FyTensor *changed = part(grad, &region->view);
  FyTensor *outer[1] = {fy_clone(changed)};
  node->inner->backward(node->inner, outer, through);
  for (int i = 1; i < node->n_in; i++)
    grad_in[i] = through[i];
  if (!fy_node_needs(node, 0))
    return;
  if (through[0])
    fy_copy_(changed, through[0]);
  else
    fy_zero_(changed);
  grad_in[0] = grad;
}

const FyNodeKind fy_copy_slices_node = {.name = "CopySlices", .backward = copy_slices_backward};
