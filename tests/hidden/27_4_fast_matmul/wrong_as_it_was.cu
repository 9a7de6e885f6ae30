// mistake: no speedup
#include <cuda_runtime.h>

enum { SIDE = 16 };

__global__ void naive(float *c, const float *a, const float *b, int m, int n, int k) {
  int row = blockIdx.y * SIDE + threadIdx.y, column = blockIdx.x * SIDE + threadIdx.x;
  if (row >= m || column >= n)
    return;
  float sum = 0;
  for (int p = 0; p < k; p++)
    sum += a[(size_t)row * k + p] * b[(size_t)p * n + column];
  c[(size_t)row * n + column] = sum;
}

extern "C" void product_on_device(float *c, const float *a, const float *b, int m, int n, int k) {
  dim3 grid((n + SIDE - 1) / SIDE, (m + SIDE - 1) / SIDE);
  naive<<<grid, dim3(SIDE, SIDE)>>>(c, a, b, m, n, k);
}
