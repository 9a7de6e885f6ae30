// mistake: out-of-bounds access
#include <cstdint>
#include <cuda_runtime.h>

enum { THREADS = 128, BLOCKS = 8 };

static __device__ float block_sum(float own) {
  __shared__ float sums[THREADS];
  int t = threadIdx.x;
  sums[t] = own;
  __syncthreads();
  for (int half = THREADS / 2; half > 0; half /= 2) {
    if (t < half)
      sums[t] += sums[t + half];
    __syncthreads();
  }
  return sums[0];
}

// w: for the head from the beginning; v: the same, as the body begins with them.
__global__ void add_parts(float *partial, const float *x, float4 w, float4 v, int head, int n) {
  int t = blockIdx.x * THREADS + threadIdx.x, fours = (n - head) / 4, tail = head + fours * 4;
  const float4 *body = (const float4 *)(x + head);
  float sum = 0;
  for (int q = t; q < fours; q += gridDim.x * THREADS) {
    float4 four = body[q];
    sum += four.x * v.x + four.y * v.y + four.z * v.z + four.w * v.w;
  }
  if (t < head)
    sum += x[t] * (t == 0 ? w.x : t == 1 ? w.y : w.z);
  if (t < n - tail)
    sum += x[tail + t] * (t == 0 ? v.x : t == 1 ? v.y : v.z);
  sum = block_sum(sum);
  if (threadIdx.x == 0)
    partial[blockIdx.x] = sum;
}

__global__ void add_up(float *out, const float *partial, int count) {
  float sum = block_sum((int)threadIdx.x < count ? partial[threadIdx.x] : 0);
  if (threadIdx.x == 0)
    *out = sum;
}

extern "C" void weighted_on_device(float *out, const float *x, const float *weights, int n) {
  int blocks = (n + 4 * THREADS - 1) / (4 * THREADS);
  if (blocks > BLOCKS)
    blocks = BLOCKS;
  int head = (int)((16 - (uintptr_t)x % 16) % 16 / sizeof(float));
  float4 w = make_float4(weights[0], weights[1], weights[2], weights[3]);
  float4 v = make_float4(weights[head % 4], weights[(head + 1) % 4], weights[(head + 2) % 4], weights[(head + 3) % 4]);
  float *partial;
  cudaMalloc((void **)&partial, blocks * sizeof(float));
  add_parts<<<blocks, THREADS>>>(partial, x, w, v, head, n);
  add_up<<<1, THREADS>>>(out, partial, blocks);
  cudaFree(partial);
}
