// SPDX-License-Identifier: MIT
// Modules whose forward and backward passes are CUDA graphs: torch.cuda.make_graphed_callables.
//
// Use this if parts of a training step cannot be captured (device/cuda_graph.h). Loops, conditions and waits remain
// outside the graphs. Autograd records a call of a graphed module as one node, whose backward replays a second graph.
#ifndef FERRY_NN_CUDA_GRAPH_H
#define FERRY_NN_CUDA_GRAPH_H

#include "device/cuda_graph.h"
#include "nn/nn.h"

// Captures the forward and backward passes of one or more modules as CUDA graphs, which later calls of fy_forward
// replay:
//
//   fy_make_graphed_callables(fy_modules(model), fy_list(sample));
//   fy_make_graphed_callables(fy_modules(encoder, head), fy_list(x, h), .num_warmup_iters = 11);
//
// `sample_args` contains one input for each module, on the module's CUDA device. Later inputs must have the same shape,
// dtype, device and requires_grad. The function first runs each module num_warmup_iters times, forward and backward, on
// a side stream. Then it captures the forward passes in order and the backward passes in reverse order, with a common
// memory pool. The warm-up has the side effects of forward: it changes running means and the state of the random number
// generator.
//
// From then on, fy_forward(module, x) copies x to the memory of the sample, unless x is the sample, and replays the
// graph. It does so only while the module is in the mode, training or evaluation, that it had at the capture; in the
// other mode, it runs as before. The result is in memory of the graph, which the next call overwrites.
//
// Call several modules in the order of the list, and run backward in reverse order. Do not replace or move the modules'
// parameters, because the graphs contain their addresses. Second derivatives are not available.
//
// Raises FY_RUNTIME_ERROR under autocast with its cache ("make_graphed_callables does not support the autocast caching.
// Please set `cache_enabled=False`."), if a sample is not on a CUDA device, if a buffer requires grad, and if a
// parameter or input does not influence the output, unless .allow_unused_input is set. Raises FY_TYPE_ERROR if the list
// of modules or an input is NULL, FY_VALUE_ERROR if the numbers of inputs and modules differ, and the errors of
// captures. After an error, the modules run as before. A later call raises FY_RUNTIME_ERROR if its input differs from
// the sample in shape, dtype or device.
//
// PyTorch: torch.cuda.make_graphed_callables(callables, sample_args, num_warmup_iters, allow_unused_input, pool).
typedef struct FyGraphedCallables {
  FyTensors sample_args;
  int num_warmup_iters; // 0 means 3
  bool allow_unused_input;
  FyPoolId pool; // zeros mean a new pool
} FyGraphedCallables;
#define fy_modules(...) ((FyModule *[]){__VA_ARGS__, NULL})
#define fy_make_graphed_callables(modules, ...)                                                                        \
  fy_make_graphed_callables_with((modules), (FyGraphedCallables){.sample_args = __VA_ARGS__})
FY_API void fy_make_graphed_callables_with(FyModule *const *modules, FyGraphedCallables options);

#endif
