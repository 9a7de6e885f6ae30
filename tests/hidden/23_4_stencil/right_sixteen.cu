#include <cuda_runtime.h>

enum { T = 16, R = 2, W = T + 2 * R };

static __device__ int limited(int i, int size) {
  return min(max(i, 0), size - 1);
}

// Tiles of 16 x 16; a flat loop loads tile and halo.
__global__ void stencil(float *out, const float *in, float w0, float w1, float w2, int rows, int columns) {
  __shared__ float tile[W * W];
  int r0 = blockIdx.y * T, c0 = blockIdx.x * T, t = threadIdx.y * T + threadIdx.x;
  for (int i = t; i < W * W; i += T * T)
    tile[i] = in[limited(r0 + i / W - R, rows) * columns + limited(c0 + i % W - R, columns)];
  __syncthreads();
  int r = r0 + threadIdx.y, c = c0 + threadIdx.x;
  if (r >= rows || c >= columns)
    return;
  const float *p = tile + (threadIdx.y + R) * W + threadIdx.x + R;
  out[r * columns + c] = w0 * p[0] + w1 * (p[-1] + p[1] + p[-W] + p[W]) + w2 * (p[-2] + p[2] + p[-2 * W] + p[2 * W]);
}

extern "C" void stencil_on_device(float *out, const float *in, float w0, float w1, float w2, int rows, int columns) {
  if (rows && columns)
    stencil<<<dim3((columns + T - 1) / T, (rows + T - 1) / T), dim3(T, T)>>>(out, in, w0, w1, w2, rows, columns);
}
