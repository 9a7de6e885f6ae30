// A template, fused multiply-add, unsigned indices, and the threads counted by dim3.
#include <cuda_runtime.h>

template <typename T> __global__ void saxpy(T *__restrict__ y, const T *__restrict__ x, T a, unsigned n) {
  const unsigned i = threadIdx.x + blockDim.x * blockIdx.x;
  if (i >= n)
    return;
  y[i] = fmaf(a, x[i], y[i]);
}

extern "C" void saxpy_on_device(float *y, const float *x, float a, int n) {
  if (n <= 0)
    return;
  dim3 threads(512), blocks(n / 512 + (n % 512 != 0));
  saxpy<float><<<blocks, threads>>>(y, x, a, (unsigned)n);
}
