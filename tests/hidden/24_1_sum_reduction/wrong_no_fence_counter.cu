// mistake: data race between blocks
#include <cuda_runtime.h>

__device__ unsigned int finished = 0;

__global__ void add_up(float *sum, float *partial, const float *x, int n) {
  __shared__ float shared[256];
  __shared__ bool last;
  float own = 0;
  for (int i = blockIdx.x * 256 + threadIdx.x; i < n; i += gridDim.x * 256)
    own += x[i];
  shared[threadIdx.x] = own;
  __syncthreads();
  for (int half = 128; half > 0; half /= 2) {
    if ((int)threadIdx.x < half)
      shared[threadIdx.x] += shared[threadIdx.x + half];
    __syncthreads();
  }
  if (threadIdx.x == 0) {
    partial[blockIdx.x] = shared[0];
    last = atomicAdd(&finished, 1u) == gridDim.x - 1;
  }
  __syncthreads();
  if (last && threadIdx.x == 0) {
    float all = 0;
    for (unsigned b = 0; b < gridDim.x; b++)
      all += partial[b];
    *sum = all;
    finished = 0;
  }
}

extern "C" void sum_on_device(float *sum, const float *x, float *partial, int n) {
  add_up<<<16, 256>>>(sum, partial, x, n);
}
