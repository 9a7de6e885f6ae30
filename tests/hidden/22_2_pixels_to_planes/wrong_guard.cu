// mistake: out-of-bounds write
#include <cuda_runtime.h>

__global__ void apart(float *red, float *green, float *blue, const float *pixels, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  const float4 p = ((const float4 *)pixels)[i < n ? i : n - 1];
  red[i] = p.x;
  green[i] = p.y;
  blue[i] = p.z;
  (void)n;
}

extern "C" void planes_on_device(float *red, float *green, float *blue, const float *pixels, int n) {
  apart<<<(n + 127) / 128, 128>>>(red, green, blue, pixels, n);
}
