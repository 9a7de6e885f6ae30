// A transposition and a copy of the same matrix, timed by events: on a device that plays a GPU by what was counted of them.
#include <cuda_runtime.h>
#include <stdio.h>

enum { N = 512 };

__global__ void copy(float *out, const float *in) {
  int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32 + threadIdx.y;
  for (int j = 0; j < 32; j += 8)
    out[(y + j) * N + x] = in[(y + j) * N + x];
}

__global__ void naive(float *out, const float *in) {
  int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32 + threadIdx.y;
  for (int j = 0; j < 32; j += 8)
    out[x * N + y + j] = in[(y + j) * N + x];
}

__global__ void conflicting(float *out, const float *in) {
  __shared__ float tile[32][32];
  int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32 + threadIdx.y;
  for (int j = 0; j < 32; j += 8)
    tile[threadIdx.y + j][threadIdx.x] = in[(y + j) * N + x];
  __syncthreads();
  x = blockIdx.y * 32 + threadIdx.x;
  y = blockIdx.x * 32 + threadIdx.y;
  for (int j = 0; j < 32; j += 8)
    out[(y + j) * N + x] = tile[threadIdx.x][threadIdx.y + j];
}

__global__ void padded(float *out, const float *in) {
  __shared__ float tile[32][33];
  int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32 + threadIdx.y;
  for (int j = 0; j < 32; j += 8)
    tile[threadIdx.y + j][threadIdx.x] = in[(y + j) * N + x];
  __syncthreads();
  x = blockIdx.y * 32 + threadIdx.x;
  y = blockIdx.x * 32 + threadIdx.y;
  for (int j = 0; j < 32; j += 8)
    out[(y + j) * N + x] = tile[threadIdx.x][threadIdx.y + j];
}

#define TIMED(kernel)                                                                                                  \
  do {                                                                                                                 \
    cudaEventRecord(start, 0);                                                                                         \
    kernel<<<grid, block>>>(out, in);                                                                                  \
    cudaEventRecord(end, 0);                                                                                           \
    cudaEventSynchronize(end);                                                                                         \
    cudaEventElapsedTime(&ms, start, end);                                                                             \
    printf("%s %.3f us\n", #kernel, 1e3 * ms);                                                                         \
  } while (0)

int main(void) {
  float *in, *out, ms;
  cudaEvent_t start, end;
  dim3 grid(N / 32, N / 32), block(32, 8);
  cudaMalloc((void **)&in, N * N * sizeof(float));
  cudaMalloc((void **)&out, N * N * sizeof(float));
  cudaMemset(in, 0, N * N * sizeof(float));
  cudaEventCreate(&start);
  cudaEventCreate(&end);
  TIMED(copy);
  TIMED(naive);
  TIMED(conflicting);
  TIMED(padded);
  cudaFree(in);
  cudaFree(out);
  return 0;
}
