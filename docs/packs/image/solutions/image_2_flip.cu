// Exercise image.2: Mirror an image                      lesson 20 · easy · 15 min
//
// Task      Mirror an image: the first column becomes the last.
//               out[r][c] = in[r][columns - 1 - c]     PyTorch: in.flip(1)
// Example   a row 1 2 3   ->   3 2 1
// Write     the kernel flip, and flip_on_device, which launches it.
// Inputs    in, out   device arrays of rows x columns floats
//           rows      1 to 2000
//           columns   1 to 2000
// Required  - correct for every size, without out-of-bounds accesses
//           - computed on the device, in at most 2 launches
#include <cuda_runtime.h>

__global__ void flip(float *out, const float *in, int rows, int columns) {
  // [answer]
  int c = blockIdx.x * blockDim.x + threadIdx.x, r = blockIdx.y * blockDim.y + threadIdx.y;
  if (r < rows && c < columns) {
    out[r * columns + c] = in[r * columns + columns - 1 - c];
  }
  // [stub]
  // [end]
}

extern "C" void flip_on_device(float *out, const float *in, int rows, int columns) {
  // [answer]
  dim3 block(32, 8), grid((columns + 31) / 32, (rows + 7) / 8);
  flip<<<grid, block>>>(out, in, rows, columns);
  // [stub]
  // [end]
}
