// mistake: too many launches
#include <cuda_runtime.h>

__global__ void flip(float *out, const float *in, int columns) {
  int c = blockIdx.x * blockDim.x + threadIdx.x;
  if (c < columns)
    out[c] = in[columns - 1 - c];
}

extern "C" void flip_on_device(float *out, const float *in, int rows, int columns) {
  for (int r = 0; r < rows; r++)
    flip<<<(columns + 63) / 64, 64>>>(out + r * columns, in + r * columns, columns);
}
