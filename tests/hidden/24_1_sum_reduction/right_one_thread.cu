// missing star: single block
#include <cuda_runtime.h>

// The CPU's loop, on one thread of the GPU.
__global__ void add(float *sum, const float *x, int n) {
  float all = 0;
  for (int i = 0; i < n; i++)
    all += x[i];
  *sum = all;
}

extern "C" void sum_on_device(float *sum, const float *x, float *partial, int n) {
  add<<<1, 1>>>(sum, x, n);
}
