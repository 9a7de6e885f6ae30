// mistake: misaligned vector access
#include <cuda_runtime.h>

enum { TILE = 32, THREADS = 256 };

// A tile of 32 x 32 through shared memory, by 256 threads. Where rows of both matrices begin at multiples of 16 bytes
// each thread moves four numbers at once.
__global__ void transpose(float *out, const float *x, int rows, int columns) {
  __shared__ float tile[TILE][TILE + 1];
  const int t = threadIdx.x, column = blockIdx.x * TILE, row = blockIdx.y * TILE;
  if (columns % 4 == 0) {
    const int four = t % 8 * 4, line = t / 8;
    if (row + line < rows && column + four < columns) {
      const float4 value = *(const float4 *)&x[(size_t)(row + line) * columns + column + four];
      tile[line][four] = value.x;
      tile[line][four + 1] = value.y;
      tile[line][four + 2] = value.z;
      tile[line][four + 3] = value.w;
    }
    __syncthreads();
    if (column + line < columns && row + four < rows)
      *(float4 *)&out[(size_t)(column + line) * rows + row + four] =
          make_float4(tile[four][line], tile[four + 1][line], tile[four + 2][line], tile[four + 3][line]);
    return;
  }
  const int lane = t % TILE;
  for (int line = t / TILE; line < TILE; line += THREADS / TILE)
    if (row + line < rows && column + lane < columns)
      tile[line][lane] = x[(size_t)(row + line) * columns + column + lane];
  __syncthreads();
  for (int line = t / TILE; line < TILE; line += THREADS / TILE)
    if (column + line < columns && row + lane < rows)
      out[(size_t)(column + line) * rows + row + lane] = tile[lane][line];
}

extern "C" void transpose_on_device(float *out, const float *x, int rows, int columns) {
  dim3 grid((columns + TILE - 1) / TILE, (rows + TILE - 1) / TILE);
  transpose<<<grid, THREADS>>>(out, x, rows, columns);
}
