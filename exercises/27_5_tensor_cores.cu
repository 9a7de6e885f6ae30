// Exercise 27.5: Tensor cores: matrices of any size  lesson 27 · hard · 60 min
//
// Task      Multiply two matrices of 16-bit floats on tensor cores, for every
//           size. wmma multiplies whole tiles, so pad the tiles with zeros.
//               c = a @ b, in float
// Example   m = 1, n = 2, k = 3:   a = 1 2 3   b = 1 0   ->   c = 9 5
//                                                  1 1
//                                                  2 1
// Write     matmul_on_device and the kernels that it launches.
// Inputs    a       device array of m x k halfs, row by row
//           b       device array of k x n halfs
//           c       device array of m x n floats
//           m, n, k   1 to 500; a sum of products fits into a float exactly
// Required  - correct for every size, without races or out-of-bounds accesses
//           - all products by wmma::mma_sync, into sums of float
//           - fragments are loaded and stored at addresses of a multiple of 32
//             bytes, with strides of a multiple of 8 halfs or 4 floats
// Stars     ** coalesced: at most 2.2 x the ideal sectors per load
//           *** reuse: all loads together access at most 2.2 x the sectors that
//               tiles of 32 x 32 elements of c need
#include <cuda_fp16.h>
#include <cuda_runtime.h>
#include <mma.h>

using namespace nvcuda;
enum { STEP = 16, WARP = 32 }; // a fragment has 16 x 16 elements

__global__ void matmul(float *c, const half *a, const half *b, int m, int n, int k) {
}

extern "C" void matmul_on_device(float *c, const half *a, const half *b, int m, int n, int k) {
}
