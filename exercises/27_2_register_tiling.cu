// Exercise 27.2: Register tiling                   lesson 27 · hard · 60 min
//
// Task      Multiply two matrices, as torch.matmul(a, b, out=c) does. The tiled
//           kernel of exercise 27.1 loads two words from shared memory for each
//           multiply-add. If a thread computes several elements of c in
//           registers, it uses each word for several multiply-adds: with 8 x 8
//           elements, 16 words serve 64 multiply-adds.
// Example   a = 1 2   b = 5 6   ->   c = 19 22
//               3 4       7 8            43 50
// Write     the kernel matmul; you may change its launch.
// Inputs    a, b, c   row-major device arrays of finite floats, m x k, k x n
//                     and m x n, 16-byte aligned; c is uninitialized
//           m, n      64 to 4096, multiples of 64
//           k         8 to 4096, a multiple of 8
// Required  - correct, without data races or out-of-bounds accesses
//           - at most 0.6 * m * n * k loads from shared memory by all threads
//             together (4 x 4 elements per thread need 0.5, 8 x 8 need 0.25)
// Stars     ** one kernel launch
//           *** at most m * n * k / 128 sectors loaded from global memory
#include <cuda_runtime.h>

enum { TILE = 64, STEP = 8, EACH = 8, THREADS = TILE / EACH * (TILE / EACH) };

__global__ void matmul(float *c, const float *a, const float *b, int n, int k) {
}

extern "C" void matmul_on_device(float *c, const float *a, const float *b, int m, int n, int k) {
  matmul<<<dim3(n / TILE, m / TILE), THREADS>>>(c, a, b, n, k);
}
