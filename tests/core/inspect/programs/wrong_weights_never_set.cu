// finding: uninitialized-shared 15
// The shared weights are declared and used, but nothing sets them.
#include <cstdio>
#include <cuda_runtime.h>

#define N 128
#define TAPS 5

__global__ void filter(const float *in, float *out) {
  __shared__ float weight[TAPS];
  const int i = threadIdx.x;
  float sum = 0;
  for (int k = 0; k < TAPS; k++)
    if (i + k < N)
      sum += weight[k] * in[i + k];
  out[i] = sum;
}

int main() {
  float h[N], *in, *out;
  for (int i = 0; i < N; i++)
    h[i] = 1.0f / (float)(i + 1);
  cudaMalloc(&in, sizeof h);
  cudaMalloc(&out, sizeof h);
  cudaMemcpy(in, h, sizeof h, cudaMemcpyHostToDevice);
  filter<<<1, N>>>(in, out);
  cudaMemcpy(h, out, sizeof h, cudaMemcpyDeviceToHost);
  printf("%g\n", h[0]);
  cudaFree(in);
  cudaFree(out);
}
