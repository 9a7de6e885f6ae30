// What cannot be simulated is refused by name when a kernel comes to it; early returns are let pass with a warning; a failed
// assert is the device's.
#include <cassert>
#include <cstdio>

__global__ void early(int *x, int n) {
  __shared__ int part[64];
  const int t = (int)threadIdx.x;
  if (t >= n)
    return;
  part[t] = t;
  __syncthreads();
  x[t] = part[n - 1 - t];
}
__global__ void ptx(unsigned *x) {
  asm volatile("mov.u32 %0, %%smid;" : "=r"(x[0]));
}
__global__ void asserts(int n) {
  assert((int)threadIdx.x < n);
}

int main() {
  int *x, h[50], failed = 0;
  cudaMalloc(&x, sizeof h);
  early<<<1, 64>>>(x, 50);
  failed |= cudaMemcpy(h, x, sizeof h, cudaMemcpyDeviceToHost) != cudaSuccess || h[0] != 49;
  ptx<<<1, 1>>>((unsigned *)x);
  const cudaError_t refused = cudaDeviceSynchronize();
  printf("inline PTX: %s\n", cudaGetErrorName(refused));
  failed |= refused != cudaErrorNotSupported;
  cudaDeviceReset();
  asserts<<<1, 32>>>(31);
  const cudaError_t asserted = cudaDeviceSynchronize();
  printf("assert: %s\n", cudaGetErrorName(asserted));
  failed |= asserted != cudaErrorAssert;
  puts(failed ? "FAIL" : "PASS");
  return failed;
}
