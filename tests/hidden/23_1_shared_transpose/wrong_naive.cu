// mistake: uncoalesced access
#include <cuda_runtime.h>

enum { TILE = 16 };

__global__ void transpose(float *out, const float *in, int rows, int columns) {
  int r = blockIdx.y * TILE + threadIdx.y;
  int c = blockIdx.x * TILE + threadIdx.x;
  if (r < rows && c < columns)
    out[c * rows + r] = in[r * columns + c];
}

extern "C" void transpose_on_device(float *out, const float *in, int rows, int columns) {
  dim3 blocks = dim3((columns + TILE - 1) / TILE, (rows + TILE - 1) / TILE);
  transpose<<<blocks, dim3(TILE, TILE)>>>(out, in, rows, columns);
}
