// mistake: no kernel was launched
#include <cuda_runtime.h>
#include <math.h>
#include <stdlib.h>

extern "C" void softmax_on_device(float *out, const float *x, int rows, int columns) {
  size_t bytes = sizeof(float) * (size_t)rows * (size_t)columns;
  float *host = (float *)malloc(bytes + 1);
  cudaMemcpy(host, x, bytes, cudaMemcpyDeviceToHost);
  for (int r = 0; r < rows; r++) {
    float most = -INFINITY, sum = 0;
    for (int k = 0; k < columns; k++)
      most = fmaxf(most, host[r * columns + k]);
    for (int k = 0; k < columns; k++)
      sum += expf(host[r * columns + k] - most);
    for (int k = 0; k < columns; k++)
      host[r * columns + k] = expf(host[r * columns + k] - most) / sum;
  }
  cudaMemcpy(out, host, bytes, cudaMemcpyHostToDevice);
  free(host);
}
