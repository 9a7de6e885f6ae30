// Exercise 24.1: the sum of a block, the sum of all                                 (chapter 24, docs/24_reductions.md)
//
// Write sum_on_device and its kernels:
//
//   *sum = x[0] + x[1] + ... + x[n-1]
//
//   PyTorch:  torch.sum(x)
//
// Given, in device memory: x (float32, part of a larger array: it begins at any multiple of 4 bytes, and what lies
// before it and follows x[n-1] is not to be added), sum (one float, to be written by each call, holding anything
// before) and partial (room for 1024 floats, to be used or not). n may be 0 (the sum is 0), and is at most 2^20. First
// the threads of a block add up their elements: either in __shared__ memory, halving the number of those that add at
// each step, with __syncthreads() between the steps; or in a warp by __shfl_down_sync, and then the warps' sums. Then
// the blocks' sums: either they go to partial and a second launch of one block adds those, or each block adds its own
// to *sum by atomicAdd, after cudaMemsetAsync has zeroed it. Blocks that meet at one address without an atomic
// operation lose sums. Threads that take several elements each (a grid-stride loop) keep the number of blocks small.
// Blocks run in any order, side by side. A block can rely on what another one wrote only in the next launch, or like
// this: the writer executes __threadfence() and then an atomic operation on a counter; the reader sees the counter
// change by an atomic operation, and executes __threadfence(), too.
// Counted: launches of kernels (at most 4), atomic operations (at most n / 32 + 32), copies to the host (none). Where n
// is above 1024: several blocks share x, the threads of a block add up together (barriers or shuffles), and the last
// launch has more than one thread.
//
// In the library: fy_block_reduce in core/op/kernel/cuda_common.cuh, first in each warp, then among the warps.
#include <cuda_runtime.h>
#include <stdio.h>

enum { THREADS = 256, MOST_BLOCKS = 1024 };

__global__ void block_sums(float *sums, const float *x, int n) {
  (void)sums; // one for each block
  (void)x;
  (void)n;
}

extern "C" void sum_on_device(float *sum, const float *x, float *partial, int n) {
  (void)sum;
  (void)x;
  (void)partial;
  (void)n;
}
