// Sums in double, by a two-dimensional block; two launches, the second of one warp.
#include <cuda_runtime.h>

__global__ void rows(float *partial, const float *x, int n) {
  __shared__ double tile[8][32];
  double own = 0;
  int place = threadIdx.y * 32 + threadIdx.x;
  for (int i = blockIdx.x * 256 + place; i < n; i += gridDim.x * 256)
    own += x[i];
  tile[threadIdx.y][threadIdx.x] = own;
  __syncthreads();
  for (int y = 4; y > 0; y /= 2) {
    if ((int)threadIdx.y < y)
      tile[threadIdx.y][threadIdx.x] += tile[threadIdx.y + y][threadIdx.x];
    __syncthreads();
  }
  if (threadIdx.y == 0) {
    double all = tile[0][threadIdx.x];
    for (int lanes = 16; lanes > 0; lanes /= 2)
      all += __shfl_down_sync(0xffffffff, all, lanes);
    if (threadIdx.x == 0)
      partial[blockIdx.x] = (float)all;
  }
}

__global__ void finish(float *sum, const float *partial, int count) {
  double own = 0;
  for (int i = threadIdx.x; i < count; i += 32)
    own += partial[i];
  for (int lanes = 16; lanes > 0; lanes /= 2)
    own += __shfl_down_sync(0xffffffff, own, lanes);
  if (threadIdx.x == 0)
    *sum = (float)own;
}

extern "C" void sum_on_device(float *sum, const float *x, float *partial, int n) {
  rows<<<40, dim3(32, 8)>>>(partial, x, n);
  finish<<<1, 32>>>(sum, partial, 40);
}
