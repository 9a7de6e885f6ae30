// mistake: matrix copied, not transposed
#include <cuda_runtime.h>

enum { TILE = 32 };

__global__ void copy(float *out, const float *x, int count) {
  int i = blockIdx.x * 256 + threadIdx.x;
  if (i < count)
    out[i] = x[i];
}

extern "C" void transpose_on_device(float *out, const float *x, int rows, int columns) {
  copy<<<(rows * columns + 255) / 256, 256>>>(out, x, rows * columns);
}
