// Pitches are divided into elements on the host; 16 x 16 blocks, nested ifs.
#include <cuda_runtime.h>

__global__ void light(float *out, size_t out_pitch, const float *in, size_t in_pitch, const float *gain,
                      const float *shift, int rows, int columns) {
  int c = blockIdx.x * blockDim.x + threadIdx.x;
  int r = blockIdx.y * blockDim.y + threadIdx.y;
  if (r < rows) {
    if (c < columns)
      out[r * out_pitch + c] = in[r * in_pitch + c] * gain[r] + shift[c];
  }
}

extern "C" void light_on_device(float *out, size_t out_pitch, const float *in, size_t in_pitch, const float *gain,
                                const float *shift, int rows, int columns) {
  dim3 threads(16, 16);
  dim3 blocks((columns + 15) / 16, (rows + 15) / 16);
  light<<<blocks, threads>>>(out, out_pitch / sizeof(float), in, in_pitch / sizeof(float), gain, shift, rows, columns);
}
