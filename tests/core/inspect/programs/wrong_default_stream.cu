// finding: race-stream 10 16
// The producer's stream is created non-blocking, so the consumer
// in the legacy default stream does not wait for it.
#include <cstdio>
#include <cuda_runtime.h>

__global__ void produce(int *sq, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    sq[i] = i * i;
}

__global__ void consume(const int *sq, int *diff, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    diff[i] = sq[i] - (i > 0 ? sq[i - 1] : 0);
}

int main() {
  const int n = 7000, threads = 256, blocks = (n + threads - 1) / threads;
  int *sq, *diff;
  cudaMallocManaged(&sq, n * sizeof(int));
  cudaMallocManaged(&diff, n * sizeof(int));
  for (int i = 0; i < n; ++i)
    sq[i] = diff[i] = -5;

  cudaStream_t s;
  cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking);
  produce<<<blocks, threads, 0, s>>>(sq, n);
  consume<<<blocks, threads>>>(sq, diff, n);
  cudaError_t err = cudaDeviceSynchronize();
  if (err != cudaSuccess) {
    printf("failed: %s\n", cudaGetErrorString(err));
    return 2;
  }

  int bad = 0;
  for (int i = 0; i < n; ++i) {
    bad += sq[i] != i * i;
    bad += diff[i] != (i > 0 ? 2 * i - 1 : 0);
  }
  printf("default stream: %d wrong\n", bad);
  cudaStreamDestroy(s);
  cudaFree(diff);
  cudaFree(sq);
  return bad != 0;
}
