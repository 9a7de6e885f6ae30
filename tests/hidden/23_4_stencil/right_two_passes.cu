// missing star: elements loaded again
#include <cuda_runtime.h>

static __device__ int limited(int i, int size) {
  return min(max(i, 0), size - 1);
}

// Along the columns first, then along the rows.
__global__ void vertical(float *out, const float *in, float w0, float w1, float w2, int rows, int columns) {
  int c = blockIdx.x * blockDim.x + threadIdx.x, r = blockIdx.y * blockDim.y + threadIdx.y;
  if (r >= rows || c >= columns)
    return;
#define IN(R) in[limited(R, rows) * columns + c]
  out[r * columns + c] = w0 * IN(r) + w1 * (IN(r - 1) + IN(r + 1)) + w2 * (IN(r - 2) + IN(r + 2));
}

__global__ void horizontal(float *out, const float *in, float w0, float w1, float w2, int rows, int columns) {
  int c = blockIdx.x * blockDim.x + threadIdx.x, r = blockIdx.y * blockDim.y + threadIdx.y;
  if (r >= rows || c >= columns)
    return;
  const float *row = in + r * columns;
  out[r * columns + c] += w1 * (row[limited(c - 1, columns)] + row[limited(c + 1, columns)]);
  out[r * columns + c] += w2 * (row[limited(c - 2, columns)] + row[limited(c + 2, columns)]);
}

extern "C" void stencil_on_device(float *out, const float *in, float w0, float w1, float w2, int rows, int columns) {
  dim3 block(32, 4), grid((columns + 31) / 32, (rows + 3) / 4);
  if (rows == 0 || columns == 0)
    return;
  vertical<<<grid, block>>>(out, in, w0, w1, w2, rows, columns);
  horizontal<<<grid, block>>>(out, in, w0, w1, w2, rows, columns);
}
