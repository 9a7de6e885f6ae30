// mistake: dependence on the block order
#include <cuda_runtime.h>

__global__ void add_up(float *sum, const float *x, int n) {
  __shared__ float shared[256];
  int i = blockIdx.x * 256 + threadIdx.x;
  shared[threadIdx.x] = i < n ? x[i] : 0;
  if (i == 0)
    *sum = 0;
  __syncthreads();
  for (int half = 128; half > 0; half /= 2) {
    if ((int)threadIdx.x < half)
      shared[threadIdx.x] += shared[threadIdx.x + half];
    __syncthreads();
  }
  if (threadIdx.x == 0)
    atomicAdd(sum, shared[0]);
}

extern "C" void sum_on_device(float *sum, const float *x, float *partial, int n) {
  add_up<<<n / 256 + 1, 256>>>(sum, x, n);
}
