// mistake: grid size rounded down
#include <cuda_runtime.h>

__global__ void flip(float *out, const float *in, int rows, int columns) {
  int c = blockIdx.x * blockDim.x + threadIdx.x, r = blockIdx.y * blockDim.y + threadIdx.y;
  if (r < rows && c < columns)
    out[r * columns + c] = in[r * columns + columns - 1 - c];
}

extern "C" void flip_on_device(float *out, const float *in, int rows, int columns) {
  dim3 block(32, 8), grid(columns / 32, rows / 8);
  flip<<<grid, block>>>(out, in, rows, columns);
}
