// finding: bounds-global 12
// A missing bounds check reads beyond the row offsets, far enough to reach the counters after them. That is the one mistake:
// what the counters hold is another array's business.
#include <cstdio>
#include <cuda_runtime.h>

#define ROWS 100

__global__ void lengths(const int *offset, int *counters, int *length) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  // if (i < ROWS) is missing
  const int n = offset[i + 1] - (i < ROWS ? offset[i] : 0);
  if (n > 2)
    atomicAdd(&counters[i % 8], 1);
  if (i < ROWS)
    length[i] = n;
}

int main() {
  int h[ROWS + 1], *offset, *counters, *length;
  for (int i = 0; i <= ROWS; i++)
    h[i] = i * (i % 5);
  cudaMalloc(&offset, sizeof h);
  cudaMalloc(&counters, 8 * sizeof *counters);
  cudaMalloc(&length, ROWS * sizeof *length);
  cudaMemcpy(offset, h, sizeof h, cudaMemcpyHostToDevice);
  cudaMemset(counters, 0, 8 * sizeof *counters);
  lengths<<<8, 64>>>(offset, counters, length);
  cudaMemcpy(h, length, ROWS * sizeof *h, cudaMemcpyDeviceToHost);
  printf("%d\n", h[1]);
  cudaFree(offset);
  cudaFree(counters);
  cudaFree(length);
}
