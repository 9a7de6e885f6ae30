// Exercise 26.3: tiles while others are on their way                        (chapter 26, docs/26_the_matrix_product.md)
//
// Write the kernel matmul with two pairs of tiles, and matmul_on_device, which launches it:
//
//   c[i][j] = a[i][0] * b[0][j] + ... + a[i][k-1] * b[k-1][j]        a: m x k, b: k x n, c: m x n
//
//   PyTorch:  torch.matmul(a, b, out=c)
//
// Given: the matrices, contiguous float32 in device memory, a and b finite. m, n and k are multiples of 16, at least
// 16; they differ. c holds anything before. What lies behind a and b is not yours.
//
// The plain way, with tiles of 16 x 16 and an element of c for each thread, is in each step: bring two tiles, wait,
// compute with them, wait. With two pairs of tiles there is one barrier in a step: while the block computes with one
// pair, what its next step needs is on its way, and is put into the other pair. So within a step all loads come before
// the first word is taken from a tile; else they would not be on their way meanwhile.
//
// The kernel reads a and b through
//   float load(const float *address)
// and its tiles in shared memory through
//   float fetch(const float *address)
// which are in counted.cuh, and are what is counted, as are barriers, of whatever kind (__syncthreads_or is one): at
// most k / 16 + 1 of them. Counted besides: launches (one), and at most an eighth of 2 m n k reads of global memory.
// Races are looked for.
#include "counted.cuh" // load, fetch
#include <cuda_runtime.h>

enum { TILE = 16 };

__global__ void matmul(float *c, const float *a, const float *b, int n, int k) {
  // [answer]
  __shared__ float a_tile[2][TILE][TILE], b_tile[2][TILE][TILE];
  int x = threadIdx.x, y = threadIdx.y, row = blockIdx.y * TILE + y, column = blockIdx.x * TILE + x, now = 0;
  float sum = 0, next_a = load(&a[row * k + x]), next_b = load(&b[y * n + column]);
  for (int begin = 0; begin < k; begin += TILE) {
    a_tile[now][y][x] = next_a;
    b_tile[now][y][x] = next_b;
    __syncthreads();
    if (begin + TILE < k) {
      next_a = load(&a[row * k + begin + TILE + x]);
      next_b = load(&b[(begin + TILE + y) * n + column]);
    }
    for (int p = 0; p < TILE; p++)
      sum += fetch(&a_tile[now][y][p]) * fetch(&b_tile[now][p][x]);
    now = !now;
  }
  c[row * n + column] = sum;
  // [stub]
  //| (void)c;
  //| (void)a;
  //| (void)b;
  //| (void)n;
  //| (void)k;
  // [end]
}

extern "C" void matmul_on_device(float *c, const float *a, const float *b, int m, int n, int k) {
  matmul<<<dim3(n / TILE, m / TILE), dim3(TILE, TILE)>>>(c, a, b, n, k);
}
