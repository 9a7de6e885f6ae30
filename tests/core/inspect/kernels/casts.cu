// A float whose bits are written by way of a pointer to int, and which is read before and after that: two loads, as nvcc has them. Who
// takes an int and a float for different places in memory leaves the second load out, and sees the old value.
#include <cuda_runtime.h>

#include <stdio.h>

__global__ void bits(float *x, int *words, float *out) {
  const int i = threadIdx.x;
  const float before = x[i];
  words[i] = 0x40000000; // 2
  out[i] = before + x[i];
}

int main(void) {
  enum { N = 64 };
  float *x, *out, sums[N];
  if (cudaMalloc((void **)&x, sizeof sums) != cudaSuccess || cudaMalloc((void **)&out, sizeof sums) != cudaSuccess)
    return 1;
  cudaMemset(x, 0, sizeof sums);
  bits<<<1, N>>>(x, (int *)x, out);
  cudaMemcpy(sums, out, sizeof sums, cudaMemcpyDeviceToHost);
  printf("0 + 2 is %g\n", sums[N - 1]);
  cudaFree(x);
  cudaFree(out);
  return 0;
}
