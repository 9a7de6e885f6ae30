// mistake: data race
// Eight rows of threads for 32 columns; a block goes on to others while their sums are still read.
#include <cuda_runtime.h>

__global__ void column_sums(float *sums, const float *in, int rows, int columns) {
  __shared__ float parts[8][32];
  int x = threadIdx.x, y = threadIdx.y;
  for (int first = blockIdx.x * 32; first < columns; first += gridDim.x * 32) {
    int c = first + x;
    float sum = 0;
    for (int r = y; c < columns && r < rows; r += 8)
      sum += in[r * columns + c];
    parts[y][x] = sum;
    __syncthreads();
    if (y == 0 && c < columns) {
      for (int k = 1; k < 8; k++)
        sum += parts[k][x];
      sums[c] = sum;
    }
  }
}

extern "C" void column_sums_on_device(float *sums, const float *in, int rows, int columns) {
  column_sums<<<min((columns + 31) / 32, 512), dim3(32, 8)>>>(sums, in, rows, columns);
}
