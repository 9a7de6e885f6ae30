// hat is x * rstd - mean * rstd.
#include <cuda_runtime.h>

enum { THREADS = 128, WARP = 32, TALL = 8 };

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
  float sum = sums[0];
  __syncthreads();
  return sum;
}

__global__ void rows_of(float *dx, const float *dy, const float *x, const float *gamma, const float *mean,
                        const float *rstd, int columns) {
  size_t first = (size_t)blockIdx.x * columns;
  float m = mean[blockIdx.x], s = rstd[blockIdx.x], g_sum = 0, h_sum = 0;
  for (int c = threadIdx.x; c < columns; c += THREADS) {
    float g = dy[first + c] * gamma[c], hat = x[first + c] * s - m * s;
    g_sum += g;
    h_sum += g * hat;
  }
  g_sum = block_sum(g_sum) / columns;
  h_sum = block_sum(h_sum) / columns;
  for (int c = threadIdx.x; c < columns; c += THREADS) {
    float g = dy[first + c] * gamma[c], hat = x[first + c] * s - m * s;
    dx[first + c] = s * (g - g_sum - hat * h_sum);
  }
}

__global__ void columns_of(float *dgamma, float *dbeta, const float *dy, const float *x, const float *mean,
                           const float *rstd, int rows, int columns) {
  __shared__ float gammas[TALL][WARP], betas[TALL][WARP];
  int c = blockIdx.x * WARP + threadIdx.x;
  float of_gamma = 0, of_beta = 0;
  if (c < columns)
    for (int r = threadIdx.y; r < rows; r += TALL) {
      float d = dy[(size_t)r * columns + c], hat = x[(size_t)r * columns + c] * rstd[r] - mean[r] * rstd[r];
      of_gamma += d * hat;
      of_beta += d;
    }
  gammas[threadIdx.y][threadIdx.x] = of_gamma;
  betas[threadIdx.y][threadIdx.x] = of_beta;
  __syncthreads();
  if (threadIdx.y == 0 && c < columns) {
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
