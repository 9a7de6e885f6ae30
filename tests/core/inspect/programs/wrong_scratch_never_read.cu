// finding: race-warp 14 14
// Each thread leaves its value in one shared word "for later". Nothing reads it, so a compiler may drop the store; in the source it is a race.
#include <cstdio>
#include <cuda_runtime.h>

#define N 64

__global__ void halve(float *x) {
  __shared__ float last[1];
  const int i = threadIdx.x;
  const float v = x[i] * 0.5f;
  x[i] = v;
  if (i < 32)
    last[0] = v;
}

int main() {
  float h[N], *x;
  for (int i = 0; i < N; i++)
    h[i] = (float)i;
  cudaMalloc(&x, sizeof h);
  cudaMemcpy(x, h, sizeof h, cudaMemcpyHostToDevice);
  halve<<<1, N>>>(x);
  cudaMemcpy(h, x, sizeof h, cudaMemcpyDeviceToHost);
  printf("%g\n", h[N - 1]);
  cudaFree(x);
}
