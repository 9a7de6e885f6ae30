// Floating-point operations of a call, from its sizes: the ops that PyTorch counts (torch/csrc/profiler/util.cpp).
#include "op/op.h"
#include "profiler/impl.h"

static double elements(const FyTensor *t) {
  return t ? (double)t->array.numel : 0;
}

// Each element of the output is a sum of `length` products.
static double products(const FyTensor *out, double length) {
  return 2 * elements(out) * length;
}

double fy_flops_of(const FyCall *call) {
  const FyTensor *a = call->in[0], *b = call->n_in > 1 ? call->in[1] : NULL, *out = call->out[0];
  switch (call->op->id) {
  case FY_OP_ID_add:
  case FY_OP_ID_mul:
    return elements(out);
  case FY_OP_ID_linear:
  case FY_OP_ID_matmul:
    return a->array.ndim ? products(out, (double)a->array.shape[a->array.ndim - 1]) : 0;
  case FY_OP_ID_conv2d:
    return b->array.shape[0] ? products(out, elements(b) / (double)b->array.shape[0]) : 0;
  default:
    return 0;
  }
}
