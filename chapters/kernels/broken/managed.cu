// Broken on purpose (lesson 32): the host reads managed memory that a kernel may still be writing.
#include <cuda_runtime.h>
#include <stdio.h>

enum { N = 1 << 20, THREADS = 256 };

__global__ void count(int *x) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  x[i] = i;
}

int main(void) {
  int *x;
  // [read]
  cudaMallocManaged((void **)&x, N * sizeof(int));
  count<<<N / THREADS, THREADS>>>(x);
  int last = x[N - 1];
  // [end]
  printf("the last number is %d, expected %d\n", last, N - 1);
  cudaFree(x);
  return 0;
}
