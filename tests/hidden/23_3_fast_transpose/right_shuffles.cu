// stars: 3
// One warp per tile, in registers: five rounds of shuffles transpose it, without shared memory.
#include <cuda_runtime.h>

__global__ void transpose(float *out, const float *x, int rows, int columns) {
  const int lane = threadIdx.x, top = blockIdx.y * 32, left = blockIdx.x * 32;
  float column[32];
#pragma unroll
  for (int y = 0; y < 32; y++)
    column[y] = top + y < rows && left + lane < columns ? x[(size_t)(top + y) * columns + left + lane] : 0;
#pragma unroll
  for (int bit = 16; bit > 0; bit /= 2)
#pragma unroll
    for (int y = 0; y < 32; y++)
      if (!(y & bit)) {
        const float sent = lane & bit ? column[y] : column[y | bit], received = __shfl_xor_sync(~0u, sent, bit);
        if (lane & bit)
          column[y] = received;
        else
          column[y | bit] = received;
      }
#pragma unroll
  for (int y = 0; y < 32; y++)
    if (left + y < columns && top + lane < rows)
      out[(size_t)(left + y) * rows + top + lane] = column[y];
}

extern "C" void transpose_on_device(float *out, const float *x, int rows, int columns) {
  transpose<<<dim3((columns + 31) / 32, (rows + 31) / 32), 32>>>(out, x, rows, columns);
}
