// missing star: uncoalesced access
#include <cuda_runtime.h>

__global__ void light(float *out, size_t out_pitch, const float *in, size_t in_pitch, const float *gain,
                      const float *shift, int rows, int columns) {
  int r = blockIdx.x * blockDim.x + threadIdx.x;
  if (r >= rows)
    return;
  const float *from = (const float *)((const char *)in + r * in_pitch);
  float *to = (float *)((char *)out + r * out_pitch);
  for (int c = 0; c < columns; c++)
    to[c] = gain[r] * from[c] + shift[c];
}

extern "C" void light_on_device(float *out, size_t out_pitch, const float *in, size_t in_pitch, const float *gain,
                                const float *shift, int rows, int columns) {
  light<<<(rows + 63) / 64, 64>>>(out, out_pitch, in, in_pitch, gain, shift, rows, columns);
}
