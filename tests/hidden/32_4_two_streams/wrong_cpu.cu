// mistake: computed on the host
#include <cuda_runtime.h>
#include <stdlib.h>

extern "C" void sums_on_device(float *sum, float *scaled, const float *x, int batches, int n, cudaStream_t first,
                               cudaStream_t second) {
  cudaStreamSynchronize(first);
  cudaStreamSynchronize(second);
  (void)scaled;
  float *in = (float *)malloc((size_t)batches * n * sizeof(float)), *out = (float *)calloc(n, sizeof(float));
  cudaMemcpy(in, x, (size_t)batches * n * sizeof(float), cudaMemcpyDeviceToHost);
  for (int b = 0; b < batches; b++)
    for (int i = 0; i < n; i++)
      out[i] += 2 * in[(size_t)b * n + i];
  cudaMemcpy(sum, out, n * sizeof(float), cudaMemcpyHostToDevice);
  free(in);
  free(out);
}
