// The mean of g * hat comes from the sums of g and of g * x.
#include <cuda_runtime.h>
#include <math.h>

enum { THREADS = 128, WARP = 32, TALL = 8 };

static __device__ float block_sum(float own) {
  __shared__ float parts[THREADS / WARP];
  for (int step = WARP / 2; step > 0; step /= 2)
    own += __shfl_xor_sync(0xffffffffu, own, step);
  __syncthreads(); // of the sum before, all have read
  if (threadIdx.x % WARP == 0)
    parts[threadIdx.x / WARP] = own;
  __syncthreads();
  float sum = 0;
  for (int w = 0; w < THREADS / WARP; w++)
    sum += parts[w];
  return sum;
}

__global__ void rows_of(float *dx, const float *dy, const float *x, const float *gamma, const float *mean,
                        const float *rstd, int columns) {
  size_t r = blockIdx.x;
  dx += r * columns;
  dy += r * columns;
  x += r * columns;
  float middle = mean[r], scale = rstd[r];
  float g = 0, g_x = 0;
  for (int c = threadIdx.x; c < columns; c += THREADS) {
    float own = dy[c] * gamma[c];
    g += own;
    g_x += own * x[c];
  }
  float mean_g = block_sum(g) / columns, mean_g_hat = scale * (block_sum(g_x) / columns - middle * mean_g);
  for (int c = threadIdx.x; c < columns; c += THREADS)
    dx[c] = scale * (dy[c] * gamma[c] - mean_g - (x[c] - middle) * scale * mean_g_hat);
}

__global__ void columns_of(float *dgamma, float *dbeta, const float *dy, const float *x, const float *mean,
                           const float *rstd, int rows, int columns) {
  __shared__ float gammas[TALL][WARP], betas[TALL][WARP];
  int c = blockIdx.x * WARP + threadIdx.x, y = threadIdx.y;
  float of_gamma = 0, of_beta = 0;
  if (c < columns)
    for (int r = y; r < rows; r += TALL) {
      float d = dy[(size_t)r * columns + c];
      of_gamma += d * (x[(size_t)r * columns + c] - mean[r]) * rstd[r];
      of_beta += d;
    }
  gammas[y][threadIdx.x] = of_gamma;
  betas[y][threadIdx.x] = of_beta;
  __syncthreads();
  if (y == 0 && c < columns) {
    for (int k = 1; k < TALL; k++) {
      of_gamma += gammas[k][threadIdx.x];
      of_beta += betas[k][threadIdx.x];
    }
    dgamma[c] = of_gamma;
    dbeta[c] = of_beta;
  }
}

extern "C" void layer_norm_backward_on_device(float *dx, float *dgamma, float *dbeta, const float *dy, const float *x,
                                              const float *gamma, const float *mean, const float *rstd, int rows,
                                              int columns) {
  rows_of<<<rows, THREADS>>>(dx, dy, x, gamma, mean, rstd, columns);
  columns_of<<<(columns + WARP - 1) / WARP, dim3(WARP, TALL)>>>(dgamma, dbeta, dy, x, mean, rstd, rows, columns);
}
