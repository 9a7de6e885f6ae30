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

// [answer]
enum { TILE = 32, THREADS = 4 * WARP }; // each warp computes a quarter of the tile

// Copies rows x columns elements from the matrix of `height` rows and `width` columns, with 0 where there are none.
static __device__ void load_tile(half *tile, int rows, int columns, const half *matrix, int row, int column, int height,
                                 int width) {
  for (int i = threadIdx.x; i < rows * columns; i += THREADS) {
    int r = row + i / columns, c = column + i % columns;
    tile[i] = r < height && c < width ? matrix[r * width + c] : __float2half(0);
  }
}

__global__ void matmul(float *c, const half *a, const half *b, int m, int n, int k) {
  __shared__ __align__(32) half a_tile[TILE * STEP], b_tile[STEP * TILE];
  __shared__ __align__(32) float c_tile[TILE * TILE];
  wmma::fragment<wmma::matrix_a, STEP, STEP, STEP, half, wmma::row_major> left;
  wmma::fragment<wmma::matrix_b, STEP, STEP, STEP, half, wmma::row_major> right;
  wmma::fragment<wmma::accumulator, STEP, STEP, STEP, float> sum;
  int row = blockIdx.y * TILE, column = blockIdx.x * TILE, warp = threadIdx.x / WARP;
  int down = warp / 2 * STEP, across = warp % 2 * STEP; // of the warp's quarter
  wmma::fill_fragment(sum, 0);
  for (int p = 0; p < k; p += STEP) {
    load_tile(a_tile, TILE, STEP, a, row, p, m, k);
    load_tile(b_tile, STEP, TILE, b, p, column, k, n);
    __syncthreads();
    wmma::load_matrix_sync(left, a_tile + down * STEP, STEP);
    wmma::load_matrix_sync(right, b_tile + across, TILE);
    wmma::mma_sync(sum, left, right, sum);
    __syncthreads(); // before the tiles are overwritten
  }
  wmma::store_matrix_sync(c_tile + down * TILE + across, sum, TILE, wmma::mem_row_major);
  __syncthreads();
  for (int i = threadIdx.x; i < TILE * TILE; i += THREADS)
    if (row + i / TILE < m && column + i % TILE < n)
      c[(row + i / TILE) * n + column + i % TILE] = c_tile[i];
}
// [stub]
//| __global__ void matmul(float *c, const half *a, const half *b, int m, int n, int k) {
//| }
// [end]

extern "C" void matmul_on_device(float *c, const half *a, const half *b, int m, int n, int k) {
  // [answer]
  dim3 blocks((n + TILE - 1) / TILE, (m + TILE - 1) / TILE);
  matmul<<<blocks, THREADS>>>(c, a, b, m, n, k);
  // [stub]
  // [end]
}
