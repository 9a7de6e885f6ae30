// mistake: data race between blocks
// The block that finishes last adds the sums of all; its flag may be seen before the sums are.
#include <cuda_runtime.h>

enum { THREADS = 128 };

__device__ unsigned int finished;

__device__ float of_block(float own) {
  __shared__ float shared[THREADS];
  shared[threadIdx.x] = own;
  for (int half = THREADS / 2; half > 0; half /= 2) {
    __syncthreads();
    if ((int)threadIdx.x < half)
      shared[threadIdx.x] += shared[threadIdx.x + half];
  }
  return threadIdx.x == 0 ? shared[0] : 0; // no other may read it yet
}

__global__ void sum_all(float *sum, const float *x, float *partial, int n) {
  __shared__ bool last;
  float own = 0;
  for (int i = blockIdx.x * THREADS + threadIdx.x; i < n; i += gridDim.x * THREADS)
    own += x[i];
  own = of_block(own);
  if (threadIdx.x == 0) {
    partial[blockIdx.x] = own;
    last = atomicInc(&finished, gridDim.x - 1) == gridDim.x - 1; // back to 0 for the next launch
  }
  __syncthreads();
  if (!last)
    return;
  own = 0;
  for (int i = threadIdx.x; i < (int)gridDim.x; i += THREADS)
    own += ((volatile float *)partial)[i];
  own = of_block(own);
  if (threadIdx.x == 0)
    *sum = own;
}

extern "C" void sum_on_device(float *sum, const float *x, float *partial, int n) {
  sum_all<<<32, THREADS>>>(sum, x, partial, n);
}
