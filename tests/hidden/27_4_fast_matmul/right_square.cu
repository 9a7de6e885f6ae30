// stars: 3
#include <cuda_runtime.h>

// A block has 64 x 64 elements of c, and a thread 4 x 4, which are 16 apart: neighboring lanes have neighboring columns.
enum { SIDE = 64, STEP = 16, EACH = 4, ACROSS = 16, THREADS = ACROSS * ACROSS };

__global__ void product(float *c, const float *a, const float *b, int m, int n, int k) {
  __shared__ float left[STEP][SIDE + 1], right[STEP][SIDE];
  int t = threadIdx.x, x = t % ACROSS, y = t / ACROSS, top = blockIdx.y * SIDE, first = blockIdx.x * SIDE;
  float sum[EACH][EACH] = {{0}}, l[EACH], r[EACH];
  for (int begin = 0; begin < k; begin += STEP) {
    for (int i = t; i < SIDE * STEP; i += THREADS) {
      int row = top + i / STEP, p = begin + i % STEP, q = begin + i / SIDE, column = first + i % SIDE;
      left[i % STEP][i / STEP] = row < m && p < k ? a[(size_t)row * k + p] : 0;
      right[i / SIDE][i % SIDE] = q < k && column < n ? b[(size_t)q * n + column] : 0;
    }
    __syncthreads();
#pragma unroll
    for (int p = 0; p < STEP; p++) {
#pragma unroll
      for (int i = 0; i < EACH; i++) {
        l[i] = left[p][y + i * ACROSS];
        r[i] = right[p][x + i * ACROSS];
      }
#pragma unroll
      for (int i = 0; i < EACH; i++)
#pragma unroll
        for (int j = 0; j < EACH; j++)
          sum[i][j] += l[i] * r[j];
    }
    __syncthreads();
  }
#pragma unroll
  for (int i = 0; i < EACH; i++)
#pragma unroll
    for (int j = 0; j < EACH; j++) {
      int row = top + y + i * ACROSS, column = first + x + j * ACROSS;
      if (row < m && column < n)
        c[(size_t)row * n + column] = sum[i][j];
    }
}

extern "C" void product_on_device(float *c, const float *a, const float *b, int m, int n, int k) {
  product<<<dim3((n + SIDE - 1) / SIDE, (m + SIDE - 1) / SIDE), THREADS>>>(c, a, b, m, n, k);
}
