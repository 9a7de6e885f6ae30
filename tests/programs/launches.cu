// How a launch is written is what is tested here:
// clang-format off
// Launches of every kind: deduced templates, default arguments, a host function of the kernel's name, macros with line
// continuations, a space before template arguments, kernels by value, cudaLaunchKernel with a cast, function pointers.
#include <cstdio>
#include <cuda.h>

__global__ void fill(float *x, float value = 4) {
  x[threadIdx.x] = value;
}
template <class T> __global__ void scale(T *x, T factor) {
  x[threadIdx.x] *= factor;
}
template <class T, int N> __global__ void reverse(T *x) {
  extern T __shared__ part[];
  part[threadIdx.x] = x[threadIdx.x];
  __syncthreads();
  x[threadIdx.x] = part[N - 1 - threadIdx.x];
}
namespace inner {
__global__ void add(float *x, int n) {
  if ((int)threadIdx.x < n)
    x[threadIdx.x] += 1;
}
void add(float *x, int n, int threads) {
  add<<<1, threads>>>(x, n);
}
} // namespace inner
extern __shared__ int at_file_scope[];
__global__ void uses_file_scope(float *x) {
  at_file_scope[threadIdx.x] = 10 * (int)threadIdx.x;
  __syncthreads();
  x[threadIdx.x] = (float)at_file_scope[blockDim.x - 1 - threadIdx.x];
}

#define REVERSE(n) reverse<float, n><<<1, n, n * sizeof(float)>>>(x);

static int failed;
static void expect(const char *what, float *x, float first, float last) {
  float h[8];
  const cudaError_t error = cudaMemcpy(h, x, sizeof h, cudaMemcpyDeviceToHost);
  if (error != cudaSuccess || h[0] != first || h[7] != last) {
    printf("FAIL %s: %g %g, want %g %g (%s)\n", what, h[0], h[7], first, last, cudaGetErrorString(error));
    failed = 1;
  }
}

int main() {
  float *x, two = 2;
  cudaMalloc(&x, 8 * sizeof(float));
  fill<<<1, 8>>>(x);
  expect("default argument", x, 4, 4);
  scale<<<1, 8>>>(x, 2.0f);
  expect("deduced template", x, 8, 8);
  inner::add(x, 4, 8);
  expect("host function of the same name", x, 9, 8);
  REVERSE(8)
  expect("macro with continuations", x, 8, 9);
  reverse<float, 8><<<1, 8, 32>>>(x);
  expect("space before template arguments", x, 9, 8);
  void (*table[2])(float *, float) = {fill, scale<float>};
  table[1]<<<1, 8>>>(x, 3.0f);
  expect("table of kernels", x, 27, 24);
  void *arguments[] = {&x, &two};
  cudaLaunchKernel((void *)scale<float>, 1, 8, arguments, 0, 0);
  expect("cudaLaunchKernel with a cast", x, 54, 48);
  uses_file_scope<<<1, 8, 32>>>(x);
  expect("extern __shared__ at file scope", x, 70, 0);
  cudaFree(x);
  puts(failed ? "FAIL" : "PASS");
  return failed;
}
