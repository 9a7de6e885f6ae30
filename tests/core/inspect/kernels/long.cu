// A program with more accesses than are all instrumented by default: seven long launches, and after them a short kernel with a race.
#include <cuda_runtime.h>
#include <stdio.h>

enum { BLOCKS = 1024, THREADS = 256, ROUNDS = 64 };

__global__ void add_up(int *sums, const int *x) {
  int sum = 0, i = blockIdx.x * THREADS + threadIdx.x;
  for (int round = 0; round < ROUNDS; round++)
    sum += x[(i + round * THREADS) % (BLOCKS * THREADS)];
  sums[i] = sum;
}

__global__ void racy(int *out) {
  __shared__ int numbers[THREADS];
  numbers[threadIdx.x] = threadIdx.x;             //@written
  out[threadIdx.x] = numbers[threadIdx.x ^ 0x80]; //@read
}

int main() {
  int *x, *sums, last;
  cudaMalloc(&x, BLOCKS * THREADS * sizeof(int));
  cudaMalloc(&sums, BLOCKS * THREADS * sizeof(int));
  cudaMemset(x, 1, BLOCKS * THREADS * sizeof(int));
  for (int launch = 0; launch < 7; launch++)
    add_up<<<BLOCKS, THREADS>>>(sums, x);
  cudaMemcpy(&last, sums + BLOCKS * THREADS - 1, sizeof(int), cudaMemcpyDeviceToHost);
  racy<<<1, THREADS>>>(sums);
  cudaDeviceSynchronize();
  printf("the last sum is %d\n", last);
  cudaFree(x);
  cudaFree(sums);
}
