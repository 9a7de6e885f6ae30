// mistake: no kernel was launched
#include <cuda_runtime.h>
#include <stdlib.h>

extern "C" void planes_on_device(float *out, const float *in, int n, int channels) {
  size_t count = (size_t)n * (size_t)channels;
  float *from = (float *)malloc(2 * count * sizeof(float) + 1);
  float *to = from + count;
  cudaMemcpy(from, in, count * sizeof(float), cudaMemcpyDeviceToHost);
  for (int i = 0; i < n; i++)
    for (int k = 0; k < channels; k++)
      to[k * n + i] = from[i * channels + k];
  cudaMemcpy(out, to, count * sizeof(float), cudaMemcpyHostToDevice);
  free(from);
}
