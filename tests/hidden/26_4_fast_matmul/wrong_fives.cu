// mistake: a vector where none may begin
#include <cuda_runtime.h>

// A block has 128 x 128 elements of c, and each of its 256 threads four pieces of 4 x 4. The tile of a is stored turned.
enum { WIDE = 128, STEP = 8, THREADS = 256, EACH = 8, HALF = 64 };

typedef struct Matrices {
  float *c;
  const float *a, *b;
  int m, n, k;
  bool vectors;
} Matrices;

typedef struct Tiles {
  float a[STEP][WIDE], b[STEP][WIDE];
} Tiles;

// Four neighbours in a row of a (rows, columns) matrix; beyond it there are zeros. Where all rows begin at multiples of
// 16 bytes, it is one load.
static __device__ float4 four(bool vectors, const float *from, int row, int column, int rows, int columns) {
  if (vectors)
    return row < rows && column < columns ? *(const float4 *)&from[(size_t)row * columns + column]
                                          : make_float4(0, 0, 0, 0);
  float at[4];
#pragma unroll
  for (int i = 0; i < 4; i++)
    at[i] = row < rows && column + i < columns ? from[(size_t)row * columns + column + i] : 0;
  return make_float4(at[0], at[1], at[2], at[3]);
}

static __device__ void bring(Tiles *to, Matrices in, int top, int left, int begin) {
  int t = threadIdx.x, row = t / 2, p = t % 2 * 4;
  float4 a = four(in.vectors, in.a, top + row, begin + p, in.m, in.k);
  float4 b = four(in.vectors, in.b, begin + t / 32, left + t % 32 * 4, in.k, in.n);
  to->a[p][row] = a.x;
  to->a[p + 1][row] = a.y;
  to->a[p + 2][row] = a.z;
  to->a[p + 3][row] = a.w;
  *(float4 *)&to->b[t / 32][t % 32 * 4] = b;
}

static __device__ void multiply(float (*sum)[EACH], const Tiles *in, int x, int y) {
  __align__(16) float left[EACH], right[EACH];
  for (int p = 0; p < STEP; p++) {
    *(float4 *)&left[0] = *(const float4 *)&in->a[p][y];
    *(float4 *)&left[4] = *(const float4 *)&in->a[p][y + HALF];
    *(float4 *)&right[0] = *(const float4 *)&in->b[p][x];
    *(float4 *)&right[4] = *(const float4 *)&in->b[p][x + HALF];
#pragma unroll
    for (int i = 0; i < EACH; i++)
#pragma unroll
      for (int j = 0; j < EACH; j++)
        sum[i][j] += left[i] * right[j];
  }
}

static __device__ void put(Matrices to, const float *sum, int row, int column) {
  float *at = &to.c[(size_t)row * to.n + column];
  if (row >= to.m || column >= to.n)
    return;
  if (to.vectors) {
    *(float4 *)at = *(const float4 *)sum;
    return;
  }
#pragma unroll
  for (int i = 0; i < 4; i++)
    if (column + i < to.n)
      at[i] = sum[i];
}

__global__ void product(Matrices all) {
  __shared__ __align__(16) Tiles tiles;
  int x = threadIdx.x % 16 * 4, y = threadIdx.x / 16 * 4, top = blockIdx.y * WIDE, left = blockIdx.x * WIDE;
  __align__(16) float sum[EACH][EACH] = {{0}};
  for (int begin = 0; begin < all.k; begin += STEP) {
    bring(&tiles, all, top, left, begin);
    __syncthreads();
    multiply(sum, &tiles, x, y);
    __syncthreads();
  }
#pragma unroll
  for (int i = 0; i < EACH; i++) {
    int row = top + y + i % 4 + i / 4 * HALF;
    put(all, &sum[i][0], row, left + x);
    put(all, &sum[i][4], row, left + x + HALF);
  }
}

extern "C" void product_on_device(float *c, const float *a, const float *b, int m, int n, int k) {
  Matrices all = {c, a, b, m, n, k, n % 4 == 0 && k % 5 == 0};
  dim3 grid((n + WIDE - 1) / WIDE, (m + WIDE - 1) / WIDE);
  product<<<grid, THREADS>>>(all);
}
