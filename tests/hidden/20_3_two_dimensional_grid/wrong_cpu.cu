// mistake: no kernel was launched
#include <cuda_runtime.h>
#include <stdlib.h>

extern "C" void light_on_device(float *out, size_t out_pitch, const float *in, size_t in_pitch, const float *gain,
                                const float *shift, int rows, int columns) {
  size_t wide = sizeof(float) * (size_t)columns;
  float *image = (float *)malloc(wide * (size_t)rows);
  float *gains = (float *)malloc(sizeof(float) * (size_t)rows);
  float *shifts = (float *)malloc(wide);
  cudaMemcpy2D(image, wide, in, in_pitch, wide, rows, cudaMemcpyDeviceToHost);
  cudaMemcpy(gains, gain, sizeof(float) * (size_t)rows, cudaMemcpyDeviceToHost);
  cudaMemcpy(shifts, shift, wide, cudaMemcpyDeviceToHost);
  for (int r = 0; r < rows; r++)
    for (int c = 0; c < columns; c++)
      image[r * columns + c] = gains[r] * image[r * columns + c] + shifts[c];
  cudaMemcpy2D(out, out_pitch, image, wide, wide, rows, cudaMemcpyHostToDevice);
  free(image);
  free(gains);
  free(shifts);
}
