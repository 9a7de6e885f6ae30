// finding: race-block 20 25
// The second call of blockSum stores into part[] while threads of other warps may still be reading the sums of the first call.
// Mean and variance of each row: the same block-wide sum is used twice, by way of a template.
#include <cstdio>
#include <cmath>
#include <cuda_runtime.h>

#define NT 192
#define WARPS (NT / 32)

template <typename T> __device__ T warpSum(T v) {
  for (int d = 16; d > 0; d >>= 1)
    v += __shfl_xor_sync(0xffffffffu, v, d);
  return v;
}

template <typename T> __device__ T blockSum(T v, T *part) {
  v = warpSum(v);
  if ((threadIdx.x & 31) == 0)
    part[threadIdx.x >> 5] = v;
  __syncthreads();
  T s = T(0);
#pragma unroll
  for (int w = 0; w < WARPS; w++)
    s += part[w];
  return s;
}

__global__ void moments(const float *in, float *mean, float *var, int width) {
  __shared__ float part[WARPS];
  const float *row = in + blockIdx.x * width;
  float acc = 0.0f;
  for (int i = threadIdx.x; i < width; i += NT)
    acc += row[i];
  float m = blockSum(acc, part) / (float)width;
  acc = 0.0f;
  for (int i = threadIdx.x; i < width; i += NT) {
    float d = row[i] - m;
    acc += d * d;
  }
  float v = blockSum(acc, part) / (float)width;
  if (threadIdx.x == 0) {
    mean[blockIdx.x] = m;
    var[blockIdx.x] = v;
  }
}

int main() {
  const int rows = 4, width = 300;
  static float h[rows * width];
  float m[rows], v[rows];
  for (int i = 0; i < rows * width; i++)
    h[i] = (float)((i * 7) % 32);
  float *d, *dm, *dv;
  cudaMalloc(&d, sizeof h);
  cudaMalloc(&dm, sizeof m);
  cudaMalloc(&dv, sizeof v);
  cudaMemcpy(d, h, sizeof h, cudaMemcpyHostToDevice);
  moments<<<rows, NT>>>(d, dm, dv, width);
  cudaMemcpy(m, dm, sizeof m, cudaMemcpyDeviceToHost);
  cudaMemcpy(v, dv, sizeof v, cudaMemcpyDeviceToHost);
  cudaFree(d);
  cudaFree(dm);
  cudaFree(dv);
  int wrong = 0;
  for (int r = 0; r < rows; r++) {
    double s = 0, q = 0;
    for (int i = 0; i < width; i++)
      s += h[r * width + i];
    s /= width;
    for (int i = 0; i < width; i++)
      q += (h[r * width + i] - s) * (h[r * width + i] - s);
    q /= width;
    wrong += fabs(s - m[r]) > 1e-3 || fabs(q - v[r]) > 1e-2;
  }
  printf("block_mean_twice: %d rows wrong\n", wrong);
  return wrong != 0;
}
