// mistake: no kernel was launched
#include <cuda_runtime.h>
#include <stdlib.h>

extern "C" void steps_on_device(int *x, int *y, int *z, const int *batches, int *batch, int n, int steps,
                                cudaStream_t main_stream, cudaStream_t side) {
  (void)y;
  (void)z;
  (void)batch;
  (void)main_stream;
  (void)side;
  int *here = (int *)malloc((size_t)n * sizeof(int)), *now = (int *)malloc((size_t)n * sizeof(int));
  cudaMemcpy(here, x, (size_t)n * sizeof(int), cudaMemcpyDeviceToHost);
  for (int s = 0; s < steps; s++) {
    cudaMemcpy(now, batches + s * n, (size_t)n * sizeof(int), cudaMemcpyDeviceToHost);
    for (int i = 0; i < n; i++)
      here[i] = ((3 * here[i] + now[i]) % 65536 + 2 * ((here[i] + 5 * now[i]) % 65536)) % 65536;
  }
  cudaMemcpy(x, here, (size_t)n * sizeof(int), cudaMemcpyHostToDevice);
  free(here);
  free(now);
}
