// Exercise 26.2: sixty-four sums for each thread                            (chapter 26, docs/26_the_matrix_product.md)
//
// Write the kernel matmul, and matmul_on_device, which launches it:
//
//   c[i][j] = a[i][0] * b[0][j] + ... + a[i][k-1] * b[k-1][j]        a: m x k, b: k x n, c: m x n
//
//   PyTorch:  torch.matmul(a, b, out=c)
//
// Given: the matrices, contiguous float32 in device memory, a and b finite. m and n are multiples of 64, k is one of 8,
// each at least that; they differ. c holds anything before.
//
// In exercise 26.1 each thread had one element of c, and read two words of shared memory for each multiply-add. Now a
// block has a tile of 64 x 64 elements of c, and each of its threads several: with 8 x 8 it reads 8 words of a's tile
// and 8 of b's, and does 64 multiply-adds with them. The sums are in registers, so all loops around them have bounds
// that the compiler knows.
//
// The kernel reads a and b through
//   float load(const float *address)
// and its tiles in shared memory through
//   float fetch(const float *address)
// which are in counted.cuh, and are what is counted: of 2 m n k operands at most a 64th from global memory, and of m n
// k multiply-adds at most 3 words of shared memory for each 8. Counted besides: launches (one). Races are looked for.
//
// In the library: core/op/product/gemm_kernel.h does the same in the registers of a CPU.
#include "counted.cuh" // load, fetch
#include <cuda_runtime.h>

enum { TILE = 64, STEP = 8, EACH = 8, THREADS = TILE / EACH * (TILE / EACH) };

__global__ void matmul(float *c, const float *a, const float *b, int n, int k) {
  // [answer]
  __shared__ float a_tile[TILE][STEP], b_tile[STEP][TILE];
  int t = threadIdx.x, x = t % (TILE / EACH) * EACH, y = t / (TILE / EACH) * EACH;
  int top = blockIdx.y * TILE, left = blockIdx.x * TILE;
  float sum[EACH][EACH] = {{0}}, row[EACH], column[EACH];
  for (int begin = 0; begin < k; begin += STEP) {
    for (int i = t; i < TILE * STEP; i += THREADS) {
      a_tile[i / STEP][i % STEP] = load(&a[(top + i / STEP) * k + begin + i % STEP]);
      b_tile[i / TILE][i % TILE] = load(&b[(begin + i / TILE) * n + left + i % TILE]);
    }
    __syncthreads();
    for (int p = 0; p < STEP; p++) {
      for (int i = 0; i < EACH; i++) {
        column[i] = fetch(&a_tile[y + i][p]);
        row[i] = fetch(&b_tile[p][x + i]);
      }
      for (int i = 0; i < EACH; i++)
        for (int j = 0; j < EACH; j++)
          sum[i][j] += column[i] * row[j];
    }
    __syncthreads();
  }
  for (int i = 0; i < EACH; i++)
    for (int j = 0; j < EACH; j++)
      c[(top + y + i) * n + left + x + j] = sum[i][j];
  // [stub]
  //| (void)c;
  //| (void)a;
  //| (void)b;
  //| (void)n;
  //| (void)k;
  // [end]
}

extern "C" void matmul_on_device(float *c, const float *a, const float *b, int m, int n, int k) {
  matmul<<<dim3(n / TILE, m / TILE), THREADS>>>(c, a, b, n, k);
}
