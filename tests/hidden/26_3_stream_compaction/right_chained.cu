// One launch: each block waits for the number of elements that all earlier blocks keep (a chained scan with dynamic block numbers).
#include <cuda_runtime.h>

enum { THREADS = 256 };

__global__ void keep(float *out, int *count, const float *x, int *scratch, float bound, int n) {
  __shared__ int block, before, warps[THREADS / 32];
  int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  if (threadIdx.x == 0)
    block = atomicAdd(&scratch[0], 1);
  __syncthreads();
  int i = block * THREADS + threadIdx.x;
  bool flag = i < n && x[i] > bound;
  unsigned kept = __ballot_sync(~0u, flag);
  if (lane == 0)
    warps[warp] = __popc(kept);
  __syncthreads();
  if (threadIdx.x == 0) {
    int sum = 0;
    for (int w = 0; w < THREADS / 32; w++)
      sum += warps[w];
    before = 0;
    if (block > 0)
      while ((before = atomicAdd(&scratch[block], 0)) == 0)
        continue;
    __threadfence();
    before -= block > 0; // a prefix is stored as one more, since 0 says that it is not known yet
    atomicExch(&scratch[block + 1], before + sum + 1);
    if (block == (int)gridDim.x - 1)
      *count = before + sum;
  }
  __syncthreads();
  int offset = before + __popc(kept & ((1u << lane) - 1));
  for (int w = 0; w < warp; w++)
    offset += warps[w];
  if (flag)
    out[offset] = x[i];
}

extern "C" void keep_on_device(float *out, int *count, const float *x, int *scratch, float bound, int n) {
  int blocks = (n + THREADS - 1) / THREADS;
  cudaMemsetAsync(count, 0, sizeof *count);
  cudaMemsetAsync(scratch, 0, (blocks + 1) * sizeof *scratch);
  if (blocks > 0)
    keep<<<blocks, THREADS>>>(out, count, x, scratch, bound, n);
}
