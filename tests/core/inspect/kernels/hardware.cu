// SPDX-License-Identifier: MIT
// Kernels whose counts are known from what nvcc compiles them to, for test_counts.sh. Each is launched with THREADS threads.
#include <cuda_runtime.h>

enum { THREADS = 256, SIDE = 16, TILE = 31, STEPS = 15 };

// So many registers that few blocks fit: what is loaded is kept across a barrier.
__global__ void hoards(float *o, const float *a) {
  float kept[96];
#pragma unroll
  for (int i = 0; i < 96; i++)
    kept[i] = a[i * THREADS + threadIdx.x];
  __syncthreads();
  float sum = 0;
#pragma unroll
  for (int i = 0; i < 96; i++)
    sum = sum * kept[i] + kept[95 - i];
  o[threadIdx.x] = sum;
}

int main() {
  float *o, *a;
  cudaMalloc(&o, 1 << 20);
  cudaMalloc(&a, 1 << 20);
  cudaMemset(a, 0, 1 << 20);
  hoards<<<1, THREADS>>>(o, a);
  cudaDeviceSynchronize();
  cudaFree(o);
  cudaFree(a);
  return 0;
}
