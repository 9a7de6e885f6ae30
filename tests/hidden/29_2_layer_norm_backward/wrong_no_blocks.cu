// mistake: empty grid
#include <cuda_runtime.h>

enum { THREADS = 128, WARP = 32, TALL = 8 };

static __device__ float block_sum(float x) {
  __shared__ float of_warp[THREADS / WARP];
  for (int apart = WARP / 2; apart > 0; apart /= 2)
    x += __shfl_xor_sync(0xffffffffu, x, apart);
  if (threadIdx.x % WARP == 0)
    of_warp[threadIdx.x / WARP] = x;
  __syncthreads();
  x = 0;
  for (int warp = 0; warp < THREADS / WARP; warp++)
    x += of_warp[warp];
  __syncthreads(); // all have read, before the next sum
  return x;
}

__global__ void rows_of(float *dx, const float *dy, const float *x, const float *gamma, const float *mean,
                        const float *rstd, int columns) {
  int row = blockIdx.x;
  float sum_g = 0, sum_both = 0, m = mean[row], r = rstd[row];
  for (int c = threadIdx.x; c < columns; c += THREADS) {
    float g = dy[row * columns + c] * gamma[c];
    sum_g += g;
    sum_both += g * (x[row * columns + c] - m) * r;
  }
  float mean_g = block_sum(sum_g) / columns;
  float mean_both = block_sum(sum_both) / columns;
  for (int c = threadIdx.x; c < columns; c += THREADS) {
    float hat = (x[row * columns + c] - m) * r;
    dx[row * columns + c] = r * (dy[row * columns + c] * gamma[c] - mean_g - hat * mean_both);
  }
}

__global__ void columns_of(float *dgamma, float *dbeta, const float *dy, const float *x, const float *mean,
                           const float *rstd, int rows, int columns) {
  __shared__ float scale[TALL][WARP], shift[TALL][WARP];
  int c = blockIdx.x * WARP + threadIdx.x;
  float of_gamma = 0, of_beta = 0;
  for (int row = threadIdx.y; row < rows && c < columns; row += TALL) {
    float d = dy[row * columns + c];
    of_gamma += d * (x[row * columns + c] - mean[row]) * rstd[row];
    of_beta += d;
  }
  scale[threadIdx.y][threadIdx.x] = of_gamma;
  shift[threadIdx.y][threadIdx.x] = of_beta;
  __syncthreads();
  if (threadIdx.y != 0 || c >= columns)
    return;
  for (int y = 1; y < TALL; y++) {
    of_gamma += scale[y][threadIdx.x];
    of_beta += shift[y][threadIdx.x];
  }
  dgamma[c] = of_gamma;
  dbeta[c] = of_beta;
}

extern "C" void layer_norm_backward_on_device(float *dx, float *dgamma, float *dbeta, const float *dy, const float *x,
                                              const float *gamma, const float *mean, const float *rstd, int rows,
                                              int columns) {
  rows_of<<<rows, THREADS>>>(dx, dy, x, gamma, mean, rstd, columns);
  dim3 block(WARP, TALL);
  columns_of<<<(columns + WARP - 1) - WARP, block>>>(dgamma, dbeta, dy, x, mean, rstd, rows, columns);
}
