#include <cuda_runtime.h>
#include <math.h>

enum { THREADS = 128, WARP = 32 };

static __device__ float power(float x) {
  return expf(x);
}

static __device__ void meet(float &most, float &sum, float other, float other_sum) {
  float larger = fmaxf(most, other);
  if (larger == -INFINITY) // neither has met a number
    return;
  sum = sum * power(most - larger) + other_sum * power(other - larger);
  most = larger;
}

__global__ void softmax_rows(float *out, const float *x, int columns) {
  __shared__ float mosts[THREADS / WARP], sums[THREADS / WARP];
  const float *row = x + (size_t)blockIdx.x * columns;
  float *to = out + (size_t)blockIdx.x * columns;
  int t = threadIdx.x;
  float most = -INFINITY, sum = 0;
  if (columns % 4 == 0)
    for (int q = t; q < columns / 4; q += THREADS) {
      float4 four = ((const float4 *)row)[q];
      meet(most, sum, four.x, 1);
      meet(most, sum, four.y, 1);
      meet(most, sum, four.z, 1);
      meet(most, sum, four.w, 1);
    }
  else
    for (int c = t; c < columns; c += THREADS)
      meet(most, sum, row[c], 1);
  for (int step = WARP / 2; step > 0; step /= 2) {
    float other = __shfl_xor_sync(0xffffffffu, most, step), other_sum = __shfl_xor_sync(0xffffffffu, sum, step);
    meet(most, sum, other, other_sum);
  }
  if (t % WARP == 0) {
    mosts[t / WARP] = most;
    sums[t / WARP] = sum;
  }
  __syncthreads();
  most = mosts[0];
  sum = sums[0];
  for (int w = 1; w < THREADS / WARP; w++)
    meet(most, sum, mosts[w], sums[w]);
  if (columns % 4 == 0)
    for (int q = t; q < columns / 4; q += THREADS) {
      float4 four = ((const float4 *)row)[q];
      ((float4 *)to)[q] = make_float4(power(four.x - most) / sum, power(four.y - most) / sum,
                                      power(four.z - most) / sum, power(four.w - most) / sum);
    }
  else
    for (int c = t; c < columns; c += THREADS)
      to[c] = power(row[c] - most) / sum;
}

extern "C" void softmax_on_device(float *out, const float *x, int rows, int columns) {
  if (rows > 0)
    softmax_rows<<<rows, THREADS>>>(out, x, columns);
}
