// mistake: grid size rounded down
#include <cuda_runtime.h>

__global__ void gray(float *out, const float *rgb, int pixels) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < pixels)
    out[i] = 0.25f * rgb[3 * i] + 0.5f * rgb[3 * i + 1] + 0.25f * rgb[3 * i + 2];
}

extern "C" void gray_on_device(float *out, const float *rgb, int pixels) {
  gray<<<pixels / 256, 256>>>(out, rgb, pixels);
}
