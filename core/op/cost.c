// What calls do, from their sizes: bytes and operations. A profiler shows the flops; devices that play a GPU compute times.
#include "op/op.h"
#include "tensor/dtype.h"

// Distinct elements: an expanded dimension is read once.
static double bytes_of(const FyTensor *t) {
  if (!t || !t->array.numel)
    return 0;
  double elements = 1;
  for (int d = 0; d < t->array.ndim; d++)
    if (t->array.stride[d] != 0)
      elements *= (double)t->array.shape[d];
  return elements * (double)fy_dtype_size((FyDType)t->array.dtype);
}

static double elements_of(const FyTensor *t) {
  return t ? (double)t->array.numel : 0;
}

FyOpCost fy_cost_of(const FyCall *call) {
  FyOpCost cost = {.flops = elements_of(call->out[0]), .element_bytes = 4};
  for (int i = 0; i < call->n_in; i++)
    cost.bytes_read += bytes_of(call->in[i]);
  for (int i = 0; i < call->n_out; i++)
    cost.bytes_written += bytes_of(call->out[i]);
  if (call->op->cost)
    call->op->cost(call, &cost);
  return cost;
}

void fy_cost_fill(const FyCall *call, FyOpCost *cost) {
  (void)call;
  cost->bytes_read = 0;
}

void fy_cost_counted(const FyCall *call, FyOpCost *cost) {
  (void)call;
  cost->counted = true;
}

void fy_cost_product(const FyCall *call, FyOpCost *cost, double m, double n, double k, double batch) {
  cost->m = m;
  cost->n = n;
  cost->k = k;
  cost->batch = batch;
  cost->flops = 2 * m * n * k * batch;
  cost->element_bytes = call->in[0] ? (int)fy_dtype_size((FyDType)call->in[0]->array.dtype) : 4;
}
