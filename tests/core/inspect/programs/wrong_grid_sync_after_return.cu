// finding: divergent-grid 17
// Blocks without rows return early, and the others wait for them at the grid's barrier.
#include <cooperative_groups.h>
#include <cstdio>
#include <cuda_runtime.h>

namespace cg = cooperative_groups;

#define ROWS 6
#define COLUMNS 32

__global__ void normalize(float *m, float *sums) {
  if (blockIdx.x >= ROWS)
    return;
  float *row = m + blockIdx.x * COLUMNS;
  atomicAdd(sums, row[threadIdx.x]);
  cg::this_grid().sync();
  row[threadIdx.x] /= sums[0];
}

int main() {
  float h[ROWS * COLUMNS], *m, *sums;
  for (int i = 0; i < ROWS * COLUMNS; i++)
    h[i] = (float)(i % 9);
  cudaMalloc(&m, sizeof h);
  cudaMalloc(&sums, sizeof *sums);
  cudaMemcpy(m, h, sizeof h, cudaMemcpyHostToDevice);
  cudaMemset(sums, 0, sizeof *sums);
  void *arguments[] = {&m, &sums};
  cudaLaunchCooperativeKernel((void *)normalize, dim3(8), dim3(COLUMNS), arguments, 0, 0);
  printf("%s\n", cudaGetErrorString(cudaDeviceSynchronize()));
  cudaFree(m);
  cudaFree(sums);
}
