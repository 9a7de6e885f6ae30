// mistake: no kernel was launched
#include <cuda_runtime.h>
#include <stdlib.h>

extern "C" void sum_on_device(float *sum, const float *x, float *partial, int n) {
  float *host = (float *)malloc((size_t)n * sizeof(float) + 1);
  float all = 0;
  cudaMemcpy(host, x, (size_t)n * sizeof(float), cudaMemcpyDeviceToHost);
  for (int i = 0; i < n; i++)
    all += host[i];
  cudaMemcpy(sum, &all, sizeof all, cudaMemcpyHostToDevice);
  free(host);
}
