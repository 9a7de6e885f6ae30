// mistake: remainder counted by each block
#include <cuda_runtime.h>

enum { BINS = 64, THREADS = 128, BLOCKS = 8, WARPS = THREADS / 32, BYTES = 16 };

// Sixteen numbers by each load, and counters for each warp, so that fewer threads meet at one.
__global__ void count(int *counts, const unsigned char *x, int n) {
  __shared__ int own[WARPS][BINS];
  const int t = threadIdx.x;
  int *mine = own[t / 32];
  for (int i = t; i < WARPS * BINS; i += THREADS)
    own[i / BINS][i % BINS] = 0;
  __syncthreads();

  const uint4 *pieces = (const uint4 *)x;
  for (int i = blockIdx.x * THREADS + t; i < n / BYTES; i += gridDim.x * THREADS) {
    const uint4 piece = pieces[i];
    for (int shift = 0; shift < 32; shift += 8) {
      atomicAdd(&mine[piece.x >> shift & 255], 1);
      atomicAdd(&mine[piece.y >> shift & 255], 1);
      atomicAdd(&mine[piece.z >> shift & 255], 1);
      atomicAdd(&mine[piece.w >> shift & 255], 1);
    }
  }
  if (t < n % BYTES) // the last, incomplete piece
    atomicAdd(&mine[x[n / BYTES * BYTES + t]], 1);
  __syncthreads();

  if (t < BINS) {
    int sum = 0;
    for (int w = 0; w < WARPS; w++)
      sum += own[w][t];
    if (sum > 0)
      atomicAdd(&counts[t], sum);
  }
}

extern "C" void count_on_device(int *counts, const unsigned char *x, int n) {
  int blocks = n / BYTES / THREADS + 1;
  const int grid = blocks < BLOCKS ? blocks : BLOCKS;
  count<<<grid, THREADS>>>(counts, x, n);
}
