// Exercise 26.4: a faster product (make it faster)                            (chapter 26, docs/26_the_matrix_product.md)
//
// product_on_device multiplies two matrices, and is right. Make it faster:
//
//   c[i][j] = a[i][0] * b[0][j] + ... + a[i][k-1] * b[k-1][j]          i = 0 .. m-1, j = 0 .. n-1
//
//   PyTorch:  c = a @ b
//
// There is no single right answer, but there is a score: the time that your kernels would take on a GTX 1650 for (256,
// 128) times (128, 896), *modelled from what the inspector counts, not measured*. `./ferry run` shows it, and what
// limits it; `./ferry best` shows your best so far. The exercise passes at 1.1 times as fast as what you see here, and
// there are five stars.
//
// Given, in device memory, float32 by rows: a (m, k), b (k, n) and c (m, n), to be written; each begins at a multiple
// of 16 bytes and has at most 2^30 elements, and m, n, k are at least 1 and at most 32768. The numbers are such that a
// sum is exact in whichever order it is added up. More than one launch is allowed; each costs its time. It has to be
// right for every size, and fast for others, too: sizes are drawn below the scored ones, m up to 15, n up to 31 and k
// up to 7, and the first star has to be reached there as well. The inspector is to find nothing: what nobody wrote to a
// tile is not multiplied, not even by 0, for it may be NaN. Not for these exercises: tensor cores, the library's
// product, inline assembly, copies and fills, and variables of a thread's own beyond its registers, as an array is
// unless all indices are known to the compiler.
#include <cuda_runtime.h>

// [answer]
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
// [stub]
//| enum { SIDE = 16 };
//|
//| __global__ void product(float *c, const float *a, const float *b, int m, int n, int k) {
//|   int row = blockIdx.y * SIDE + threadIdx.y, column = blockIdx.x * SIDE + threadIdx.x;
//|   if (row >= m || column >= n)
//|     return;
//|   float sum = 0;
//|   for (int p = 0; p < k; p++)
//|     sum += a[(size_t)row * k + p] * b[(size_t)p * n + column];
//|   c[(size_t)row * n + column] = sum;
//| }
// [end]

extern "C" void product_on_device(float *c, const float *a, const float *b, int m, int n, int k) {
  // [answer]
  Matrices all = {c, a, b, m, n, k, n % 4 == 0 && k % 4 == 0};
  dim3 grid((n + WIDE - 1) / WIDE, (m + WIDE - 1) / WIDE);
  product<<<grid, THREADS>>>(all);
  // [stub]
  //| dim3 grid((n + SIDE - 1) / SIDE, (m + SIDE - 1) / SIDE);
  //| product<<<grid, dim3(SIDE, SIDE)>>>(c, a, b, m, n, k);
  // [end]
}
