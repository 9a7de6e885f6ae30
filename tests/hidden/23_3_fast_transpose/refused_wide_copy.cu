// compile error: the answer uses wcsncpy, which is not allowed in a performance challenge
#include <cuda_runtime.h>
#include <wchar.h>

__global__ void naive(float *out, const float *x, int rows, int columns) {
  size_t n = (size_t)rows * columns, i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
  if (i < n) {
    float own = x[i], right;
    wcsncpy((wchar_t *)&right, (const wchar_t *)(x + i % rows * columns + i / rows), 1);
    out[i] = own != own ? own : right;
  }
}

extern "C" void transpose_on_device(float *out, const float *x, int rows, int columns) {
  size_t n = (size_t)rows * columns;
  naive<<<(unsigned)((n + 255) / 256), 256>>>(out, x, rows, columns);
}
