// mistake: grid size rounded down
#include <cuda_runtime.h>

__global__ void apart(float *red, float *green, float *blue, const float *pixels, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    const float4 p = ((const float4 *)pixels)[i];
    red[i] = p.x;
    green[i] = p.y;
    blue[i] = p.z;
  }
}

extern "C" void planes_on_device(float *red, float *green, float *blue, const float *pixels, int n) {
  apart<<<n / 64, 64>>>(red, green, blue, pixels, n);
}
