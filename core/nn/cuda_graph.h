// SPDX-License-Identifier: MIT
// Modules whose forward and backward are CUDA graphs: torch.cuda.make_graphed_callables.
//
// For a part of a training that cannot be captured as a whole: loops, conditions and waits stay outside, and what autograd
// records of a call is one node, whose backward is a graph, too.
#ifndef FERRY_NN_CUDA_GRAPH_H
#define FERRY_NN_CUDA_GRAPH_H

#include "device/cuda_graph.h"
#include "nn/nn.h"

// torch.cuda.make_graphed_callables(callables, sample_args, num_warmup_iters, allow_unused_input, pool), for modules:
//
//   fy_make_graphed_callables(fy_modules(model), fy_list(sample));
//   fy_make_graphed_callables(fy_modules(encoder, head), fy_list(x, h), .num_warmup_iters = 11);
//
// `sample_args` has an input for each module, on its CUDA device, and with the requires_grad that inputs will have. Runs each
// module num_warmup_iters times (0 means 3), forward and backward, on a side stream, then captures the forwards in order
// and the backwards in reverse, all with one pool. From then on fy_forward(module, x) copies x into the memory of the sample,
// unless it is the sample, and replays, while the module is in the mode (training, eval) that it is in now; in the other mode
// it runs as before. The result is memory of the graph, which the next call overwrites.
//
// Several modules have to be called in the order in which they stand here, and backward in reverse. The modules' parameters,
// whose addresses are in the graphs, must not be replaced or moved. There is no second derivative. Warming up changes what
// forward changes: running means, the position of the random generator.
//
// Raises FY_RUNTIME_ERROR under autocast with its cache ("make_graphed_callables does not support the autocast caching. Please
// set `cache_enabled=False`."), for buffers that require grad, for a parameter or input that has no influence on the output
// unless .allow_unused_input is set, and what captures raise; FY_TYPE_ERROR for a NULL module or input; FY_VALUE_ERROR for
// another number of inputs than of modules. The modules are then as before. A call raises FY_RUNTIME_ERROR for an input of
// another shape, dtype or device than the sample's.
typedef struct FyGraphedCallables {
  FyTensors sample_args;
  int num_warmup_iters;
  bool allow_unused_input;
  FyPoolId pool; // zeros: one of their own
} FyGraphedCallables;
#define fy_modules(...) ((FyModule *[]){__VA_ARGS__, NULL})
#define fy_make_graphed_callables(modules, ...)                                                                        \
  fy_make_graphed_callables_with((modules), (FyGraphedCallables){.sample_args = __VA_ARGS__})
FY_API void fy_make_graphed_callables_with(FyModule *const *modules, FyGraphedCallables options);

#endif
