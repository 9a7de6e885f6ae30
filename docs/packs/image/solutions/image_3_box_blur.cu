// Exercise image.3: Box blur                             lesson 20 · medium · 30 min
//
// Task      Blur an image: each pixel becomes the mean of the 3 x 3 pixels around
//           it. Outside of the image, the nearest pixel of the image counts.
// Example   a row 1 4 7 with no other rows   ->   2 4 6
// Write     the kernel blur, and blur_on_device, which launches it.
// Inputs    in, out   device arrays of rows x columns floats
//           rows      1 to 2000
//           columns   1 to 2000
// Required  - correct for every size, without out-of-bounds accesses
//           - computed on the device, in at most 2 launches
#include <cuda_runtime.h>

__global__ void blur(float *out, const float *in, int rows, int columns) {
  // [answer]
  int c = blockIdx.x * blockDim.x + threadIdx.x, r = blockIdx.y * blockDim.y + threadIdx.y;
  if (r < rows && c < columns) {
    float sum = 0;
    for (int dr = -1; dr <= 1; dr++)
      for (int dc = -1; dc <= 1; dc++)
        sum += in[min(max(r + dr, 0), rows - 1) * columns + min(max(c + dc, 0), columns - 1)];
    out[r * columns + c] = sum / 9;
  }
  // [stub]
  // [end]
}

extern "C" void blur_on_device(float *out, const float *in, int rows, int columns) {
  // [answer]
  dim3 block(32, 8), grid((columns + 31) / 32, (rows + 7) / 8);
  blur<<<grid, block>>>(out, in, rows, columns);
  // [stub]
  // [end]
}
