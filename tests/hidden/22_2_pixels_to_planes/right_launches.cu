// missing star: pixels loaded more than once
// A launch for each color, with whole pixels.
#include <cuda_runtime.h>

template <int COLOR> __global__ void copy(float *plane, const float4 *pixels, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n)
    return;
  float4 p = pixels[i];
  plane[i] = COLOR == 0 ? p.x : COLOR == 1 ? p.y : p.z;
}

extern "C" void planes_on_device(float *red, float *green, float *blue, const float *pixels, int n) {
  int blocks = (n + 127) / 128;
  copy<0><<<blocks, 128>>>(red, (const float4 *)pixels, n);
  copy<1><<<blocks, 128>>>(green, (const float4 *)pixels, n);
  copy<2><<<blocks, 128>>>(blue, (const float4 *)pixels, n);
}
