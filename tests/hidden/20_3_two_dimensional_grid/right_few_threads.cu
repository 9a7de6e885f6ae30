// missing star: too few threads
#include <cuda_runtime.h>

__global__ void light(float *out, size_t out_pitch, const float *in, size_t in_pitch, const float *gain,
                      const float *shift, int rows, int columns) {
  for (int r = blockIdx.y * blockDim.y + threadIdx.y; r < rows; r += gridDim.y * blockDim.y)
    for (int c = blockIdx.x * blockDim.x + threadIdx.x; c < columns; c += gridDim.x * blockDim.x) {
      float value = *(const float *)((const char *)in + r * in_pitch + c * sizeof(float));
      *(float *)((char *)out + r * out_pitch + c * sizeof(float)) = gain[r] * value + shift[c];
    }
}

extern "C" void light_on_device(float *out, size_t out_pitch, const float *in, size_t in_pitch, const float *gain,
                                const float *shift, int rows, int columns) {
  light<<<dim3(2, 2), dim3(32, 8)>>>(out, out_pitch, in, in_pitch, gain, shift, rows, columns);
}
