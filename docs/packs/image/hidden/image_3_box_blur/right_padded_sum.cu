#include <cuda_runtime.h>

__global__ void blur(float *out, const float *in, int rows, int columns) {
  int c = blockIdx.x * blockDim.x + threadIdx.x, r = blockIdx.y * blockDim.y + threadIdx.y;
  if (r >= rows || c >= columns)
    return;
  int up = r > 0 ? r - 1 : 0, down = r + 1 < rows ? r + 1 : r, left = c > 0 ? c - 1 : 0,
      right = c + 1 < columns ? c + 1 : c;
  float sum = 0;
  int ys[3] = {up, r, down};
  for (int i = 0; i < 3; i++)
    sum += in[ys[i] * columns + left] + in[ys[i] * columns + c] + in[ys[i] * columns + right];
  out[r * columns + c] = sum / 9;
}

extern "C" void blur_on_device(float *out, const float *in, int rows, int columns) {
  dim3 block(32, 8), grid((columns + 31) / 32, (rows + 7) / 8);
  blur<<<grid, block>>>(out, in, rows, columns);
}
