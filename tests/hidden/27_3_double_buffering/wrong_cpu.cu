// mistake: no kernel was launched
#include <cuda_runtime.h>
#include <stdlib.h>

extern "C" void matmul_on_device(float *c, const float *a, const float *b, int m, int n, int k) {
  size_t of_a = (size_t)m * (size_t)k, of_b = (size_t)k * (size_t)n, of_c = (size_t)m * (size_t)n;
  float *x = (float *)malloc((of_a + of_b + of_c) * sizeof(float));
  float *y = x + of_a, *z = y + of_b;
  cudaMemcpy(x, a, of_a * sizeof(float), cudaMemcpyDeviceToHost);
  cudaMemcpy(y, b, of_b * sizeof(float), cudaMemcpyDeviceToHost);
  for (int i = 0; i < m; i++)
    for (int j = 0; j < n; j++) {
      z[i * n + j] = 0;
      for (int p = 0; p < k; p++)
        z[i * n + j] += x[i * k + p] * y[p * n + j];
    }
  cudaMemcpy(c, z, of_c * sizeof(float), cudaMemcpyHostToDevice);
  free(x);
}
