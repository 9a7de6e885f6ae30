// mistake: too many launches
#include <cuda_runtime.h>

__global__ void gray(float *out, const float *rgb) {
  *out = 0.25f * rgb[0] + 0.5f * rgb[1] + 0.25f * rgb[2];
}

extern "C" void gray_on_device(float *out, const float *rgb, int pixels) {
  for (int i = 0; i < pixels; i++)
    gray<<<1, 1>>>(out + i, rgb + 3 * i);
}
