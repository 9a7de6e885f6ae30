// mistake: no kernel was launched
#include <cuda_runtime.h>
#include <stdlib.h>

extern "C" void saxpy_on_device(float *y, const float *x, float a, int n) {
  size_t bytes = (size_t)n * sizeof(float);
  float *host_x = (float *)malloc(bytes + 1), *host_y = (float *)malloc(bytes + 1);
  cudaMemcpy(host_x, x, bytes, cudaMemcpyDeviceToHost);
  cudaMemcpy(host_y, y, bytes, cudaMemcpyDeviceToHost);
  for (int i = 0; i < n; i++)
    host_y[i] += a * host_x[i];
  cudaMemcpy(y, host_y, bytes, cudaMemcpyHostToDevice);
  free(host_x);
  free(host_y);
}
