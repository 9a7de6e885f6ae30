// mistake: no kernel was launched
#include <cuda_runtime.h>
#include <stdlib.h>

extern "C" void smooth_on_device(float *out, const float *x, int n) {
  float *in = (float *)malloc(sizeof(float) * (size_t)n), *result = (float *)malloc(sizeof(float) * (size_t)n);
  cudaMemcpy(in, x, sizeof(float) * (size_t)n, cudaMemcpyDeviceToHost);
  for (int i = 0; i < n; i++)
    result[i] = (in[i > 0 ? i - 1 : i] + in[i] + in[i < n - 1 ? i + 1 : i]) / 3;
  cudaMemcpy(out, result, sizeof(float) * (size_t)n, cudaMemcpyHostToDevice);
  free(in);
  free(result);
}
