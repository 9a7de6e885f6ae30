// mistake: remainder not added
#include <cuda_runtime.h>

enum { THREADS = 256 };

__global__ void add_up(float *out, const float *x, int n) {
  __shared__ float part[THREADS];
  int t = threadIdx.x;
  float sum = 0;
  for (int i = blockIdx.x * THREADS + t; i < n / 4; i += gridDim.x * THREADS) {
    float4 four = ((const float4 *)x)[i];
    sum += four.x + four.y + four.z + four.w;
  }
  part[t] = sum;
  __syncthreads();
  for (int half = THREADS / 2; half > 0; half /= 2) {
    if (t < half)
      part[t] += part[t + half];
    __syncthreads();
  }
  if (t == 0)
    atomicAdd(out, part[0]);
}

extern "C" void sum_on_device(float *out, const float *x, float *room, int n) {
  add_up<<<640, THREADS>>>(out, x, n);
}
