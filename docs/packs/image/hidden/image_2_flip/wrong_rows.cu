// mistake: rows mirrored
#include <cuda_runtime.h>

__global__ void flip(float *out, const float *in, int rows, int columns) {
  int c = blockIdx.x * blockDim.x + threadIdx.x, r = blockIdx.y * blockDim.y + threadIdx.y;
  if (r < rows && c < columns)
    out[r * columns + c] = in[(rows - 1 - r) * columns + c];
}

extern "C" void flip_on_device(float *out, const float *in, int rows, int columns) {
  dim3 block(32, 8), grid((columns + 31) / 32, (rows + 7) / 8);
  flip<<<grid, block>>>(out, in, rows, columns);
}
