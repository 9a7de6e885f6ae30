// mistake: one launch per row
#include <cuda_runtime.h>

__global__ void light(float *out, size_t out_pitch, const float *in, size_t in_pitch, const float *gain,
                      const float *shift, int rows, int columns) {
  int c = blockIdx.x * blockDim.x + threadIdx.x;
  if (c < columns)
    out[c] = gain[0] * in[c] + shift[c];
  (void)out_pitch;
  (void)in_pitch;
  (void)rows;
}

extern "C" void light_on_device(float *out, size_t out_pitch, const float *in, size_t in_pitch, const float *gain,
                                const float *shift, int rows, int columns) {
  for (int r = 0; r < rows; r++) {
    const float *from = (const float *)((const char *)in + r * in_pitch);
    float *to = (float *)((char *)out + r * out_pitch);
    light<<<(columns + 255) / 256, 256>>>(to, out_pitch, from, in_pitch, gain + r, shift, rows, columns);
  }
}
