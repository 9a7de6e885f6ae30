// mistake: divergent barrier
#include <cuda_runtime.h>

enum { T = 16, R = 2, W = T + 2 * R };

static __device__ int limited(int i, int size) {
  return min(max(i, 0), size - 1);
}

__global__ void stencil(float *out, const float *in, float w0, float w1, float w2, int rows, int columns) {
  __shared__ float tile[W][W];
  int r0 = blockIdx.y * T, c0 = blockIdx.x * T, x = threadIdx.x + R, y = threadIdx.y + R;
  if (r0 + (int)threadIdx.y >= rows || c0 + (int)threadIdx.x >= columns)
    return;
  for (int i = threadIdx.y; i < W; i += T)
    for (int k = threadIdx.x; k < W; k += T)
      tile[i][k] = in[limited(r0 + i - R, rows) * columns + limited(c0 + k - R, columns)];
  __syncthreads();
  int r = r0 + threadIdx.y, c = c0 + threadIdx.x;
  if (r < rows && c < columns)
    out[r * columns + c] = w0 * tile[y][x] + w1 * (tile[y - 1][x] + tile[y + 1][x] + tile[y][x - 1] + tile[y][x + 1]) +
                           w2 * (tile[y - 2][x] + tile[y + 2][x] + tile[y][x - 2] + tile[y][x + 2]);
}

extern "C" void stencil_on_device(float *out, const float *in, float w0, float w1, float w2, int rows, int columns) {
  dim3 block(T, T), grid((columns + T - 1) / T, (rows + T - 1) / T);
  if (rows > 0 && columns > 0)
    stencil<<<grid, block>>>(out, in, w0, w1, w2, rows, columns);
}
