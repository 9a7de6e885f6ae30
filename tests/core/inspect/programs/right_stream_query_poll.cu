// There is no synchronize call before the host reads; cudaStreamQuery is polled until it no longer says not-ready,
// which orders just as well.
#include <cstdio>
#include <cuda_runtime.h>

__global__ void iterate(unsigned *x, int n, int turns) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n)
    return;
  unsigned v = x[i];
  for (int t = 0; t < turns; ++t)
    v = v * 1664525u + 1013904223u;
  x[i] = v;
}

int main() {
  const int n = 2048, turns = 3000;
  unsigned *x;
  cudaMallocManaged(&x, n * sizeof(unsigned));
  for (int i = 0; i < n; ++i)
    x[i] = i;
  cudaStream_t s;
  cudaStreamCreate(&s);
  iterate<<<n / 128, 128, 0, s>>>(x, n, turns);

  // Something useful meanwhile: the jump-ahead constants of the generator.
  unsigned mul = 1, add = 0;
  for (int t = 0; t < turns; ++t) {
    add = add * 1664525u + 1013904223u;
    mul *= 1664525u;
  }

  long polls = 0;
  cudaError_t st;
  while ((st = cudaStreamQuery(s)) == cudaErrorNotReady)
    ++polls;
  if (st != cudaSuccess) {
    printf("kernel failed: %s\n", cudaGetErrorString(st));
    return 2;
  }

  int bad = 0;
  for (int i = 0; i < n; ++i)
    bad += x[i] != mul * unsigned(i) + add;
  cudaStreamSynchronize(s);
  printf("lcg: %d wrong, %s\n", bad, polls ? "polled" : "done at once");
  cudaStreamDestroy(s);
  cudaFree(x);
  return bad != 0;
}
