// A fixed grid that strides over the pixels.
#include <cuda_runtime.h>

__global__ void apart(float *red, float *green, float *blue, const float *pixels, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  const float4 *whole = (const float4 *)pixels;
  for (; i < n; i += gridDim.x * blockDim.x) {
    const float4 p = whole[i];
    blue[i] = p.z;
    green[i] = p.y;
    red[i] = p.x;
  }
}

extern "C" void planes_on_device(float *red, float *green, float *blue, const float *pixels, int n) {
  apart<<<8, 64>>>(red, green, blue, pixels, n);
}
