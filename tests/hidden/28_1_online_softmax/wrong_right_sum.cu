// mistake: rounded before the maximum came off
#include <cuda_runtime.h>
#include <math.h>

enum { THREADS = 128, WARP = 32 };

__device__ void merge(float *max, float *sum, float other_max, float other_sum) {
  float most = fmaxf(*max, other_max);
  if (most > -INFINITY) {
    *sum = *sum * expf(*max - most) + other_sum * expf(other_max - most);
    *max = most;
  }
}

__global__ void softmax_rows(float *out, const float *x, int columns) {
  __shared__ float maxima[THREADS / WARP], sums[THREADS / WARP];
  int t = threadIdx.x;
  x += (size_t)blockIdx.x * columns;
  out += (size_t)blockIdx.x * columns;
  float max = -INFINITY, sum = 0;
  for (int c = t; c < columns; c += THREADS) {
    float value = x[c];
    if (value > max) {
      sum *= expf(max - value);
      max = value;
    }
    sum += expf(value - max);
  }
  for (int apart = WARP / 2; apart > 0; apart /= 2) {
    float other_max = __shfl_xor_sync(0xffffffffu, max, apart);
    float other_sum = __shfl_xor_sync(0xffffffffu, sum, apart);
    merge(&max, &sum, other_max, other_sum);
  }
  if (t % WARP == 0) {
    maxima[t / WARP] = max;
    sums[t / WARP] = sum;
  }
  __syncthreads();
  max = maxima[0];
  sum = sums[0];
  for (int w = 1; w < THREADS / WARP; w++)
    merge(&max, &sum, maxima[w], sums[w]);
  for (int c = t; c < columns; c += THREADS)
    out[c] = exp2f(__fmul_rn(x[c], 1.44269504f) - __fmul_rn(max, 1.44269504f)) / sum;
}

extern "C" void softmax_on_device(float *out, const float *x, int rows, int columns) {
  if (rows > 0)
    softmax_rows<<<rows, THREADS>>>(out, x, columns);
}
