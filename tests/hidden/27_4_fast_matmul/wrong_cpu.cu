// mistake: no kernel was launched
#include <cuda_runtime.h>

#include <stdlib.h>

extern "C" void product_on_device(float *c, const float *a, const float *b, int m, int n, int k) {
  float *left = (float *)malloc((size_t)m * k * sizeof(float)), *right = (float *)malloc((size_t)k * n * sizeof(float)),
        *result = (float *)calloc((size_t)m * n, sizeof(float));
  cudaMemcpy(left, a, (size_t)m * k * sizeof(float), cudaMemcpyDeviceToHost);
  cudaMemcpy(right, b, (size_t)k * n * sizeof(float), cudaMemcpyDeviceToHost);
  for (int i = 0; i < m; i++)
    for (int p = 0; p < k; p++)
      for (int j = 0; j < n; j++)
        result[(size_t)i * n + j] += left[(size_t)i * k + p] * right[(size_t)p * n + j];
  cudaMemcpy(c, result, (size_t)m * n * sizeof(float), cudaMemcpyHostToDevice);
  free(left);
  free(right);
  free(result);
}
