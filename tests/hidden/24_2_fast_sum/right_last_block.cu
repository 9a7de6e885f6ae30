// stars: 4
// One launch without atomic additions: the block that finishes last adds up the partial sums.
#include <cuda_runtime.h>

enum { THREADS = 256, MAX_BLOCKS = 320 };

__device__ unsigned int finished;

static __device__ float block_sum(float own) {
  __shared__ float warps[THREADS / 32];
  for (int distance = 16; distance > 0; distance /= 2)
    own += __shfl_xor_sync(~0u, own, distance);
  if (threadIdx.x % 32 == 0)
    warps[threadIdx.x / 32] = own;
  __syncthreads();
  own = 0;
  for (int w = 0; w < THREADS / 32; w++)
    own += warps[w];
  __syncthreads();
  return own;
}

__global__ void sum_all(float *out, const float *x, volatile float *partial, int n) {
  __shared__ bool last;
  const int first = blockIdx.x * THREADS + threadIdx.x, all = gridDim.x * THREADS;
  float own = 0;
  for (int i = first; i < n / 4; i += all) {
    const float4 v = ((const float4 *)x)[i];
    own += v.x + v.y + (v.z + v.w);
  }
  if (first < n % 4)
    own += x[n / 4 * 4 + first];
  own = block_sum(own);
  if (threadIdx.x == 0) {
    partial[blockIdx.x] = own;
    __threadfence();
    last = atomicInc(&finished, gridDim.x - 1) == gridDim.x - 1;
    __threadfence();
  }
  __syncthreads();
  if (!last)
    return;
  own = 0;
  for (int b = threadIdx.x; b < (int)gridDim.x; b += THREADS)
    own += partial[b];
  own = block_sum(own);
  if (threadIdx.x == 0)
    *out = own;
}

extern "C" void sum_on_device(float *out, const float *x, float *scratch, int n) {
  int blocks = (n + 4 * THREADS - 1) / (4 * THREADS);
  if (blocks > MAX_BLOCKS)
    blocks = MAX_BLOCKS;
  sum_all<<<blocks, THREADS>>>(out, x, scratch, n);
}
