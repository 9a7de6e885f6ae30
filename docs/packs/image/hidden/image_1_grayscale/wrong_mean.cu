// mistake: equal weights
#include <cuda_runtime.h>

__global__ void gray(float *out, const float *rgb, int pixels) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < pixels)
    out[i] = (rgb[3 * i] + rgb[3 * i + 1] + rgb[3 * i + 2]) / 3;
}

extern "C" void gray_on_device(float *out, const float *rgb, int pixels) {
  if (pixels > 0)
    gray<<<(pixels + 255) / 256, 256>>>(out, rgb, pixels);
}
