// Exercise 27.4: Performance challenge: matmul        lesson 27 · hard · 90 min
//
// Task      product_on_device multiplies two matrices, as torch.matmul does. It
//           is correct but slow. Make it faster. The score is the time of your
//           kernels on a V100 for m = 1024, n = 1280, k = 128 (modeled from
//           counts, not measured). ./ferry run shows it, and what limits it.
// Example   a = 1 2   b = 5 6   ->   c = 19 22
//               3 4       7 8            43 50
// Write     product_on_device and the kernels that it launches.
// Inputs    a, b, c   row-major device arrays of finite floats, m x k, k x n
//                     and m x n, 16-byte aligned; c is uninitialized
//           m, n, k   1 to 4096, any sizes; all sums are exact in any order
// Required  - correct for all sizes, without data races, out-of-bounds accesses
//             or uninitialized reads
//           - 1.2 times as fast as this file at the scored size, and at least
//             0.9 times as fast at sizes slightly below it
//           - no copies, fills, libraries, tensor cores, inline assembly or
//             per-thread arrays that do not fit into registers
// Stars     * 1.2 x, ** 2.2 x, *** 3.5 x, **** 4.2 x, ***** 4.5 x as fast as
//           this file
#include <cuda_runtime.h>

// [answer]
// A block computes 128 x 128 elements of c. Each of its 256 threads computes four groups of 4 x 4 elements. The tile of
// a is stored transposed.
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

// Loads four neighboring elements of a row, with zeros past the end. One load if all rows are 16-byte aligned.
static __device__ float4 load_four(bool vectors, const float *from, int row, int column, int rows, int columns) {
  if (vectors)
    return row < rows && column < columns ? *(const float4 *)&from[(size_t)row * columns + column]
                                          : make_float4(0, 0, 0, 0);
  float at[4];
#pragma unroll
  for (int i = 0; i < 4; i++)
    at[i] = row < rows && column + i < columns ? from[(size_t)row * columns + column + i] : 0;
  return make_float4(at[0], at[1], at[2], at[3]);
}

static __device__ void load_tiles(Tiles *to, Matrices in, int top, int left, int begin) {
  int t = threadIdx.x, row = t / 2, p = t % 2 * 4;
  float4 a = load_four(in.vectors, in.a, top + row, begin + p, in.m, in.k);
  float4 b = load_four(in.vectors, in.b, begin + t / 32, left + t % 32 * 4, in.k, in.n);
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

static __device__ void store_four(Matrices to, const float *sum, int row, int column) {
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
    load_tiles(&tiles, all, top, left, begin);
    __syncthreads();
    multiply(sum, &tiles, x, y);
    __syncthreads();
  }
#pragma unroll
  for (int i = 0; i < EACH; i++) {
    int row = top + y + i % 4 + i / 4 * HALF;
    store_four(all, &sum[i][0], row, left + x);
    store_four(all, &sum[i][4], row, left + x + HALF);
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
