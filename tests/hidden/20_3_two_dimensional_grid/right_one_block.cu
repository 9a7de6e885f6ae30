// missing star: single block
#include <cuda_runtime.h>

__global__ void light(float *out, size_t out_pitch, const float *in, size_t in_pitch, const float *gain,
                      const float *shift, int rows, int columns) {
  for (int r = threadIdx.y; r < rows; r += blockDim.y) {
    const float *in_row = (const float *)((const char *)in + r * in_pitch);
    float *out_row = (float *)((char *)out + r * out_pitch);
    for (int c = threadIdx.x; c < columns; c += blockDim.x)
      out_row[c] = gain[r] * in_row[c] + shift[c];
  }
}

extern "C" void light_on_device(float *out, size_t out_pitch, const float *in, size_t in_pitch, const float *gain,
                                const float *shift, int rows, int columns) {
  light<<<1, dim3(32, 32)>>>(out, out_pitch, in, in_pitch, gain, shift, rows, columns);
}
