// The host transforms one managed array while a kernel transforms another; they are different allocations and are
// swapped only after the wait (needs concurrentManagedAccess, else the host waits first).
#include <cstdio>
#include <utility>
#include <vector>
#include <cuda_runtime.h>

__global__ void onDevice(unsigned *x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    x[i] = x[i] * 3u + 1u;
}

static void onHost(unsigned *x, int n) {
  for (int i = 0; i < n; ++i)
    x[i] ^= x[i] >> 3;
}

int main() {
  const int n = 6000, steps = 6;
  int concurrent = 0;
  cudaDeviceGetAttribute(&concurrent, cudaDevAttrConcurrentManagedAccess, 0);
  unsigned *x, *y;
  cudaMallocManaged(&x, n * sizeof(unsigned));
  cudaMallocManaged(&y, n * sizeof(unsigned));
  for (int i = 0; i < n; ++i) {
    x[i] = i;
    y[i] = 1000000u + i;
  }

  for (int step = 0; step < steps; ++step) {
    onDevice<<<(n + 255) / 256, 256>>>(x, n);
    if (!concurrent)
      cudaDeviceSynchronize();
    onHost(y, n);
    cudaDeviceSynchronize();
    std::swap(x, y);
  }

  int bad = 0;
  for (int i = 0; i < n; ++i) {
    unsigned a = i, b = 1000000u + i;
    for (int step = 0; step < steps; ++step) {
      a = a * 3u + 1u;
      b ^= b >> 3;
      std::swap(a, b);
    }
    bad += x[i] != a;
    bad += y[i] != b;
  }
  printf("two arrays: %d wrong\n", bad);
  cudaFree(x);
  cudaFree(y);
  return bad != 0;
}
