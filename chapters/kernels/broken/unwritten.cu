// Broken on purpose (lesson 32): counters in shared memory that are not set to 0.
#include <cuda_runtime.h>

enum { N = 1024, BINS = 16, THREADS = 256 };

// [kernel]
__global__ void histogram(int *bins, const unsigned char *x) {
  __shared__ int own[BINS];
  for (int i = threadIdx.x; i < N; i += THREADS)
    atomicAdd(&own[x[i] % BINS], 1);
  __syncthreads();
  if (threadIdx.x < BINS)
    bins[threadIdx.x] = own[threadIdx.x];
}
// [end]

int main(void) {
  unsigned char *x;
  int *bins;
  cudaMalloc((void **)&x, N);
  cudaMalloc((void **)&bins, BINS * sizeof(int));
  cudaMemset(x, 7, N);
  histogram<<<1, THREADS>>>(bins, x);
  cudaDeviceSynchronize();
  cudaFree(x);
  cudaFree(bins);
  return 0;
}
