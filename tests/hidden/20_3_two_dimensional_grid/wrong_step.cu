// mistake: output elements not written
#include <cuda_runtime.h>

static unsigned int at_most(unsigned int blocks, unsigned int most) {
  return blocks < most ? blocks : most;
}

__global__ void light(float *out, size_t out_pitch, const float *in, size_t in_pitch, const float *gain,
                      const float *shift, int rows, int columns) {
  int column_step = gridDim.x * blockDim.x, row_step = gridDim.x * blockDim.y;
  for (int r = blockIdx.y * blockDim.y + threadIdx.y; r < rows; r += row_step) {
    float g = gain[r];
    for (int c = blockIdx.x * blockDim.x + threadIdx.x; c < columns; c += column_step)
      ((float *)((char *)out + r * out_pitch))[c] =
          g * ((const float *)((const char *)in + r * in_pitch))[c] + shift[c];
  }
}

extern "C" void light_on_device(float *out, size_t out_pitch, const float *in, size_t in_pitch, const float *gain,
                                const float *shift, int rows, int columns) {
  dim3 threads(32, 8);
  dim3 blocks(at_most((columns + 31) / 32, 256), at_most((rows + 7) / 8, 16));
  light<<<blocks, threads>>>(out, out_pitch, in, in_pitch, gain, shift, rows, columns);
}
