// SPDX-License-Identifier: MIT
// Views and in-place changes in the graph; view.c begins with an explanation. For core/ only.
#ifndef FERRY_GRAPH_VIEW_H
#define FERRY_GRAPH_VIEW_H

#include "graph/node.h"

// How a view came to be, which decides whether a recorded in-place change may go through it (PyTorch's CreationMeta).
typedef enum FyViewCreation {
  FY_VIEW_ORDINARY,
  FY_VIEW_ONE_OF_SEVERAL, // made by a function that returns several views at once
  FY_VIEW_UNDER_NO_GRAD,
} FyViewCreation;

// Where elements of a storage lie, from the first element of a tensor on, in elements.
typedef struct FyGeometry {
  int ndim;
  int64_t offset;
  int64_t shape[FY_MAX_DIM], stride[FY_MAX_DIM];
} FyGeometry;

// Of AsStridedBackward0 and CopySlices: the changed tensor's geometry and the view's within it.
typedef struct FyRegion {
  FyGeometry base, view;
} FyRegion;

// Makes `view`, which was just made by a view op from `of`, known as a view of it (or of what `of` itself views); `number`
// is its place among several outputs. Never raises.
void fy_view_link(FyTensor *view, FyTensor *of, bool one_of_several, int number);

// `view`, just made, is a view of a copy that nobody else has: from now on it is a tensor of its own. Never raises.
void fy_view_unlink(FyTensor *view);

// Raises PyTorch's errors where `target` must not be changed in place by a recorded op: a leaf that requires grad, a view
// of one, a view made under no_grad or beside others.
void fy_check_in_place(const FyTensor *target);

// Raises "unsupported operation: more than one element of the written-to tensor refers to a single memory location".
void fy_check_no_overlap(const FyTensor *target);

// True when the base changed since the view's history was written down. Never raises.
bool fy_view_is_stale(const FyTensor *view);

// Writes the history of a view anew where it is stale. Raises where the view's creation forbids it.
void fy_view_refresh(FyTensor *view);

// Records that `inner`, the node of an op in place, changed `view`. May raise FY_OUT_OF_MEMORY_ERROR.
void fy_view_rebase(FyTensor *view, FyNode *inner);

// The kinds of the two nodes that view.c makes. Their backward functions compute with ops, and so stand above this room,
// in autograd/view_backward.c.
extern const FyNodeKind fy_as_strided_node, fy_copy_slices_node;

#endif
