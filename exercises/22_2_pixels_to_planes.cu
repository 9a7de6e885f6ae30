// Exercise 22.2: Array of structures to planes      lesson 22 · medium · 30 min
//
// Task      Split an image into one plane per color: an array of structures
//           becomes a structure of arrays. If the lanes of a warp load every
//           fourth float, a request takes four times the ideal sectors.
//               red, green, blue = pixels.view(n, 4)[:, :3].T.contiguous()
// Example   pixels = 1 2 3 9, 4 5 6 9   ->   red = 1 4, green = 2 5, blue = 3 6
// Write     planes_on_device and its kernels.
// Inputs    red, green, blue    device arrays of n floats, 16-byte aligned
//           pixels              device array of 4 n floats, 16-byte aligned:
//                               red, green, blue, alpha of each pixel
//           n                   1 to 2^19
// Required  - correct for every n, without data races or out-of-bounds
//             accesses, computed on the device
//           - coalesced: at most 2 x the ideal sectors per request, both for
//             the loads and for the stores of each kernel
// Stars     ** each pixel is loaded once: at most 1.5 x the sectors of pixels
#include <cuda_runtime.h>

extern "C" void planes_on_device(float *red, float *green, float *blue, const float *pixels, int n) {
}
