// SPDX-License-Identifier: MIT
// Floating-point operations of a call, from its record: of the ops that PyTorch counts (torch/csrc/profiler/util.cpp).
#include "op/op.h"
#include "profiler/impl.h"

double fy_flops_of(const FyOpCall *call) {
  FyLaunch launch = {.n_in = call->n_in, .n_out = call->n_out, .params = call->params};
  for (int i = 0; i < call->n_in; i++)
    launch.in[i] = call->in[i] ? &call->in[i]->array : NULL;
  for (int i = 0; i < call->n_out; i++)
    launch.out[i] = call->out[i] ? &call->out[i]->array : NULL;
  const FyOpCost cost = fy_cost_of(call->op, &launch);
  return cost.counted ? cost.flops : 0;
}
