// SPDX-License-Identifier: MIT
// A tensor's history: which op made it, and who wants to know of its gradient. For core/ only.
//
// This is the one place that knows. Nothing else reads the fields requires_grad, grad_fn, output_index and hooks of a
// tensor, but for fy_has_gradient (tensor/impl.h): of a view they may be out of date (view.h says why), and the functions
// here bring them up to date first.
#ifndef FERRY_GRAPH_HISTORY_H
#define FERRY_GRAPH_HISTORY_H

#include "graph/node.h"

// tensor.is_leaf. Never raises.
bool fy_history_is_leaf(const FyTensor *t);

// tensor.grad_fn, borrowed; NULL for a leaf. Raises FY_RUNTIME_ERROR for a view whose history cannot be made up to date.
FyNode *fy_history_node(FyTensor *t);

// What grad_fn=<...> shows: the node's name, NULL for a leaf, "Invalid" where fy_history_node raises. Never raises.
const char *fy_history_name(const FyTensor *t);

// The edge that leads to t's history: its grad_fn, or a leaf's accumulator; a NULL node when there is none, or t is NULL.
// The caller releases the node. Raises as fy_history_node, and FY_OUT_OF_MEMORY_ERROR.
FyEdge fy_gradient_edge(FyTensor *t);

// From now on t is output `output_index` of `node`. Hooks stay with the old node, for they asked about the old value;
// retain_grad() is about the tensor and moves along. Never raises.
void fy_set_history(FyTensor *t, FyNode *node, int output_index);

// Appends a hook, which the history then owns; the hook's output_index is filled in. Raises as fy_history_node.
void fy_history_add_hook(FyTensor *t, FyHook *hook);

// Makes the gradient of t, which is no leaf, be added to t->grad. Raises as fy_history_node, and FY_OUT_OF_MEMORY_ERROR.
void fy_history_retain_grad(FyTensor *t);

// The k-th tensor that wants the node's gradients, counted; false when there are not so many. *t is NULL for one that
// another thread is just freeing. Never raises.
bool fy_retained_tensor(FyNode *node, int k, FyTensor **t);

// A leaf that got other memory inside: graphs made before keep the accumulator they know, new ones get one of the new
// dtype and device. Never raises.
void fy_accumulator_forget(FyTensor *leaf);

// Gives up one reference to an accumulator; true when it was the last, and the leaf has forgotten it. Never raises.
bool fy_accumulator_unlink(FyNode *accumulator);

#endif
