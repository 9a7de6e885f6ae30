// Exercise 29.2: Layer norm, backward              lesson 29 · hard · 60 min
//
// Task      Compute the gradients of F.layer_norm(x, (columns,), gamma, beta),
//           as torch.autograd.grad does. With hat = (x - mean) * rstd for each
//           row and g = dy * gamma for each column:
//               dx     = rstd * (g - mean of g - hat * mean of (g * hat))
//               dgamma = sum of dy * hat over the rows
//               dbeta  = sum of dy over the rows
//           In the formula for dx, both means are over the elements of a row.
// Example   x = -1 1, mean = 0, rstd = 1, gamma = 1 1, dy = 1 3
//           ->   dx = 0 0, dgamma = -1 3, dbeta = 1 3
// Write     layer_norm_backward_on_device and the kernels that it launches.
// Inputs    dx, dy, x            row-major device arrays, rows x columns floats
//           gamma, dgamma, dbeta device arrays of columns floats
//           mean, rstd           device arrays of rows floats, one per row of x
//           rows, columns        1 to 4096; elements of x from -10 to 10
// Required  - correct to 2e-4, without data races or out-of-bounds accesses
//           - same bits in every run: no atomic additions to dgamma and dbeta
// Stars     ** coalesced: at most 1.5 x the ideal sectors per request
//           *** at most three kernel launches
#include <cuda_runtime.h>

enum { THREADS = 128, WARP = 32, BLOCK_ROWS = 8 };

// [answer]
static __device__ float block_sum(float x) {
  __shared__ float warp_sums[THREADS / WARP];
  for (int distance = WARP / 2; distance > 0; distance /= 2)
    x += __shfl_xor_sync(0xffffffffu, x, distance);
  if (threadIdx.x % WARP == 0)
    warp_sums[threadIdx.x / WARP] = x;
  __syncthreads();
  x = 0;
  for (int warp = 0; warp < THREADS / WARP; warp++)
    x += warp_sums[warp];
  __syncthreads(); // all threads have read the sums before the next call overwrites them
  return x;
}

// [stub]
// [end]
__global__ void gradient_of_x(float *dx, const float *dy, const float *x, const float *gamma, const float *mean,
                              const float *rstd, int columns) {
  // [answer]
  int row = blockIdx.x;
  float sum_g = 0, sum_g_hat = 0, m = mean[row], r = rstd[row];
  for (int c = threadIdx.x; c < columns; c += THREADS) {
    float g = dy[row * columns + c] * gamma[c];
    sum_g += g;
    sum_g_hat += g * (x[row * columns + c] - m) * r;
  }
  float mean_g = block_sum(sum_g) / columns;
  float mean_g_hat = block_sum(sum_g_hat) / columns;
  for (int c = threadIdx.x; c < columns; c += THREADS) {
    float hat = (x[row * columns + c] - m) * r;
    dx[row * columns + c] = r * (dy[row * columns + c] * gamma[c] - mean_g - hat * mean_g_hat);
  }
  // [stub]
  // [end]
}

__global__ void gradient_of_parameters(float *dgamma, float *dbeta, const float *dy, const float *x, const float *mean,
                                       const float *rstd, int rows, int columns) {
  // [answer]
  __shared__ float gamma_sums[BLOCK_ROWS][WARP], beta_sums[BLOCK_ROWS][WARP];
  int c = blockIdx.x * WARP + threadIdx.x;
  float gamma_sum = 0, beta_sum = 0;
  for (int row = threadIdx.y; row < rows && c < columns; row += BLOCK_ROWS) {
    float d = dy[row * columns + c];
    gamma_sum += d * (x[row * columns + c] - mean[row]) * rstd[row];
    beta_sum += d;
  }
  gamma_sums[threadIdx.y][threadIdx.x] = gamma_sum;
  beta_sums[threadIdx.y][threadIdx.x] = beta_sum;
  __syncthreads();
  if (threadIdx.y != 0 || c >= columns)
    return;
  for (int y = 1; y < BLOCK_ROWS; y++) {
    gamma_sum += gamma_sums[y][threadIdx.x];
    beta_sum += beta_sums[y][threadIdx.x];
  }
  dgamma[c] = gamma_sum;
  dbeta[c] = beta_sum;
  // [stub]
  // [end]
}

extern "C" void layer_norm_backward_on_device(float *dx, float *dgamma, float *dbeta, const float *dy, const float *x,
                                              const float *gamma, const float *mean, const float *rstd, int rows,
                                              int columns) {
  // [answer]
  gradient_of_x<<<rows, THREADS>>>(dx, dy, x, gamma, mean, rstd, columns);
  dim3 block(WARP, BLOCK_ROWS);
  gradient_of_parameters<<<(columns + WARP - 1) / WARP, block>>>(dgamma, dbeta, dy, x, mean, rstd, rows, columns);
  // [stub]
  // [end]
}
