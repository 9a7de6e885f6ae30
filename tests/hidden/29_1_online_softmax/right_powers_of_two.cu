// exp2f of x * log2(e), as in many attention kernels.
// 2^(x * log2(e) - most * log2(e)), each product rounded by itself.
#include <cuda_runtime.h>
#include <math.h>

static __device__ float in_twos(float x) {
  return x * 1.44269504f;
}

enum { THREADS = 128, WARP = 32 };

__global__ void softmax_rows(float *out, const float *x, int columns) {
  __shared__ float mosts[THREADS / WARP], sums[THREADS / WARP];
  const float *row = x + blockIdx.x * columns;
  float most = -INFINITY, sum = 0;
  for (int k = threadIdx.x; k < columns; k += THREADS) {
    float larger = fmaxf(most, row[k]);
    sum = sum * exp2f(in_twos(most) - in_twos(larger)) + exp2f(in_twos(row[k]) - in_twos(larger));
    most = larger;
  }
  for (int apart = WARP / 2; apart > 0; apart /= 2) {
    float other = __shfl_xor_sync(0xffffffffu, most, apart), its = __shfl_xor_sync(0xffffffffu, sum, apart);
    float larger = fmaxf(most, other);
    if (larger > -INFINITY) // one of the two has met a number
      sum = sum * exp2f(in_twos(most) - in_twos(larger)) + its * exp2f(in_twos(other) - in_twos(larger));
    most = larger;
  }
  if (threadIdx.x % WARP == 0) {
    mosts[threadIdx.x / WARP] = most;
    sums[threadIdx.x / WARP] = sum;
  }
  __syncthreads();
  most = -INFINITY;
  sum = 0;
  for (int warp = 0; warp < THREADS / WARP; warp++)
    most = fmaxf(most, mosts[warp]);
  for (int warp = 0; warp < THREADS / WARP; warp++)
    sum += sums[warp] * exp2f(in_twos(mosts[warp]) - in_twos(most));
  for (int k = threadIdx.x; k < columns; k += THREADS)
    out[blockIdx.x * columns + k] = exp2f(in_twos(row[k]) - in_twos(most)) / sum;
}

extern "C" void softmax_on_device(float *out, const float *x, int rows, int columns) {
  if (rows > 0)
    softmax_rows<<<rows, THREADS>>>(out, x, columns);
}
