// mistake: no kernel was launched
#include <cuda_runtime.h>

#include <stdlib.h>

extern "C" void affine_on_device(float *x, int *who, float a, float b, int n, int blocks, int threads) {
  float *values = (float *)malloc(sizeof(float) * (size_t)n + 1);
  int *numbers = (int *)malloc(sizeof(int) * (size_t)n + 1);
  cudaMemcpy(values, x, sizeof(float) * (size_t)n, cudaMemcpyDeviceToHost);
  for (int i = 0; i < n; i++) {
    values[i] = a * values[i] + b;
    numbers[i] = i % (blocks * threads);
  }
  cudaMemcpy(x, values, sizeof(float) * (size_t)n, cudaMemcpyHostToDevice);
  cudaMemcpy(who, numbers, sizeof(int) * (size_t)n, cudaMemcpyHostToDevice);
  free(values);
  free(numbers);
}
