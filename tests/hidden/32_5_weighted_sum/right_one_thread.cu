// A single thread, and the weights in constant memory.
#include <cuda_runtime.h>

__constant__ float constant_weights[4];

__global__ void sum_of(float *out, const float *x, int n) {
  float sum = 0;
  for (int i = 0; i < n; i++)
    sum += constant_weights[i % 4] * x[i];
  *out = sum;
}

extern "C" void weighted_on_device(float *out, const float *x, const float *weights, int n) {
  cudaMemcpyToSymbol(constant_weights, weights, sizeof constant_weights);
  sum_of<<<1, 1>>>(out, x, n);
}
