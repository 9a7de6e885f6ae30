// mistake: data race between blocks
#include <cuda_runtime.h>

__global__ void add(float *sum, const float *x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    *sum += x[i];
}

extern "C" void sum_on_device(float *sum, const float *x, float *partial, int n) {
  cudaMemset(sum, 0, sizeof(float));
  if (n > 0)
    add<<<(n + 255) / 256, 256>>>(sum, x, n);
}
