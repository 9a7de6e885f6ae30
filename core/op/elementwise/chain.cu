// SPDX-License-Identifier: MIT
// A chain of pointwise ops on CUDA: a thread takes an element through all links, and what lies between them stays in a register.
#include "op/elementwise/chain.h"
#include "op/kernel/cuda_common.cuh"

typedef struct Inputs {
  const float *in[FY_MAX_INPUTS];
} Inputs;

__global__ void run_chain(float *out, Inputs inputs, FyChainParams params, int64_t n) {
  FY_GRID_STRIDE(i, n) {
    out[i] = fy_chain_value(&params, inputs.in, i);
  }
}

extern "C" int fy_cuda_pointwise_chain(FyLaunch *l) {
  const int64_t n = l->out[0]->numel;
  Inputs inputs;
  if (n == 0)
    return FY_LAUNCH_OK;
  for (int k = 0; k < FY_MAX_INPUTS; k++)
    inputs.in[k] = k < l->n_in ? (const float *)l->in[k]->data : NULL;
  run_chain<<<fy_blocks(l, n), FY_BLOCK, 0, fy_stream(l)>>>((float *)l->out[0]->data, inputs,
                                                            *(const FyChainParams *)l->params, n);
  return (int)cudaGetLastError();
}
