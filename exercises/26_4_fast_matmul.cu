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

enum { SIDE = 16 };

__global__ void product(float *c, const float *a, const float *b, int m, int n, int k) {
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
  product<<<grid, dim3(SIDE, SIDE)>>>(c, a, b, m, n, k);
}
