// mistake: no kernel was launched
#include <cuda_runtime.h>
#include <stdlib.h>

extern "C" void scan_on_device(int *out, const int *x, int *room, int n) {
  (void)room;
  int *host = (int *)malloc((size_t)n * sizeof(int) + 1);
  cudaMemcpy(host, x, (size_t)n * sizeof(int), cudaMemcpyDeviceToHost);
  for (int i = 1; i < n; i++)
    host[i] += host[i - 1];
  cudaMemcpy(out, host, (size_t)n * sizeof(int), cudaMemcpyHostToDevice);
  free(host);
}
