// mistake: input read as planes
#include <cuda_runtime.h>

__global__ void apart(float *red, float *green, float *blue, const float *pixels, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    red[i] = pixels[i];
    green[i] = pixels[n + i];
    blue[i] = pixels[2 * n + i];
  }
}

extern "C" void planes_on_device(float *red, float *green, float *blue, const float *pixels, int n) {
  apart<<<(n + 127) / 128, 128>>>(red, green, blue, pixels, n);
}
