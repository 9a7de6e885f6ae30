// mistake: out-of-bounds read
#include <cuda_runtime.h>

__global__ void light(float *out, size_t out_pitch, const float *in, size_t in_pitch, const float *gain,
                      const float *shift, int rows, int columns) {
  int c = blockIdx.x * blockDim.x + threadIdx.x;
  int r = blockIdx.y * blockDim.y + threadIdx.y;
  const float *from = (const float *)((const char *)in + r * in_pitch);
  float *to = (float *)((char *)out + r * out_pitch);
  float pixel = gain[r] * from[c];
  if (r < rows && c < columns)
    to[c] = pixel + shift[c];
}

extern "C" void light_on_device(float *out, size_t out_pitch, const float *in, size_t in_pitch, const float *gain,
                                const float *shift, int rows, int columns) {
  dim3 threads(32, 8);
  dim3 blocks((columns + 31) / 32, (rows + 7) / 8);
  light<<<blocks, threads>>>(out, out_pitch, in, in_pitch, gain, shift, rows, columns);
}
