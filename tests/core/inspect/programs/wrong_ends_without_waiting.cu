// finding: race-grid 11 11
// main ends right after the launch. The kernel is inspected all the same, and its race found in every run.
#include <cstdio>
#include <cuda_runtime.h>

#define N 4096

__global__ void last_even(const int *x, int *found) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (x[i] % 2 == 0)
    *found = i;
}

int main() {
  static int h[N];
  static int *x, *found;
  for (int i = 0; i < N; i++)
    h[i] = i * 3 % 17;
  cudaMalloc(&x, sizeof h);
  cudaMalloc(&found, sizeof *found);
  cudaMemcpy(x, h, sizeof h, cudaMemcpyHostToDevice);
  last_even<<<N / 128, 128>>>(x, found);
  return 0;
}
