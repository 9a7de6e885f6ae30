// Broken on purpose (lesson 32): the host reads a buffer before the copy into it has completed.
#include <cuda_runtime.h>
#include <stdio.h>

enum { N = 1 << 20, THREADS = 256 };

__global__ void count(int *x) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  x[i] = i;
}

int main(void) {
  int *x, *here;
  cudaMalloc((void **)&x, N * sizeof(int));
  cudaMallocHost((void **)&here, N * sizeof(int));
  cudaStream_t own;
  cudaStreamCreateWithFlags(&own, cudaStreamNonBlocking);
  count<<<N / THREADS, THREADS, 0, own>>>(x);
  // [read]
  cudaMemcpyAsync(here, x, N * sizeof(int), cudaMemcpyDeviceToHost, own);
  int last = here[N - 1];
  cudaStreamSynchronize(own);
  // [end]
  printf("the last number is %d, expected %d\n", last, N - 1);
  cudaStreamDestroy(own);
  cudaFreeHost(here);
  cudaFree(x);
  return 0;
}
