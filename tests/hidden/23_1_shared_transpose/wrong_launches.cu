// mistake: uncoalesced access
#include <cuda_runtime.h>

__global__ void transpose(float *out, const float *in, int rows, int columns) {
  int c = blockIdx.x * blockDim.x + threadIdx.x;
  if (c < columns)
    out[c * rows] = in[c];
}

extern "C" void transpose_on_device(float *out, const float *in, int rows, int columns) {
  for (int r = 0; r < rows; r++)
    transpose<<<(columns + 127) / 128, 128>>>(out + r, in + r * columns, rows, columns);
}
