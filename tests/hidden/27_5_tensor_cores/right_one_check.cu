// Elements past the end of a row are multiplied by zeros, or go to columns that c does not have.
#include <cuda_fp16.h>
#include <cuda_runtime.h>
#include <mma.h>

using namespace nvcuda;
enum { STEP = 16, WARP = 32 }; // a fragment has 16 x 16 elements

enum { TILE = 32, THREADS = 4 * WARP }; // each warp computes a quarter of the tile

// Copies rows x columns elements from the matrix of `height` rows and `width` columns, with 0 where there are none.
static __device__ void load_tile(half *tile, int rows, int columns, const half *matrix, int row, int column, int height,
                                 int width) {
  for (int i = threadIdx.x; i < rows * columns; i += THREADS) {
    int r = row + i / columns, c = column + i % columns;
    tile[i] = r * width + c < height * width ? matrix[r * width + c] : __float2half(0);
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

extern "C" void matmul_on_device(float *c, const half *a, const half *b, int m, int n, int k) {
  dim3 blocks((n + TILE - 1) / TILE, (m + TILE - 1) / TILE);
  matmul<<<blocks, THREADS>>>(c, a, b, m, n, k);
}
