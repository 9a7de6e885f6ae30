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

__global__ void broadcast_float(float *o, const float *a, int zero) {
  o[threadIdx.x] = a[threadIdx.x * zero];
}
__global__ void broadcast_double(double *o, const double *a, int zero) {
  o[threadIdx.x] = a[threadIdx.x * zero];
}
// A warp reads 8 rows of 4.
__global__ void rows_of_4(double *o, const double *a, int pitch) {
  o[threadIdx.x] = a[threadIdx.x / 4 * pitch + threadIdx.x % 4];
}

int main() {
  float *o, *a;
  cudaMalloc(&o, 1 << 20);
  cudaMalloc(&a, 1 << 20);
  cudaMemset(a, 0, 1 << 20);
  hoards<<<1, THREADS>>>(o, a);
  broadcast_float<<<1, 32>>>(o, a, 0);
  broadcast_double<<<1, 32>>>((double *)o, (const double *)a, 0);
  rows_of_4<<<1, 32>>>((double *)o, (const double *)a, 4098);
  cudaDeviceSynchronize();
  cudaFree(o);
  cudaFree(a);
  return 0;
}
