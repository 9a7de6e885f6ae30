// missing star: more than one launch
#include <cuda_runtime.h>
#include <math.h>

enum { THREADS = 128, WARP = 32 };

__global__ void softmax_rows(float *out, const float *x, int columns) {
  __shared__ float mosts[THREADS / WARP], sums[THREADS / WARP];
  const float *row = x + blockIdx.x * columns;
  float most = -INFINITY, sum = 0;
  for (int k = threadIdx.x; k < columns; k += THREADS) {
    float larger = fmaxf(most, row[k]);
    sum = sum * expf(most - larger) + expf(row[k] - larger);
    most = larger;
  }
  for (int apart = WARP / 2; apart > 0; apart /= 2) {
    float other = __shfl_xor_sync(0xffffffffu, most, apart), its = __shfl_xor_sync(0xffffffffu, sum, apart);
    float larger = fmaxf(most, other);
    if (larger > -INFINITY) // one of the two has met a number
      sum = sum * expf(most - larger) + its * expf(other - larger);
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
    sum += sums[warp] * expf(mosts[warp] - most);
  for (int k = threadIdx.x; k < columns; k += THREADS)
    out[blockIdx.x * columns + k] = expf(row[k] - most) / sum;
}

extern "C" void softmax_on_device(float *out, const float *x, int rows, int columns) {
  for (int r = 0; r < rows; r++)
    softmax_rows<<<1, THREADS>>>(out + r * columns, x + r * columns, columns);
}
