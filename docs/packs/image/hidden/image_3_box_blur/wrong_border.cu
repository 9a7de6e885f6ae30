// mistake: border not written
#include <cuda_runtime.h>

__global__ void blur(float *out, const float *in, int rows, int columns) {
  int c = blockIdx.x * blockDim.x + threadIdx.x, r = blockIdx.y * blockDim.y + threadIdx.y;
  if (r < 1 || c < 1 || r >= rows - 1 || c >= columns - 1)
    return;
  float sum = 0;
  for (int dr = -1; dr <= 1; dr++)
    for (int dc = -1; dc <= 1; dc++)
      sum += in[(r + dr) * columns + c + dc];
  out[r * columns + c] = sum / 9;
}

extern "C" void blur_on_device(float *out, const float *in, int rows, int columns) {
  dim3 block(32, 8), grid((columns + 31) / 32, (rows + 7) / 8);
  blur<<<grid, block>>>(out, in, rows, columns);
}
