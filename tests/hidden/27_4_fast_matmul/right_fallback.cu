// stars: 2
#include <cuda_runtime.h>

enum { FEW = 16 };

__global__ void naive(float *c, const float *a, const float *b, int m, int n, int k) {
  int row = blockIdx.y * FEW + threadIdx.y, column = blockIdx.x * FEW + threadIdx.x;
  if (row >= m || column >= n)
    return;
  float sum = 0;
  for (int p = 0; p < k; p++)
    sum += a[(size_t)row * k + p] * b[(size_t)p * n + column];
  c[(size_t)row * n + column] = sum;
}

// A block has 64 x 64 elements of c, and a thread 8 of them, one below the other.
enum { SIDE = 64, STEP = 8, EACH = 8 };

__global__ void product(float *c, const float *a, const float *b, int m, int n, int k) {
  __shared__ float left[SIDE][STEP], right[STEP][SIDE];
  int t = threadIdx.x, x = t % SIDE, y = t / SIDE * EACH, top = blockIdx.y * SIDE, first = blockIdx.x * SIDE;
  float sum[EACH] = {0};
  for (int begin = 0; begin < k; begin += STEP) {
    int row = top + t / STEP, p = begin + t % STEP, q = begin + t / SIDE, column = first + x;
    left[t / STEP][t % STEP] = row < m && p < k ? a[(size_t)row * k + p] : 0;
    right[t / SIDE][x] = q < k && column < n ? b[(size_t)q * n + column] : 0;
    __syncthreads();
#pragma unroll
    for (int i = 0; i < STEP; i++) {
      float other = right[i][x];
#pragma unroll
      for (int j = 0; j < EACH; j++)
        sum[j] += left[y + j][i] * other;
    }
    __syncthreads();
  }
#pragma unroll
  for (int j = 0; j < EACH; j++)
    if (top + y + j < m && first + x < n)
      c[(size_t)(top + y + j) * n + first + x] = sum[j];
}

extern "C" void product_on_device(float *c, const float *a, const float *b, int m, int n, int k) {
  if (m % SIDE == 0 && n % SIDE == 0 && k % STEP == 0)
    product<<<dim3(n / SIDE, m / SIDE), SIDE * SIDE / EACH>>>(c, a, b, m, n, k);
  else
    naive<<<dim3((n + FEW - 1) / FEW, (m + FEW - 1) / FEW), dim3(FEW, FEW)>>>(c, a, b, m, n, k);
}
