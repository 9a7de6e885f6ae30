// finding: race-warp 36 32
// Rank 0 of the tile reads what the other ranks store into the scratch with no sync of the tile in between.
// CSR matrix times vector with a tile of 8 threads per row (cooperative groups). Tiles of one
// warp make different numbers of rounds; the tile has its own scratch.
#include <cstdio>
#include <cuda_runtime.h>
#include <cooperative_groups.h>

namespace cg = cooperative_groups;

const int TILE = 8, NT = 64;

template <unsigned S> __device__ int tileSum(const cg::thread_block_tile<S> &g, int v) {
  for (int d = S / 2; d > 0; d /= 2)
    v += g.shfl_down(v, d);
  return g.shfl(v, 0);
}

__global__ void spmv(const int *ptr, const int *col, const int *val, const int *x, int *y, int *worst, int rows) {
  __shared__ int scratch[NT];
  cg::thread_block blk = cg::this_thread_block();
  cg::thread_block_tile<TILE> g = cg::tiled_partition<TILE>(blk);
  int *mine = scratch + (blk.thread_rank() / TILE) * TILE;
  int tiles = NT / TILE;
  for (int r = blockIdx.x * tiles + blk.thread_rank() / TILE; r < rows; r += gridDim.x * tiles) {
    int acc = 0, top = 0;
    for (int k = ptr[r] + g.thread_rank(); k < ptr[r + 1]; k += TILE) {
      int p = val[k] * x[col[k]];
      acc += p;
      top = max(top, p);
    }
    mine[g.thread_rank()] = top;
    if (g.thread_rank() == 0) {
      int m = 0;
      for (int i = 0; i < TILE; i++)
        m = max(m, mine[i]);
      worst[r] = m;
    }
    acc = tileSum(g, acc);
    if (g.thread_rank() == TILE - 1)
      y[r] = acc;
    g.sync();
  }
}

int main() {
  const int rows = 50, cols = 40, cap = rows * 30;
  static int ptr[rows + 1], col[cap], val[cap], x[cols], y[rows], wst[rows];
  int nnz = 0;
  for (int r = 0; r < rows; r++) {
    ptr[r] = nnz;
    for (int k = 0; k < (r * 7) % 29; k++) {
      col[nnz] = (r + 3 * k) % cols;
      val[nnz] = k % 6 - 2;
      nnz++;
    }
  }
  ptr[rows] = nnz;
  for (int c = 0; c < cols; c++)
    x[c] = c % 9 - 4;
  int *dp, *dc, *dv, *dx, *dy, *dw;
  cudaMalloc(&dp, sizeof ptr);
  cudaMalloc(&dc, nnz * sizeof(int));
  cudaMalloc(&dv, nnz * sizeof(int));
  cudaMalloc(&dx, sizeof x);
  cudaMalloc(&dy, sizeof y);
  cudaMalloc(&dw, sizeof wst);
  cudaMemcpy(dp, ptr, sizeof ptr, cudaMemcpyHostToDevice);
  cudaMemcpy(dc, col, nnz * sizeof(int), cudaMemcpyHostToDevice);
  cudaMemcpy(dv, val, nnz * sizeof(int), cudaMemcpyHostToDevice);
  cudaMemcpy(dx, x, sizeof x, cudaMemcpyHostToDevice);
  spmv<<<3, NT>>>(dp, dc, dv, dx, dy, dw, rows);
  cudaMemcpy(y, dy, sizeof y, cudaMemcpyDeviceToHost);
  cudaMemcpy(wst, dw, sizeof wst, cudaMemcpyDeviceToHost);
  cudaFree(dp);
  cudaFree(dc);
  cudaFree(dv);
  cudaFree(dx);
  cudaFree(dy);
  cudaFree(dw);
  int wrong = 0;
  for (int r = 0; r < rows; r++) {
    int s = 0, m = 0;
    for (int k = ptr[r]; k < ptr[r + 1]; k++) {
      int p = val[k] * x[col[k]];
      s += p;
      m = p > m ? p : m;
    }
    wrong += s != y[r] || m != wst[r];
  }
  printf("tile_scratch: %d wrong\n", wrong);
  return wrong > 0;
}
