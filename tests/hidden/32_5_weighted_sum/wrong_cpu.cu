// mistake: no kernel was launched
#include <cuda_runtime.h>
#include <stdlib.h>

extern "C" void weighted_on_device(float *out, const float *x, const float *weights, int n) {
  float *in = (float *)malloc(sizeof(float) * (size_t)n), sum = 0;
  cudaMemcpy(in, x, sizeof(float) * (size_t)n, cudaMemcpyDeviceToHost);
  for (int i = 0; i < n; i++)
    sum += in[i] * weights[i % 4];
  cudaMemcpy(out, &sum, sizeof sum, cudaMemcpyHostToDevice);
  free(in);
}
