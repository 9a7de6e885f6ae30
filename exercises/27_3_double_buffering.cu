// Exercise 27.3: Double buffering                  lesson 27 · hard · 60 min
//
// Task      Multiply two matrices, as torch.matmul(a, b, out=c) does. In each
//           step, the tiled kernel of exercise 27.1 waits for its loads and
//           then computes. Load the next step's elements before you compute
//           with the current tiles, so that the loads are in flight meanwhile.
// Example   a = 1 2   b = 5 6   ->   c = 19 22
//               3 4       7 8            43 50
// Write     the kernel matmul; you may change its launch.
// Inputs    a, b, c   row-major device arrays of finite floats, m x k, k x n
//                     and m x n; c is uninitialized
//           m, n, k   16 to 4096, multiples of 16
// Required  - correct, without data races or out-of-bounds accesses
//           - read a and b with load(&a[i]), and tiles in shared memory with
//             fetch(&tile[i]); the grader records the order of these calls
//           - in each step, load the next step's elements before the current
//             step's last fetch, with no barrier in between
// Stars     ** at most k / 16 + 2 barriers: one per step of 16
#include "counted.cuh" // load, fetch
#include <cuda_runtime.h>

enum { TILE = 16 };

__global__ void matmul(float *c, const float *a, const float *b, int n, int k) {
}

extern "C" void matmul_on_device(float *c, const float *a, const float *b, int m, int n, int k) {
  matmul<<<dim3(n / TILE, m / TILE), dim3(TILE, TILE)>>>(c, a, b, n, k);
}
