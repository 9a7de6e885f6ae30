// mistake: no kernel was launched
#include <cuda_runtime.h>

#include <stdlib.h>

extern "C" void sum_on_device(float *out, const float *x, float *room, int n) {
  float *in = (float *)malloc((size_t)n * sizeof(float)), result = 0;
  cudaMemcpy(in, x, (size_t)n * sizeof(float), cudaMemcpyDeviceToHost);
  for (int i = 0; i < n; i++)
    result += in[i];
  cudaMemcpy(out, &result, sizeof result, cudaMemcpyHostToDevice);
  free(in);
}
