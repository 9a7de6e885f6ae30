// Floating-point operations of a call, from its record: of the ops that PyTorch counts (torch/csrc/profiler/util.cpp).
#include "op/op.h"
#include "profiler/impl.h"

double fy_flops_of(const FyCall *call) {
  const FyOpCost cost = fy_cost_of(call);
  return cost.counted ? cost.flops : 0;
}
