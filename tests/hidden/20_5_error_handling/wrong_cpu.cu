// mistake: no kernel was launched
#include <cuda_runtime.h>
#include <stdlib.h>

extern "C" void mark_on_device(int *d_out, int value, int blocks, int threads, int *before, int *launch, int *kernel) {
  const int n = blocks * threads;
  *before = cudaGetLastError();
  *launch = threads < 1 || threads > 1024 ? cudaErrorInvalidConfiguration : cudaSuccess;
  *kernel = cudaSuccess;
  if (*launch != cudaSuccess || d_out == NULL)
    return;
  int *host = (int *)malloc(n * sizeof(int));
  cudaMemcpy(host, d_out, n * sizeof(int), cudaMemcpyDeviceToHost);
  for (int i = 0; i < n; i++)
    host[i] = value;
  cudaMemcpy(d_out, host, n * sizeof(int), cudaMemcpyHostToDevice);
  free(host);
}
