#include <cuda_runtime.h>

enum { TILE = 16 };

__global__ void blur(float *out, const float *in, int rows, int columns) {
  __shared__ float tile[TILE + 2][TILE + 2];
  int top = blockIdx.y * TILE - 1, left = blockIdx.x * TILE - 1;
  for (int i = threadIdx.y * TILE + threadIdx.x; i < (TILE + 2) * (TILE + 2); i += TILE * TILE) {
    int y = min(max(top + i / (TILE + 2), 0), rows - 1), x = min(max(left + i % (TILE + 2), 0), columns - 1);
    tile[i / (TILE + 2)][i % (TILE + 2)] = in[y * columns + x];
  }
  __syncthreads();
  int r = blockIdx.y * TILE + threadIdx.y, c = blockIdx.x * TILE + threadIdx.x;
  if (r >= rows || c >= columns)
    return;
  float sum = 0;
  for (int dr = 0; dr < 3; dr++)
    for (int dc = 0; dc < 3; dc++)
      sum += tile[threadIdx.y + dr][threadIdx.x + dc];
  out[r * columns + c] = sum / 9;
}

extern "C" void blur_on_device(float *out, const float *in, int rows, int columns) {
  dim3 block(TILE, TILE), grid((columns + TILE - 1) / TILE, (rows + TILE - 1) / TILE);
  blur<<<grid, block>>>(out, in, rows, columns);
}
