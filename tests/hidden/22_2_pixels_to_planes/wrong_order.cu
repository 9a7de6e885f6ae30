// mistake: red and blue swapped
#include <cuda_runtime.h>

__global__ void apart(float *red, float *green, float *blue, const float *pixels, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    red[i] = pixels[4 * i + 2];
    green[i] = pixels[4 * i + 1];
    blue[i] = pixels[4 * i];
  }
}

extern "C" void planes_on_device(float *red, float *green, float *blue, const float *pixels, int n) {
  apart<<<(n + 127) / 128, 128>>>(red, green, blue, pixels, n);
}
