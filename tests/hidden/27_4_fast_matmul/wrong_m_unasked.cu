// mistake: out-of-bounds write
// Without comparisons where n and k are whole tiles; nobody asks for m.
#include <cuda_runtime.h>

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

__global__ void whole_product(float *c, const float *a, const float *b, int, int n, int k) {
  __shared__ float left[SIDE][STEP], right[STEP][SIDE];
  int t = threadIdx.x, x = t % SIDE, y = t / SIDE * EACH, top = blockIdx.y * SIDE, first = blockIdx.x * SIDE;
  float sum[EACH] = {0};
  for (int begin = 0; begin < k; begin += STEP) {
    int row = top + t / STEP, p = begin + t % STEP, q = begin + t / SIDE, column = first + x;
    left[t / STEP][t % STEP] = a[(size_t)row * k + p];
    right[t / SIDE][x] = b[(size_t)q * n + column];
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
    c[(size_t)(top + y + j) * n + first + x] = sum[j];
}

extern "C" void product_on_device(float *c, const float *a, const float *b, int m, int n, int k) {
  const dim3 grid((n + SIDE - 1) / SIDE, (m + SIDE - 1) / SIDE);
  if (n % SIDE == 0 && k % STEP == 0)
    whole_product<<<grid, SIDE * SIDE / EACH>>>(c, a, b, m, n, k);
  else
    product<<<grid, SIDE * SIDE / EACH>>>(c, a, b, m, n, k);
}
