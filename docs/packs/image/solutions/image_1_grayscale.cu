// Exercise image.1: Grayscale                          lesson 20 · easy · 15 min
//
// Task      Convert an image of interleaved red, green and blue values to gray:
//               out[i] = (r + 2 g + b) / 4
// Example   r, g, b = 1 2 3   ->   out = 2
// Write     the kernel gray, and gray_on_device, which launches it.
// Inputs    rgb     device array of 3 * pixels floats
//           out     device array of pixels floats
//           pixels  0 to 1,000,000
// Required  - correct for every number of pixels, without out-of-bounds accesses
//           - computed on the device, in at most 2 launches
#include <cuda_runtime.h>

__global__ void gray(float *out, const float *rgb, int pixels) {
  // [answer]
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < pixels)
    out[i] = 0.25f * rgb[3 * i] + 0.5f * rgb[3 * i + 1] + 0.25f * rgb[3 * i + 2];
  // [stub]
  // [end]
}

extern "C" void gray_on_device(float *out, const float *rgb, int pixels) {
  // [answer]
  if (pixels > 0)
    gray<<<(pixels + 255) / 256, 256>>>(out, rgb, pixels);
  // [stub]
  // [end]
}
