// mistake: no kernel was launched
#include <cuda_runtime.h>
#include <stdlib.h>

extern "C" void runs_on_device(int *values, int *lengths, int *count, const int *x, int *room, int n) {
  int runs = 0;
  int *host = (int *)calloc(3 * (size_t)n + 1, sizeof(int)), *value = host + n, *length = value + n;
  cudaMemcpy(host, x, (size_t)n * sizeof(int), cudaMemcpyDeviceToHost);
  for (int i = 0; i < n; i++) {
    if (i == 0 || host[i] != host[i - 1])
      value[runs++] = host[i];
    length[runs - 1]++;
  }
  cudaMemcpy(values, value, (size_t)runs * sizeof(int), cudaMemcpyHostToDevice);
  cudaMemcpy(lengths, length, (size_t)runs * sizeof(int), cudaMemcpyHostToDevice);
  cudaMemcpy(count, &runs, sizeof runs, cudaMemcpyHostToDevice);
  free(host);
}
