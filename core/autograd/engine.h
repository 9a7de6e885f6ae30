// SPDX-License-Identifier: MIT
// One run of backward: for autograd/ only.
#ifndef FERRY_AUTOGRAD_ENGINE_H
#define FERRY_AUTOGRAD_ENGINE_H

#include "graph/history.h"

typedef struct FyEngineRun {
  FyTensor *root, *gradient; // of equal shapes
  bool retain_graph;
  // With captures, the gradients that arrive at these edges are stored (counted), only nodes on the way to them run, and no
  // .grad of a leaf is touched. An edge may have a NULL node: nothing arrives there.
  int capture_count;
  const FyEdge *capture_edges;
  FyTensor **captured;
} FyEngineRun;

#define FY_NO_GRADIENT "element 0 of tensors does not require grad and does not have a grad_fn"

// Raises FY_NO_GRADIENT where the root has no history and is no leaf of its own, and what the nodes' functions and hooks raise; the graph is then as a backward that got so far leaves it.
void fy_engine_run(const FyEngineRun *run);

#endif
