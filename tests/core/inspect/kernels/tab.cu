// The name of a launch has a tab in it.
#include <cuda_runtime.h>

template <int N, class T> __global__ void put(T *x) {
  x[threadIdx.x] = N;
}

int main() {
  float *x;
  cudaMalloc(&x, 32 * sizeof *x);
  // clang-format off
  put<3,	float><<<1, 32>>>(x);
  // clang-format on
  cudaFree(x);
}
