// mistake: no kernel was launched
#include <cuda_runtime.h>
#include <stdlib.h>

extern "C" void reverse_on_device(float *out, const float *x, int pieces) {
  size_t bytes = sizeof(float) * 256 * (size_t)pieces;
  float *in = (float *)malloc(bytes), *result = (float *)malloc(bytes);
  cudaMemcpy(in, x, bytes, cudaMemcpyDeviceToHost);
  for (int i = 0; i < 256 * pieces; i++)
    result[i] = in[i / 256 * 256 + 255 - i % 256];
  cudaMemcpy(out, result, bytes, cudaMemcpyHostToDevice);
  free(in);
  free(result);
}
