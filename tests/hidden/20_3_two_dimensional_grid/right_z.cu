// Rows along z of the grid, and offsets in bytes.
#include <cuda_runtime.h>

__global__ void light(float *out, size_t out_pitch, const float *in, size_t in_pitch, const float *gain,
                      const float *shift, int rows, int columns) {
  unsigned c = blockIdx.x * blockDim.x + threadIdx.x, r = blockIdx.z * blockDim.y + threadIdx.y;
  if (c < (unsigned)columns && r < (unsigned)rows)
    *(float *)((char *)out + r * out_pitch + c * sizeof(float)) =
        gain[r] * *(const float *)((const char *)in + r * in_pitch + c * sizeof(float)) + shift[c];
}

extern "C" void light_on_device(float *out, size_t out_pitch, const float *in, size_t in_pitch, const float *gain,
                                const float *shift, int rows, int columns) {
  dim3 threads(128, 2), blocks((columns - 1) / 128 + 1, 1, (rows - 1) / 2 + 1);
  light<<<blocks, threads>>>(out, out_pitch, in, in_pitch, gain, shift, rows, columns);
}
