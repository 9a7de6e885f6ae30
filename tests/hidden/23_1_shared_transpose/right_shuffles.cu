// One warp per tile of 32 x 32 and no shared memory: lane x holds column x, and five rounds of shuffles transpose the tile.
#include <cuda_runtime.h>

__global__ void transpose(float *out, const float *in, int rows, int columns) {
  int x = threadIdx.x, top = blockIdx.y * 32, left = blockIdx.x * 32;
  float column[32];
  for (int y = 0; y < 32; y++)
    column[y] = top + y < rows && left + x < columns ? in[(top + y) * columns + left + x] : 0;
  for (int bit = 16; bit > 0; bit /= 2)
    for (int y = 0; y < 32; y++)
      if (!(y & bit)) { // lanes that differ in `bit` exchange two elements
        float sent = x & bit ? column[y] : column[y | bit];
        float received = __shfl_xor_sync(~0u, sent, bit);
        if (x & bit)
          column[y] = received;
        else
          column[y | bit] = received;
      }
  for (int y = 0; y < 32; y++)
    if (left + y < columns && top + x < rows)
      out[(left + y) * rows + top + x] = column[y];
}

extern "C" void transpose_on_device(float *out, const float *in, int rows, int columns) {
  transpose<<<dim3((columns + 31) / 32, (rows + 31) / 32), 32>>>(out, in, rows, columns);
}
