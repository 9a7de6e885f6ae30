// Broken on purpose (lesson 32): the copy does not wait for the stream that the kernel is on.
#include <cuda_runtime.h>
#include <stdio.h>
#include <string.h>

enum { N = 1 << 20, THREADS = 256 };

__global__ void count(int *x) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  x[i] = i;
}

int main(int argc, char **argv) {
  bool waits = argc > 1 && strcmp(argv[1], "waits") == 0;
  int *x, last = 0;
  cudaStream_t own;
  cudaMalloc((void **)&x, N * sizeof(int));
  cudaMemset(x, 0, N * sizeof(int));
  cudaDeviceSynchronize();
  // [launch]
  cudaStreamCreateWithFlags(&own, cudaStreamNonBlocking);
  count<<<N / THREADS, THREADS, 0, own>>>(x);
  if (waits)
    cudaStreamSynchronize(own);
  cudaMemcpy(&last, x + N - 1, sizeof last, cudaMemcpyDeviceToHost);
  // [end]
  printf("the last number is %d, expected %d\n", last, N - 1);
  cudaStreamDestroy(own);
  cudaFree(x);
  return 0;
}
