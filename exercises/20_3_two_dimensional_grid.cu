// Exercise 20.3: Two-dimensional grid and pitch     lesson 20 · medium · 25 min
//
// Task      Adjust the brightness of an image: each row has a gain, and each
//           column has a shift. Rows are padded, as after cudaMallocPitch:
//           row r starts r * pitch bytes after row 0.
//               out[r][c] = gain[r] * in[r][c] + shift[c]
//               PyTorch: out.copy_(gain[:, None] * in + shift)
// Example   rows 1 2 and 3 4, gain 2 3, shift 10 20 -> rows 12 24 and 19 32
// Write     the kernel light, and light_on_device, which launches it.
// Inputs    out, in              device images of rows x columns floats
//           out_pitch, in_pitch  bytes, multiples of 4
//           gain, shift          device arrays of rows and columns floats
//           rows, columns        1 to 100,000; an image has under 2^31 bytes
// Required  - correct for every size, without out-of-bounds reads or writes
//           - the padding of out is unchanged
//           - computed on the device, in at most 2 launches
// Stars     ** coalesced: at most 2 x the ideal sectors per request
//           *** at least 2048 threads for more than 65536 pixels
#include <cuda_runtime.h>

__global__ void light(float *out, size_t out_pitch, const float *in, size_t in_pitch, const float *gain,
                      const float *shift, int rows, int columns) {
}

extern "C" void light_on_device(float *out, size_t out_pitch, const float *in, size_t in_pitch, const float *gain,
                                const float *shift, int rows, int columns) {
  light<<<1, dim3(32, 8)>>>(out, out_pitch, in, in_pitch, gain, shift, rows, columns); // how many blocks in x and in y?
}
