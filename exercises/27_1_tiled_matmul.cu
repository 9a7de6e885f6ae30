// Exercise 27.1: Tiled matrix multiplication       lesson 27 · medium · 40 min
//
// Task      Multiply two matrices, as torch.matmul(a, b, out=c) does:
//               c[i][j] = a[i][0] * b[0][j] + ... + a[i][k-1] * b[k-1][j]
//           With one thread per element of c, each element of a is loaded n
//           times. With tiles in shared memory, a block loads it once and uses
//           it many times.
// Example   a = 1 2   b = 5 6   ->   c = 19 22
//               3 4       7 8            43 50
// Write     the kernel matmul; you may change its launch.
// Inputs    a, b, c   row-major device arrays of finite floats, m x k, k x n
//                     and m x n; c is uninitialized
//           m, n, k   1 to 4096, any sizes
// Required  - correct for all sizes, without data races or out-of-bounds
//             accesses
//           - read a and b only with load(&a[i]) and load(&b[i]); the grader
//             counts these calls
//           - at most m * n * k / 4 calls of load if m, n and k are multiples
//             of 32 (an eighth of the naive kernel's loads)
// Stars     ** one kernel launch
//           *** no bank conflicts: at most 1.5 x the ideal wavefronts
#include "counted.cuh" // load
#include <cuda_runtime.h>
#include <stdio.h>

enum { TILE = 16 };

__global__ void matmul(float *c, const float *a, const float *b, int m, int n, int k) {
}

extern "C" void matmul_on_device(float *c, const float *a, const float *b, int m, int n, int k) {
  dim3 blocks((n + TILE - 1) / TILE, (m + TILE - 1) / TILE);
  matmul<<<blocks, dim3(TILE, TILE)>>>(c, a, b, m, n, k);
  if (cudaPeekAtLastError() != cudaSuccess) // a launch returns no error code, so ask for it
    fprintf(stderr, "matmul: %s\n", cudaGetErrorString(cudaPeekAtLastError()));
}
