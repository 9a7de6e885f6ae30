// missing star: elements loaded again
#include <cuda_runtime.h>

static __device__ int limited(int i, int size) {
  return min(max(i, 0), size - 1);
}

// A copy with a border of two elements on each side, after which no index needs a limit.
__global__ void pad(float *padded, const float *in, int rows, int columns) {
  int c = blockIdx.x * blockDim.x + threadIdx.x, r = blockIdx.y * blockDim.y + threadIdx.y;
  if (r < rows + 4 && c < columns + 4)
    padded[r * (columns + 4) + c] = in[limited(r - 2, rows) * columns + limited(c - 2, columns)];
}

__global__ void stencil(float *out, const float *in, float w0, float w1, float w2, int rows, int columns) {
  int c = blockIdx.x * blockDim.x + threadIdx.x, r = blockIdx.y * blockDim.y + threadIdx.y, w = columns + 4;
  if (r >= rows || c >= columns)
    return;
  const float *p = in + (r + 2) * w + c + 2;
  out[r * columns + c] = w0 * *p + w1 * (p[-1] + p[1] + p[-w] + p[w]) + w2 * (p[-2] + p[2] + p[-2 * w] + p[2 * w]);
}

extern "C" void stencil_on_device(float *out, const float *in, float w0, float w1, float w2, int rows, int columns) {
  if (rows == 0 || columns == 0)
    return;
  float *padded;
  dim3 block(32, 16), grid((columns + 4 + 31) / 32, (rows + 4 + 15) / 16);
  cudaMalloc(&padded, sizeof(float) * (rows + 4) * (columns + 4));
  pad<<<grid, block>>>(padded, in, rows, columns);
  stencil<<<grid, block>>>(out, padded, w0, w1, w2, rows, columns);
  cudaFree(padded);
}
