// mistake: counter not reset
// also: state kept between calls
#include <cuda_runtime.h>

enum { THREADS = 256, MOST_BLOCKS = 512 };

__device__ unsigned int done;

static __device__ float block_sum(float own) {
  __shared__ float part[THREADS];
  int t = threadIdx.x;
  __syncthreads();
  part[t] = own;
  __syncthreads();
  for (int half = THREADS / 2; half > 0; half /= 2) {
    if (t < half)
      part[t] += part[t + half];
    __syncthreads();
  }
  return part[0];
}

__global__ void sum_all(float *sum, volatile float *partial, const float *x, int n) {
  __shared__ bool last;
  int t = threadIdx.x;
  float own = 0;
  for (int i = blockIdx.x * THREADS + t; i < n; i += gridDim.x * THREADS)
    own += x[i];
  own = block_sum(own);
  if (t == 0) {
    partial[blockIdx.x] = own;
    __threadfence();
    last = atomicAdd(&done, 1u) == gridDim.x - 1;
  }
  __syncthreads();
  if (last) {
    own = 0;
    for (int b = t; b < (int)gridDim.x; b += THREADS)
      own += partial[b];
    own = block_sum(own);
    if (t == 0) {
      *sum = own;
    }
  }
}

extern "C" void sum_on_device(float *sum, const float *x, float *partial, int n) {
  if (n == 0) {
    cudaMemsetAsync(sum, 0, sizeof(float), 0);
    return;
  }
  int blocks = (n + THREADS - 1) / THREADS;
  if (blocks > MOST_BLOCKS)
    blocks = MOST_BLOCKS;
  sum_all<<<blocks, THREADS>>>(sum, partial, x, n);
}
