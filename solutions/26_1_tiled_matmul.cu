// Exercise 26.1: a matrix product in tiles                                  (chapter 26, docs/26_the_matrix_product.md)
//
// Write the kernel matmul, and matmul_on_device, which launches it:
//
//   c[i][j] = a[i][0] * b[0][j] + ... + a[i][k-1] * b[k-1][j]        a: m x k, b: k x n, c: m x n
//
//   PyTorch:  torch.matmul(a, b, out=c)
//
// Given: the matrices, contiguous float32 in device memory. m, n and k are at least 1 and at most 65535, differ, and
// are hardly ever multiples of a tile. c holds anything before. All three are parts of larger arrays: what lies behind
// them is not yours.
//
// With a thread for each element of c that reads its row of a and its column of b, every element of a is fetched n
// times. So let a block make a square tile of c, and go along k in steps of a tile: its threads bring a tile of a and a
// tile of b into __shared__ memory, one element of each per thread, and then each thread takes what it needs from
// there. A tile 16 wide divides the reading by 16. Where a tile reaches beyond k it holds zeros, which add nothing.
// Elements may be infinite, and an infinity times 0 is NaN: so both tiles hold zeros there, and a 0 of the matrices is
// multiplied like any other element. What a tile holds beyond m or n is no matter, for no element of c needs it; but no
// memory outside of a and b is read for it. There are two things to wait for: that the tiles are complete, and that
// nobody needs them any more before the next are brought.
//
// The kernel reads a and b (global memory) through
//   float load(const float *address)
// which is in counted.cuh, and is what is counted: at most an eighth of 2 m n k, where all three are multiples of 32.
// What does not go through load finds NaN there. Shared memory is read and written as always. Counted besides: launches
// (one), and barriers (a tile needs them).
//
// In the library: core/op/product/cublas_gemm.cuh leaves the product to cuBLAS, which makes tiles of tiles, down to
// registers.
#include "counted.cuh" // load
#include <cuda_runtime.h>
#include <stdio.h>

enum { TILE = 16 };

__global__ void matmul(float *c, const float *a, const float *b, int m, int n, int k) {
  // [answer]
  __shared__ float a_tile[TILE][TILE], b_tile[TILE][TILE];
  int y = threadIdx.y, x = threadIdx.x;
  // Indices are size_t: a product of two ints overflows from 46341 x 46341 on.
  int row = blockIdx.y * TILE + y, column = blockIdx.x * TILE + x;
  float sum = 0;
  for (int begin = 0; begin < k; begin += TILE) {
    a_tile[y][x] = row < m && begin + x < k ? load(&a[(size_t)row * k + begin + x]) : 0;
    b_tile[y][x] = begin + y < k && column < n ? load(&b[(size_t)(begin + y) * n + column]) : 0;
    __syncthreads();
    for (int i = 0; i < TILE; i++)
      sum += a_tile[y][i] * b_tile[i][x];
    __syncthreads();
  }
  if (row < m && column < n)
    c[(size_t)row * n + column] = sum;
  // [stub]
  //| (void)c;
  //| (void)a;
  //| (void)b;
  //| (void)m;
  //| (void)n;
  //| (void)k;
  // [end]
}

extern "C" void matmul_on_device(float *c, const float *a, const float *b, int m, int n, int k) {
  dim3 blocks((n + TILE - 1) / TILE, (m + TILE - 1) / TILE);
  matmul<<<blocks, dim3(TILE, TILE)>>>(c, a, b, m, n, k);
  if (cudaPeekAtLastError() != cudaSuccess) // a launch returns nothing: whether it could begin has to be asked for
    fprintf(stderr, "matmul: %s\n", cudaGetErrorString(cudaPeekAtLastError()));
}
