// mistake: stride of three floats
#include <cuda_runtime.h>

__global__ void apart(float *red, float *green, float *blue, const float *pixels, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    red[i] = pixels[3 * i];
    green[i] = pixels[3 * i + 1];
    blue[i] = pixels[3 * i + 2];
  }
}

extern "C" void planes_on_device(float *red, float *green, float *blue, const float *pixels, int n) {
  apart<<<(n + 127) / 128, 128>>>(red, green, blue, pixels, n);
}
