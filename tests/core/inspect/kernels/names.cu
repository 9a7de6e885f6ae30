// Kernels of one name: overloads, instances of a template, and one that two launches start. Each is a kernel of its own in the report.
#include <clocale>
#include <cstdio>
#include <cuda_runtime.h>

__global__ void fill(float *x) {
  x[threadIdx.x] = 1;
}
__global__ void fill(int *x) {
  x[threadIdx.x] = 1;
}
template <class T> __global__ void twice(T *x) {
  x[threadIdx.x] *= 2;
}
template <int N> __global__ void times(float *x) {
  x[threadIdx.x] *= N;
}
template <int N> static void launch_times(float *x) {
  times<N><<<1, 32>>>(x);
}
__global__ void plus_one(float *x) {
  x[threadIdx.x] += 1;
}

int main() {
  float *x;
  int *y;
  // Where the tests have such a locale; the inspector's record is written all the same.
  printf("%s: %.1f\n", setlocale(LC_NUMERIC, "comma") ? "with a comma" : "with a point", 0.5);
  cudaMalloc(&x, 64 * sizeof *x);
  cudaMalloc(&y, 32 * sizeof *y);
  fill<<<1, 32>>>(x);
  fill<<<1, 32>>>(y);
  twice<<<1, 32>>>(x);
  twice<<<1, 32>>>(y);
  launch_times<2>(x);
  launch_times<3>(x);
  plus_one<<<1, 32>>>(x);
  plus_one<<<1, 32>>>(x);
  cudaFree(x);
  cudaFree(y);
}
