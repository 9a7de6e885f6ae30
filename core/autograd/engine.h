// One run of backward: for autograd/ only.
#ifndef FERRY_AUTOGRAD_ENGINE_H
#define FERRY_AUTOGRAD_ENGINE_H

#include "autograd/node.h"

typedef struct FyEngineRun {
  FyTensor *root, *gradient; // of equal shapes
  bool retain_graph;
  // With captures, the gradients that arrive at these edges are stored (counted) and no .grad is touched.
  int capture_count;
  const FyEdge *capture_edges;
  FyTensor **captured;
} FyEngineRun;

void fy_engine_run(const FyEngineRun *run);

#endif
