// Split-K: each block multiplies one part of k, and adds its tile to c atomically.
#include <cuda_runtime.h>

constexpr int T = 16;

__global__ void matmul(float *c, const float *a, const float *b, int m, int n, int k, int part) {
  __shared__ float left[T][T + 1], right[T][T + 1];
  const int i = blockIdx.x * T + threadIdx.x, j = blockIdx.y * T + threadIdx.y, first = blockIdx.z * part;
  const int end = min(first + part, k);
  float sum = 0;
  for (int p = first; p < end; p += T) {
    const int row = blockIdx.x * T + threadIdx.y, column = blockIdx.y * T + threadIdx.x;
    left[threadIdx.y][threadIdx.x] = row < m && p + threadIdx.x < end ? load(&a[row * k + p + threadIdx.x]) : 0;
    right[threadIdx.y][threadIdx.x] =
        column < n && p + threadIdx.y < end ? load(&b[(p + threadIdx.y) * n + column]) : 0;
    __syncthreads();
    for (int q = 0; q < T; q++)
      sum += left[threadIdx.x][q] * right[q][threadIdx.y];
    __syncthreads();
  }
  if (i < m && j < n)
    atomicAdd(&c[i * n + j], sum);
}

extern "C" void matmul_on_device(float *c, const float *a, const float *b, int m, int n, int k) {
  const int part = 2 * T;
  cudaMemsetAsync(c, 0, sizeof(float) * m * n);
  matmul<<<dim3((m + T - 1) / T, (n + T - 1) / T, (k + part - 1) / part), dim3(T, T)>>>(c, a, b, m, n, k, part);
}
