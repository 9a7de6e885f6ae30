// mistake: out-of-bounds access
#include <cuda_runtime.h>

__global__ void take_apart(float *red, float *green, float *blue, const float4 *pixels, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i > n)
    return;
  float4 p = pixels[i];
  red[i] = p.x;
  green[i] = p.y;
  blue[i] = p.z;
}

extern "C" void planes_on_device(float *red, float *green, float *blue, const float *pixels, int n) {
  take_apart<<<(n + 255) / 256, 256>>>(red, green, blue, (const float4 *)pixels, n);
}
