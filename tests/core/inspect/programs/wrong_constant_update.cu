// finding: race-stream 16 39
// The coefficients are uploaded in a second stream that never waits for the kernel of the round before, so the
// upload overwrites constants that kernel may still read.
#include <cstdio>
#include <cuda_runtime.h>

constexpr int N = 4096, ROUNDS = 6;
__constant__ int coef[4];

__global__ void poly(const int *x, int *y) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= N)
    return;
  int acc = 0;
  for (int k = 3; k >= 0; --k)
    acc = acc * x[i] + coef[k];
  y[i] = acc;
}

int main() {
  int *x, *y, *table;
  cudaMallocManaged(&x, N * sizeof(int));
  cudaMallocManaged(&y, ROUNDS * N * sizeof(int));
  cudaMallocHost(&table, ROUNDS * sizeof(coef));
  for (int i = 0; i < N; ++i)
    x[i] = i % 30;
  for (int r = 0; r < ROUNDS; ++r)
    for (int k = 0; k < 4; ++k)
      table[4 * r + k] = r + 2 * k + 1;

  cudaStream_t work;
  cudaStreamCreateWithFlags(&work, cudaStreamNonBlocking);
  cudaStream_t upload;
  cudaEvent_t ready;
  cudaStreamCreateWithFlags(&upload, cudaStreamNonBlocking);
  cudaEventCreateWithFlags(&ready, cudaEventDisableTiming);

  for (int r = 0; r < ROUNDS; ++r) {
    cudaMemcpyToSymbolAsync(coef, table + 4 * r, sizeof(coef), 0, cudaMemcpyHostToDevice, upload);
    cudaEventRecord(ready, upload);
    cudaStreamWaitEvent(work, ready, 0);
    poly<<<N / 256, 256, 0, work>>>(x, y + r * N);
  }
  cudaStreamSynchronize(work);

  int bad = 0;
  for (int r = 0; r < ROUNDS; ++r)
    for (int i = 0; i < N; ++i) {
      int acc = 0;
      for (int k = 3; k >= 0; --k)
        acc = acc * (i % 30) + r + 2 * k + 1;
      bad += y[r * N + i] != acc;
    }
  printf("polynomials: %d wrong\n", bad);
  cudaEventDestroy(ready);
  cudaStreamDestroy(upload);
  cudaStreamDestroy(work);
  cudaFreeHost(table);
  cudaFree(x);
  cudaFree(y);
  return bad != 0;
}
