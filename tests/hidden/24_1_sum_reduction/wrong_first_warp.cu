// mistake: only one warp's sum
#include <cuda_runtime.h>

__global__ void add_up(float *sum, const float *x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float own = i < n ? x[i] : 0;
  for (int lanes = 16; lanes > 0; lanes /= 2)
    own += __shfl_down_sync(0xffffffffu, own, lanes);
  if (threadIdx.x == 0)
    atomicAdd(sum, own);
}

extern "C" void sum_on_device(float *sum, const float *x, float *partial, int n) {
  cudaMemset(sum, 0, sizeof(float));
  add_up<<<n / 256 + 1, 256>>>(sum, x, n);
}
