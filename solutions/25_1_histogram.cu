// Exercise 25.1: counting in shared memory                                                (chapter 25, docs/25_scan.md)
//
// Write the kernel histogram, and histogram_on_device, which launches it:
//
//   counts[b] = how many i with x[i] == b        for b = 0 .. bins-1
//
//   PyTorch:  torch.bincount(x[(x >= 0) & (x < bins)], minlength=bins)
//
// Given, in device memory, at multiples of 16 bytes: x (int, n of them; n may be 0, and is at most 2^20) and counts
// (unsigned int, `bins` of them, to be written, holding anything before). bins is between 1 and 1024. Some x are below
// 0 or at least `bins`, as far as an int goes: they are not counted. Many threads add to the same bin, so each addition
// has to be atomic: counts[b]++ reads, adds and writes, and what another thread adds in between is lost. If every
// thread adds to `counts` itself they queue at few addresses of global memory. So let each block count in __shared__
// memory first, and then add its bins to `counts`. Three parts with a barrier between each: bins of the block zeroed,
// elements counted, bins added to global memory. There may be more bins than threads in a block. A bin may come to have
// some hundred thousand elements.
// Counted: launches of kernels (at most 2; cudaMemset is none), copies to the host (none). For n above 100000 and bins
// above 128 besides: atomic operations on global memory (at most an eighth of n), and blocks (several, in at least one
// of the launches). How blocks add up their bins is free: by atomicAdd, or by a second launch over rows of bins, or
// each block has some of the bins for its own.
//
// In the library: add_rows in core/op/indexing/index.cu adds to places that many threads may share.
#include <cuda_runtime.h>
#include <stdio.h>

enum { MOST_BINS = 1024, THREADS = 256, MOST_BLOCKS = 8 };

__global__ void histogram(unsigned int *counts, const int *x, int n, int bins) {
  // [answer]
  __shared__ unsigned int of_block[MOST_BINS];
  for (int b = threadIdx.x; b < bins; b += THREADS)
    of_block[b] = 0;
  __syncthreads();
  for (long long i = blockIdx.x * THREADS + threadIdx.x; i < n; i += gridDim.x * THREADS) // beyond INT_MAX at the end
    if (x[i] >= 0 && x[i] < bins)
      atomicAdd(&of_block[x[i]], 1u);
  __syncthreads();
  for (int b = threadIdx.x; b < bins; b += THREADS)
    if (of_block[b] > 0)
      atomicAdd(&counts[b], of_block[b]);
  // [stub]
  //| (void)counts;
  //| (void)x;
  //| (void)n;
  //| (void)bins;
  // [end]
}

extern "C" void histogram_on_device(unsigned int *counts, const int *x, int n, int bins) {
  // [answer]
  int blocks = n < THREADS * MOST_BLOCKS ? (n + THREADS - 1) / THREADS : MOST_BLOCKS;
  cudaMemsetAsync(counts, 0, bins * sizeof *counts, 0);
  if (blocks > 0)
    histogram<<<blocks, THREADS>>>(counts, x, n, bins);
  if (cudaPeekAtLastError() != cudaSuccess) // a launch returns nothing: whether it could begin has to be asked for
    fprintf(stderr, "histogram: %s\n", cudaGetErrorString(cudaPeekAtLastError()));
  // [stub]
  //| (void)counts;
  //| (void)x;
  //| (void)n;
  //| (void)bins;
  // [end]
}
