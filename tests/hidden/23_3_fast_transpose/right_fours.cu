// stars: 3
// Each thread moves four elements at a time in both directions, where all rows are 16-byte aligned.
#include <cuda_runtime.h>

enum { TILE = 32, THREADS = 256 };

__global__ void transpose(float *out, const float *x, int rows, int columns) {
  __shared__ float tile[TILE][TILE + 1];
  const int t = threadIdx.x, left = blockIdx.x * TILE, top = blockIdx.y * TILE;
  if (rows % 4 == 0 && columns % 4 == 0) {
    const int four = t % 8 * 4, line = t / 8;
    if (top + line < rows && left + four < columns) {
      const float4 v = *(const float4 *)&x[(size_t)(top + line) * columns + left + four];
      tile[line][four] = v.x;
      tile[line][four + 1] = v.y;
      tile[line][four + 2] = v.z;
      tile[line][four + 3] = v.w;
    }
    __syncthreads();
    if (left + line < columns && top + four < rows)
      *(float4 *)&out[(size_t)(left + line) * rows + top + four] =
          make_float4(tile[four][line], tile[four + 1][line], tile[four + 2][line], tile[four + 3][line]);
    return;
  }
  const int lane = t % TILE;
  for (int line = t / TILE; line < TILE; line += THREADS / TILE)
    if (top + line < rows && left + lane < columns)
      tile[line][lane] = x[(size_t)(top + line) * columns + left + lane];
  __syncthreads();
  for (int line = t / TILE; line < TILE; line += THREADS / TILE)
    if (left + line < columns && top + lane < rows)
      out[(size_t)(left + line) * rows + top + lane] = tile[lane][line];
}

extern "C" void transpose_on_device(float *out, const float *x, int rows, int columns) {
  transpose<<<dim3((columns + TILE - 1) / TILE, (rows + TILE - 1) / TILE), THREADS>>>(out, x, rows, columns);
}
