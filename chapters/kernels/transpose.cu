// A matrix transpose in three versions: naive, with uncoalesced stores; with a tile in shared memory but without its barrier; and
// correct, with and without bank conflicts. docs/inspector.md explains its report:  ./ferry inspect chapters/kernels/transpose.cu
#include <cuda_runtime.h>
#include <stdio.h>

enum { N = 256, TILE = 32, ROWS = 8 };

// [naive]
__global__ void naive(float *out, const float *in) {
  int column = blockIdx.x * TILE + threadIdx.x, row = blockIdx.y * TILE + threadIdx.y;
  for (int k = 0; k < TILE; k += ROWS)
    out[column * N + row + k] = in[(row + k) * N + column];
}
// [end]

// [hasty]
__global__ void hasty(float *out, const float *in) {
  __shared__ float tile[TILE][TILE];
  int column = blockIdx.x * TILE + threadIdx.x, row = blockIdx.y * TILE + threadIdx.y;
  for (int k = 0; k < TILE; k += ROWS)
    tile[threadIdx.y + k][threadIdx.x] = in[(row + k) * N + column];
  column = blockIdx.y * TILE + threadIdx.x;
  row = blockIdx.x * TILE + threadIdx.y;
  for (int k = 0; k < TILE; k += ROWS)
    out[(row + k) * N + column] = tile[threadIdx.x][threadIdx.y + k];
}
// [end]

// [tiled]
template <int WIDTH> __global__ void tiled(float *out, const float *in) {
  __shared__ float tile[TILE][WIDTH];
  int column = blockIdx.x * TILE + threadIdx.x, row = blockIdx.y * TILE + threadIdx.y;
  for (int k = 0; k < TILE; k += ROWS)
    tile[threadIdx.y + k][threadIdx.x] = in[(row + k) * N + column];
  __syncthreads();
  column = blockIdx.y * TILE + threadIdx.x;
  row = blockIdx.x * TILE + threadIdx.y;
  for (int k = 0; k < TILE; k += ROWS)
    out[(row + k) * N + column] = tile[threadIdx.x][threadIdx.y + k];
}
// [end]

int main(void) {
  float *in, *out;
  cudaMalloc(&in, N * N * sizeof(float));
  cudaMalloc(&out, N * N * sizeof(float));
  cudaMemset(in, 0, N * N * sizeof(float));
  dim3 grid(N / TILE, N / TILE), block(TILE, ROWS);
  naive<<<grid, block>>>(out, in);
  hasty<<<grid, block>>>(out, in);
  tiled<TILE><<<grid, block>>>(out, in);
  tiled<TILE + 1><<<grid, block>>>(out, in);
  printf("%s\n", cudaGetErrorString(cudaDeviceSynchronize()));
  cudaFree(in);
  cudaFree(out);
  return 0;
}
