// SPDX-License-Identifier: MIT
#include "trace/chain.h"
#include "op/levels.h"
#include <string.h>

static size_t aligned(size_t bytes) {
  return (bytes + 63) / 64 * 64;
}

bool fy_chain_finish(FyChain *chain) {
  enum { USUAL = 2048, MOST = 16384 };
  int64_t block = 1;
  for (int i = 0; i < chain->input_count; i++) {
    const int64_t period = chain->inputs[i].period;
    if (period > 1 && block > 1 && period != block)
      return false;
    if (period > block)
      block = period;
  }
  if (block > MOST)
    return false;
  chain->block = block >= USUAL ? block : USUAL / block * block;
  chain->memory = 0;
  for (int i = 0; i < chain->count; i++) {
    chain->offset[i] = (int64_t)chain->memory;
    chain->memory += aligned((size_t)chain->block * fy_dtype_size(chain->links[i].dtype));
  }
  return true;
}

static FyArray run_of(void *data, FyDType dtype, int64_t count) {
  FyArray a;
  a.data = data;
  a.numel = count;
  a.ndim = 1;
  a.dtype = (uint8_t)dtype;
  a.contiguous = true;
  a.host_scalar = false;
  a.shape[0] = count;
  a.stride[0] = 1;
  return a;
}

// An input's part of the block: as many elements as the block has, or a number, or rows of which each is the same.
static FyArray part_of(const FyChainInput *input, void *data, int64_t first, int64_t count) {
  if (!input->period)
    return run_of((char *)data + first * (int64_t)fy_dtype_size(input->dtype), input->dtype, count);
  FyArray a = run_of(data, input->dtype, count);
  if (input->period == 1) {
    a.stride[0] = 0;
    a.contiguous = count == 1;
  }
  return a;
}

// Rows of `period` elements of all arrays, for an input that repeats.
static void fold(FyArray *a, int64_t period, int64_t count, bool repeats) {
  const int64_t stride = a->stride[0];
  a->ndim = 2;
  a->shape[0] = count / period;
  a->shape[1] = period;
  a->stride[0] = repeats ? 0 : period * stride;
  a->stride[1] = stride;
  a->contiguous = !repeats && stride == 1;
}

int fy_chain_run(const FyChain *chain, int64_t task, void *const *in, void *out, void *memory, const FyLink **failed) {
  const int64_t first = task * chain->block;
  const int64_t count = chain->numel - first < chain->block ? chain->numel - first : chain->block;
  FyArray made[FY_MAX_CHAIN];
  for (int i = 0; i < chain->count; i++) {
    const FyLink *link = &chain->links[i];
    FyArray given[FY_MAX_INPUTS];
    FyLaunch launch = {.n_in = link->n_in, .n_out = 1, .params = link->params};
    int64_t period = 0;
    made[i] = run_of((char *)memory + chain->offset[i], link->dtype, count);
    if (i == chain->count - 1)
      made[i].data = (char *)out + first * (int64_t)fy_dtype_size(link->dtype);
    for (int k = 0; k < link->n_in; k++) {
      const FyChainInput *input = link->source[k] < 0 ? &chain->inputs[-1 - link->source[k]] : NULL;
      given[k] = input ? part_of(input, in[-1 - link->source[k]], first, count) : made[link->source[k]];
      if (input && input->period > 1 && (!period || input->period < period))
        period = input->period;
    }
    FyArray result = made[i];
    for (int k = 0; k < link->n_in && period; k++) {
      const FyChainInput *input = link->source[k] < 0 ? &chain->inputs[-1 - link->source[k]] : NULL;
      fold(&given[k], period, count, input && input->period > 1);
    }
    if (period)
      fold(&result, period, count, false);
    for (int k = 0; k < link->n_in; k++)
      launch.in[k] = &given[k];
    launch.out[0] = &result;
    const int status = fy_cpu_kernel(link->op)(&launch);
    if (status != FY_LAUNCH_OK) {
      *failed = link;
      return status;
    }
  }
  return FY_LAUNCH_OK;
}
