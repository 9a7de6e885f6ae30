// Kernels whose loops nvcc unrolls to the end, so that what stands in the PTX is what a thread does: for test_mix.sh.
#include <cuda_runtime.h>
#include <stdio.h>

enum { THREADS = 64, STEPS = 16 };

__global__ void polynomial(float *out, const float *in) {
  __shared__ float tile[THREADS + 2 * STEPS];
  const int i = threadIdx.x;
  tile[i] = in[i];
  if (i < 2 * STEPS)
    tile[THREADS + i] = in[THREADS + i];
  __syncthreads();
  float sum = 1;
#pragma unroll
  for (int k = 0; k < STEPS; k++)
    sum = sum * tile[i + k] + tile[i + 2 * k];
  out[i] = sum;
}

__global__ void outer(float *out, const float *in) {
  __shared__ float a[4][THREADS + 1], b[4][THREADS + 1];
  const int i = threadIdx.x;
#pragma unroll
  for (int r = 0; r < 4; r++) {
    a[r][i] = in[r * THREADS + i];
    b[r][THREADS - 1 - i] = in[r * THREADS + i];
  }
  __syncthreads();
  float sum[4][4] = {};
#pragma unroll
  for (int k = 0; k < 8; k++)
#pragma unroll
    for (int r = 0; r < 4; r++)
#pragma unroll
      for (int c = 0; c < 4; c++)
        sum[r][c] += a[r][(i + 8 * k) % THREADS] * b[c][(i + 8 * k) % THREADS];
#pragma unroll
  for (int r = 0; r < 4; r++)
#pragma unroll
    for (int c = 0; c < 4; c++)
      out[(r * 4 + c) * THREADS + i] = sum[r][c];
}

__global__ void difference(double *out, const double *in, float *square, const float *x) {
  const int i = threadIdx.x;
  out[i] = in[i + 1] - in[i];
  square[i] = x[i] * x[i];
}

// Multiply-adds that are written as such: one instruction each.
__global__ void named(float *out, double *more, const float *in) {
  const int i = threadIdx.x;
  float sum = in[i];
  double wide = in[i];
#pragma unroll
  for (int k = 0; k < STEPS; k++) {
    sum = fmaf(sum, 0.5f, in[i]);
    wide = fma(wide, 0.5, 1.0);
  }
  out[i] = sum;
  more[i] = wide;
}

// In 33 threads: two warps.
__global__ void quotient(float *out, const float *in) {
  out[threadIdx.x] = in[threadIdx.x] / in[threadIdx.x + 64];
  __syncthreads();
  out[threadIdx.x + 64] = out[(threadIdx.x + 1) % 33];
}

int main(void) {
  float *memory;
  double *more;
  cudaMalloc((void **)&memory, 32 * THREADS * sizeof(float));
  cudaMalloc((void **)&more, 4 * THREADS * sizeof(double));
  cudaMemset(memory, 0, 32 * THREADS * sizeof(float));
  cudaMemset(more, 0, 4 * THREADS * sizeof(double));
  polynomial<<<1, THREADS>>>(memory, memory + 4 * THREADS);
  outer<<<1, THREADS>>>(memory, memory + 16 * THREADS);
  difference<<<1, THREADS>>>(more, more + 2 * THREADS, memory, memory + THREADS);
  named<<<1, THREADS>>>(memory, more, memory + THREADS);
  quotient<<<1, 33>>>(memory, memory + THREADS);
  printf("%s\n", cudaGetErrorString(cudaDeviceSynchronize()));
  cudaFree(memory);
  cudaFree(more);
  return 0;
}
