// finding: race-host 16 11
// The kernel's bound is i <= half, so it also writes element
// half, which the host writes at the same time.
#include <cmath>
#include <cstdio>
#include <cuda_runtime.h>

__global__ void lower(int *v, int half) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i <= half)
    v[i] = 2 * v[i] + 1;
}

static void upper(int *v, int half, int n) {
  for (int i = half; i < n; ++i)
    v[i] = 2 * v[i] + 1;
}

int main() {
  const int n = 5000, half = n / 2;
  int *v = nullptr;
  if (cudaMallocManaged(&v, n * sizeof(int)) != cudaSuccess) {
    puts("no managed memory");
    return 2;
  }
  for (int i = 0; i < n; ++i)
    v[i] = i - 100;

  const int threads = 128;
  lower<<<(half + threads - 1) / threads, threads>>>(v, half);
  upper(v, half, n);
  if (cudaDeviceSynchronize() != cudaSuccess) {
    puts("kernel failed");
    return 2;
  }

  int bad = 0;
  for (int i = 0; i < n; ++i)
    bad += v[i] != 2 * (i - 100) + 1;
  printf("halves: %d wrong\n", bad);
  cudaFree(v);
  return bad ? 1 : 0;
}
