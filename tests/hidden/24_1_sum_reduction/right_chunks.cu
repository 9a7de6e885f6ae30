// Each block adds up one chunk; its warps use shuffles. Twenty partial sums are added by one warp.
#include <cuda_runtime.h>

__global__ void add_chunks(float *partial, const float *x, int n) {
  __shared__ float warps[8];
  int each = (n + (int)gridDim.x - 1) / (int)gridDim.x, first = blockIdx.x * each;
  int end = first + each < n ? first + each : n;
  float own = 0;
  for (int i = first + threadIdx.x; i < end; i += blockDim.x)
    own += x[i];
  for (int apart = 16; apart > 0; apart /= 2)
    own += __shfl_down_sync(~0u, own, apart);
  if (threadIdx.x % 32 == 0)
    warps[threadIdx.x / 32] = own;
  __syncthreads();
  if (threadIdx.x == 0) {
    own = 0;
    for (int w = 0; w < 8; w++)
      own += warps[w];
    partial[blockIdx.x] = own;
  }
}

__global__ void finish(float *sum, const float *partial, int count) {
  float own = (int)threadIdx.x < count ? partial[threadIdx.x] : 0;
  for (int apart = 16; apart > 0; apart /= 2)
    own += __shfl_xor_sync(~0u, own, apart);
  if (threadIdx.x == 0)
    *sum = own;
}

extern "C" void sum_on_device(float *sum, const float *x, float *partial, int n) {
  add_chunks<<<20, 256>>>(partial, x, n);
  finish<<<1, 32>>>(sum, partial, 20);
}
