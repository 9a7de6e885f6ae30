// mistake: no kernel was launched
#include <cuda_runtime.h>
#include <stdlib.h>

__global__ void nothing(void) {
}

extern "C" void subtract_mean_on_device(float *out, const float *x, float *scratch, int n) {
  float *copy = (float *)malloc(n * sizeof(float) + 1), sum = 0;
  cudaMemcpy(copy, x, n * sizeof(float), cudaMemcpyDeviceToHost);
  for (int i = 0; i < n; i++)
    sum += copy[i];
  for (int i = 0; i < n; i++)
    copy[i] -= sum / n;
  cudaMemcpy(out, copy, n * sizeof(float), cudaMemcpyHostToDevice);
  free(copy);
}
