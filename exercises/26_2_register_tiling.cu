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
  (void)c;
  (void)a;
  (void)b;
  (void)n;
  (void)k;
}

extern "C" void matmul_on_device(float *c, const float *a, const float *b, int m, int n, int k) {
  matmul<<<dim3(n / TILE, m / TILE), THREADS>>>(c, a, b, n, k);
}
