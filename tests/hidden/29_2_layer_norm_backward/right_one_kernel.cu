// One launch: each block has some rows, and the last block to finish adds the partial sums of all blocks in order.
#include <cuda_runtime.h>

enum { THREADS = 256, BLOCKS = 24 };

__device__ unsigned finished;

static __device__ float2 sum_of_block(float2 own) {
  __shared__ float2 sums[THREADS];
  __syncthreads();
  sums[threadIdx.x] = own;
  for (int half = THREADS / 2; half > 0; half /= 2) {
    __syncthreads();
    if (threadIdx.x < half)
      sums[threadIdx.x] = {sums[threadIdx.x].x + sums[threadIdx.x + half].x,
                           sums[threadIdx.x].y + sums[threadIdx.x + half].y};
  }
  __syncthreads();
  return sums[0];
}

__global__ void backward(float *dx, float *dgamma, float *dbeta, float2 *parts, const float *dy, const float *x,
                         const float *gamma, const float *mean, const float *rstd, int rows, int columns) {
  __shared__ bool last;
  for (int c = threadIdx.x; c < columns; c += THREADS)
    parts[blockIdx.x * columns + c] = {0, 0};
  for (int r = blockIdx.x; r < rows; r += BLOCKS) {
    float2 own = {0, 0};
    for (int c = threadIdx.x; c < columns; c += THREADS) {
      const float g = dy[r * columns + c] * gamma[c], hat = (x[r * columns + c] - mean[r]) * rstd[r];
      own = {own.x + g, own.y + g * hat};
    }
    const float2 sums = sum_of_block(own);
    for (int c = threadIdx.x; c < columns; c += THREADS) {
      const float d = dy[r * columns + c], hat = (x[r * columns + c] - mean[r]) * rstd[r];
      dx[r * columns + c] = rstd[r] * (d * gamma[c] - sums.x / columns - hat * (sums.y / columns));
      float2 *part = &parts[blockIdx.x * columns + c];
      *part = {part->x + d * hat, part->y + d};
    }
  }
  __threadfence();
  __syncthreads();
  if (threadIdx.x == 0)
    last = atomicAdd(&finished, 1) == BLOCKS - 1;
  __syncthreads();
  if (!last)
    return;
  __threadfence();
  for (int c = threadIdx.x; c < columns; c += THREADS) {
    float2 sum = {0, 0};
    for (int b = 0; b < BLOCKS; b++) {
      const volatile float2 *part = &parts[b * columns + c];
      sum = {sum.x + part->x, sum.y + part->y};
    }
    dgamma[c] = sum.x;
    dbeta[c] = sum.y;
  }
  if (threadIdx.x == 0)
    finished = 0;
}

extern "C" void layer_norm_backward_on_device(float *dx, float *dgamma, float *dbeta, const float *dy, const float *x,
                                              const float *gamma, const float *mean, const float *rstd, int rows,
                                              int columns) {
  float2 *parts;
  cudaMalloc(&parts, sizeof *parts * BLOCKS * columns);
  backward<<<BLOCKS, THREADS>>>(dx, dgamma, dbeta, parts, dy, x, gamma, mean, rstd, rows, columns);
  cudaFree(parts);
}
