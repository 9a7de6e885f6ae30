// mistake: grid too large in y
#include <cuda_runtime.h>

__global__ void light(float *out, size_t out_pitch, const float *in, size_t in_pitch, const float *gain,
                      const float *shift, int rows, int columns) {
  int c = blockIdx.x * blockDim.x + threadIdx.x;
  int r = blockIdx.y * blockDim.y + threadIdx.y;
  if (r >= rows || c >= columns)
    return;
  const float *in_row = (const float *)((const char *)in + r * in_pitch);
  float *out_row = (float *)((char *)out + r * out_pitch);
  out_row[c] = gain[r] * in_row[c] + shift[c];
}

extern "C" void light_on_device(float *out, size_t out_pitch, const float *in, size_t in_pitch, const float *gain,
                                const float *shift, int rows, int columns) {
  dim3 threads(256, 1);
  dim3 blocks((columns + threads.x - 1) / threads.x, (rows + threads.y - 1) / threads.y);
  light<<<blocks, threads>>>(out, out_pitch, in, in_pitch, gain, shift, rows, columns);
}
