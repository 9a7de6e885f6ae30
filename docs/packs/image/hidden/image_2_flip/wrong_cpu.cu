// mistake: no kernel was launched
#include <stdlib.h>
#include <cuda_runtime.h>

extern "C" void flip_on_device(float *out, const float *in, int rows, int columns) {
  const size_t count = (size_t)rows * columns;
  float *from = (float *)malloc(count * sizeof *from), *to = (float *)malloc(count * sizeof *to);
  cudaMemcpy(from, in, count * sizeof *from, cudaMemcpyDeviceToHost);
  for (int r = 0; r < rows; r++)
    for (int c = 0; c < columns; c++)
      to[r * columns + c] = from[r * columns + columns - 1 - c];
  cudaMemcpy(out, to, count * sizeof *to, cudaMemcpyHostToDevice);
  free(from);
  free(to);
}
