// mistake: no kernel was launched
#include <cuda_fp16.h>
#include <cuda_runtime.h>
#include <stdlib.h>

__global__ void nothing(void) {
}

extern "C" void matmul_on_device(float *c, const half *a, const half *b, int m, int n, int k) {
  half *left = (half *)malloc(m * k * sizeof(half)), *right = (half *)malloc(k * n * sizeof(half));
  float *result = (float *)calloc(m * n, sizeof(float));
  cudaMemcpy(left, a, m * k * sizeof(half), cudaMemcpyDeviceToHost);
  cudaMemcpy(right, b, k * n * sizeof(half), cudaMemcpyDeviceToHost);
  for (int i = 0; i < m * n; i++)
    for (int p = 0; p < k; p++)
      result[i] += __half2float(left[i / n * k + p]) * __half2float(right[p * n + i % n]);
  cudaMemcpy(c, result, m * n * sizeof(float), cudaMemcpyHostToDevice);
  free(left);
  free(right);
  free(result);
}
