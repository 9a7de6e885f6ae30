// compile error: a thread has too many local variables
#include <cuda_runtime.h>

// One thread has 32 x 32 elements of c: more than there are registers.
enum { EACH = 32 };

__global__ void product(float *c, const float *a, const float *b, int m, int n, int k) {
  float sum[EACH][EACH] = {{0}};
  int top = blockIdx.y * EACH, first = (blockIdx.x * 32 + threadIdx.x) * EACH;
  for (int p = 0; p < k; p++)
    for (int i = 0; i < EACH && top + i < m; i++)
      for (int j = 0; j < EACH && first + j < n; j++)
        sum[i][j] += a[(size_t)(top + i) * k + p] * b[(size_t)p * n + first + j];
  for (int i = 0; i < EACH && top + i < m; i++)
    for (int j = 0; j < EACH && first + j < n; j++)
      c[(size_t)(top + i) * n + first + j] = sum[i][j];
}

extern "C" void product_on_device(float *c, const float *a, const float *b, int m, int n, int k) {
  product<<<dim3((n + 32 * EACH - 1) / (32 * EACH), (m + EACH - 1) / EACH), 32>>>(c, a, b, m, n, k);
}
