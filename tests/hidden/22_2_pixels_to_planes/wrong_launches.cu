// mistake: array-of-structures access
#include <cuda_runtime.h>

__global__ void one(float *plane, const float *pixels, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    plane[i] = pixels[4 * i];
}

extern "C" void planes_on_device(float *red, float *green, float *blue, const float *pixels, int n) {
  one<<<(n + 255) / 256, 256>>>(red, pixels, n);
  one<<<(n + 255) / 256, 256>>>(green, pixels + 1, n);
  one<<<(n + 255) / 256, 256>>>(blue, pixels + 2, n);
}
