// SPDX-License-Identifier: MIT
// What launches do, from their sizes: bytes and operations. A profiler shows the flops; devices that play a GPU compute times.
#include "op/op.h"
#include "tensor/dtype.h"

// Of distinct elements: an expanded dimension is read once.
static double bytes_of(const FyArray *a) {
  if (!a || !a->numel)
    return 0;
  double elements = 1;
  for (int d = 0; d < a->ndim; d++)
    if (a->stride[d] != 0)
      elements *= (double)a->shape[d];
  return elements * (double)fy_dtype_size(a->dtype);
}

FyOpCost fy_cost_of(const FyOp *op, const FyLaunch *launch) {
  FyOpCost cost = {.flops = launch->out[0] ? (double)launch->out[0]->numel : 0, .element_bytes = 4};
  for (int i = 0; i < launch->n_in; i++)
    cost.bytes_read += bytes_of(launch->in[i]);
  for (int i = 0; i < launch->n_out; i++)
    cost.bytes_written += bytes_of(launch->out[i]);
  if (op->cost)
    op->cost(launch, &cost);
  return cost;
}

void fy_cost_fill(const FyLaunch *launch, FyOpCost *cost) {
  (void)launch;
  cost->bytes_read = 0;
}

void fy_cost_counted(const FyLaunch *launch, FyOpCost *cost) {
  (void)launch;
  cost->counted = true;
}

void fy_cost_product(const FyLaunch *launch, FyOpCost *cost, double m, double n, double k, double batch) {
  cost->m = m;
  cost->n = n;
  cost->k = k;
  cost->batch = batch;
  cost->flops = 2 * m * n * k * batch;
  cost->element_bytes = (int)fy_dtype_size(launch->in[0]->dtype);
}
