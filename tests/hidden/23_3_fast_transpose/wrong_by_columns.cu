// mistake: misaligned vector access
#include <cuda_runtime.h>

enum { TILE = 32 };

// The tile is read along rows of x and written along rows of out; its columns lie in different banks, since a row has a word more.
enum { ROWS = 8 };

__global__ void transpose(float *out, const float *x, int rows, int columns) {
  __shared__ float tile[TILE][TILE + 1];
  int column = blockIdx.x * TILE + threadIdx.x, row = blockIdx.y * TILE + threadIdx.y;
  for (int k = 0; k < TILE; k += ROWS)
    if (row + k < rows && column < columns)
      tile[threadIdx.y + k][threadIdx.x] = x[(size_t)(row + k) * columns + column];
  __syncthreads();
  int t = threadIdx.y * TILE + threadIdx.x, from = t % ROWS * 4, to = t / ROWS; // four of a row of out for each thread
  row = blockIdx.x * TILE + to;
  column = blockIdx.y * TILE + from;
  if (row >= columns)
    return;
  if (columns % 4 == 0 && column + 3 < rows) { // which says nothing about the rows of out
    float4 four = {tile[from][to], tile[from + 1][to], tile[from + 2][to], tile[from + 3][to]};
    *(float4 *)&out[(size_t)row * rows + column] = four;
    return;
  }
  for (int k = 0; k < 4 && column + k < rows; k++)
    out[(size_t)row * rows + column + k] = tile[from + k][to];
}

extern "C" void transpose_on_device(float *out, const float *x, int rows, int columns) {
  dim3 grid((columns + TILE - 1) / TILE, (rows + TILE - 1) / TILE);
  transpose<<<grid, dim3(TILE, ROWS)>>>(out, x, rows, columns);
}
