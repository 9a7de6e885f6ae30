// SPDX-License-Identifier: MIT
// Places for gradients: a leaf may have a tensor that is to become its .grad, a view of a bucket that processes share for
// instance. Where a leaf has no .grad yet, the op that makes its gradient writes it there at once, if it can, and else it is
// copied there. For core/ only.
#ifndef FERRY_GRAPH_PLACE_H
#define FERRY_GRAPH_PLACE_H

#include "graph/node.h"

enum { FY_MAX_PLACED = 32 }; // inputs of a node, from the first, whose gradients may be placed

// Gives the leaf a place, or takes it away (NULL). Row-major, of the leaf's shape, dtype and device; not counted: the caller
// takes it away before it goes. One thread at a time may run backward to such leaves. Never raises.
void fy_set_grad_place(FyTensor *leaf, FyTensor *place);

// For backward functions: the memory for the gradient of input i, for fy_run_into; NULL where it may lie anywhere. It is given
// only where that gradient is all that goes to a leaf without a .grad. Never raises.
FyTensor *fy_node_place(const FyNode *node, int i);

// Whether a gradient is of the place's kind, which a leaf may have changed since.
bool fy_fits_place(const FyTensor *place, const FyTensor *grad);

// ---- for autograd/engine.c ----

// The node that this thread runs, and which of its inputs' gradients are to be placed.
typedef struct FyPlaced {
  const FyNode *node;
  uint32_t inputs;
} FyPlaced;
extern _Thread_local FyPlaced fy_placed;
extern atomic_int fy_grad_places; // how many leaves have one

#endif
