// finding: constant 12
// The kernel scales the table in constant memory in place, where it can only read.
#include <cstdio>
#include <cuda_runtime.h>

#define N 32

__constant__ float table[N];

__global__ void scale(float by, float *copy) {
  const int i = threadIdx.x;
  table[i] = table[i] * by;
  copy[i] = table[i];
}

int main() {
  float h[N], *copy;
  for (int i = 0; i < N; i++)
    h[i] = (float)i;
  cudaMalloc(&copy, sizeof h);
  cudaMemcpyToSymbol(table, h, sizeof h);
  scale<<<1, N>>>(2.0f, copy);
  cudaMemcpy(h, copy, sizeof h, cudaMemcpyDeviceToHost);
  printf("%g\n", h[N - 1]);
  cudaFree(copy);
}
