// A thread for each float: the lanes of one color store 8 neighboring floats.
#include <cuda_runtime.h>

__global__ void scatter(float *red, float *green, float *blue, const float *pixels, unsigned floats) {
  unsigned k = blockIdx.x * blockDim.x + threadIdx.x;
  if (k >= floats)
    return;
  float value = pixels[k];
  float *planes[4] = {red, green, blue, nullptr};
  float *plane = planes[k & 3];
  if (plane)
    plane[k >> 2] = value;
}

extern "C" void planes_on_device(float *red, float *green, float *blue, const float *pixels, int n) {
  unsigned floats = 4u * (unsigned)n;
  scatter<<<(floats + 255) / 256, 256>>>(red, green, blue, pixels, floats);
}
