// mistake: no kernel was launched
#include <cuda_runtime.h>
#include <stdlib.h>

extern "C" void keep_on_device(float *out, int *count, const float *x, int *room, float bound, int n) {
  int kept = 0;
  float *host = (float *)malloc((size_t)n * sizeof(float) + 1);
  cudaMemcpy(host, x, (size_t)n * sizeof(float), cudaMemcpyDeviceToHost);
  for (int i = 0; i < n; i++)
    if (host[i] > bound)
      host[kept++] = host[i];
  cudaMemcpy(out, host, (size_t)kept * sizeof(float), cudaMemcpyHostToDevice);
  cudaMemcpy(count, &kept, sizeof kept, cudaMemcpyHostToDevice);
  free(host);
}
