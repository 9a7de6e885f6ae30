// mistake: order not preserved
#include <cuda_runtime.h>

__global__ void keep(float *out, int *count, const float *x, float bound, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n && x[i] > bound)
    out[atomicAdd(count, 1)] = x[i];
}

extern "C" void keep_on_device(float *out, int *count, const float *x, int *room, float bound, int n) {
  cudaMemsetAsync(count, 0, sizeof(int), 0);
  if (n > 0)
    keep<<<(n + 255) / 256, 256>>>(out, count, x, bound, n);
}
