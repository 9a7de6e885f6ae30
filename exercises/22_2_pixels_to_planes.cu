// Exercise 22.2: pixels to planes                                                  (chapter 22, docs/22_global_memory.md)
//
// Write planes_on_device and its kernel: a picture stored pixel after pixel is taken apart into a plane for each
// colour.
//
//   red[i] = pixels[4 * i], green[i] = pixels[4 * i + 1], blue[i] = pixels[4 * i + 2]        for i = 0 .. n-1
//
//   PyTorch:  red, green, blue = pixels.view(n, 4)[:, :3].T.contiguous()
//
// Given: pixels, red, green and blue in device memory, at any distance from each other and addresses that are multiples
// of 16; n pixels, 1 to 2^19, of four floats: red, green, blue, and alpha, which is left out.
// Counted: launches (one); sectors per request, over all loads of the kernel together at most 1.5 times the fewest that
// hold what is asked for, and so over all its stores.
#include <cuda_runtime.h>

extern "C" void planes_on_device(float *red, float *green, float *blue, const float *pixels, int n) {
  (void)red;
  (void)green;
  (void)blue;
  (void)pixels;
  (void)n;
}
