// mistake: too many launches
#include <cuda_runtime.h>

__global__ void step(int *to, const int *from, int before, int n) {
  int i = blockIdx.x * 256 + threadIdx.x;
  if (i < n)
    to[i] = from[i] + (i >= before ? from[i - before] : 0);
}

extern "C" void scan_on_device(int *out, const int *x, int *room, int n) {
  (void)room;
  int *other;
  if (n <= 0 || cudaMalloc(&other, n * sizeof(int)))
    return;
  cudaMemcpyAsync(out, x, n * sizeof(int), cudaMemcpyDeviceToDevice, 0);
  for (int before = 1; before < n; before *= 2) {
    step<<<(n + 255) / 256, 256>>>(other, out, before, n);
    cudaMemcpyAsync(out, other, n * sizeof(int), cudaMemcpyDeviceToDevice, 0);
  }
  cudaFree(other);
}
