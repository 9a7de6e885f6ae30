// Exercise 28.2: layer norm, backward                                  (chapter 28, docs/28_kernels_of_a_network.md)
//
// Write layer_norm_backward_on_device, and the kernels that it launches. With
//
//   hat[r][c] = (x[r][c] - mean[r]) * rstd[r]          g[r][c] = dy[r][c] * gamma[c]
//
// the gradients are
//
//   dx[r][c]  = rstd[r] * (g[r][c] - mean of g[r] - hat[r][c] * mean of (g[r] * hat[r]))     means over the row
//   dgamma[c] = sum over r of dy[r][c] * hat[r][c]
//   dbeta[c]  = sum over r of dy[r][c]
//
//   PyTorch:  dx, dgamma, dbeta = torch.autograd.grad(F.layer_norm(x, (columns,), gamma, beta), (x, gamma, beta), dy)
//
// Given, in device memory, float32: dy and x (rows x columns, row after row), gamma (columns), mean and rstd (rows),
// which the forward kept, to be taken as they are; dx, dgamma and dbeta, to be written. rows and columns are at least 1
// and at most 65535. A mean may be large, and what differs from it small: take it off first. dgamma and dbeta have to
// have the same bits at each run: no atomic additions. Partial sums may lie in memory that you allocate.
// Counted: launches (at most three), and by the inspector sectors per request (at most 1.5 times the fewest), sectors
// that are loaded in all (at most 12 times those of x; both where the columns are a multiple of 32), atomic operations
// (none), races, accesses out of bounds.
#include <cuda_runtime.h>

enum { THREADS = 128, WARP = 32, TALL = 8 };

__global__ void rows_of(float *dx, const float *dy, const float *x, const float *gamma, const float *mean,
                        const float *rstd, int columns) {
  (void)dx;
  (void)dy;
  (void)x;
  (void)gamma;
  (void)mean;
  (void)rstd;
  (void)columns;
}

__global__ void columns_of(float *dgamma, float *dbeta, const float *dy, const float *x, const float *mean,
                           const float *rstd, int rows, int columns) {
  (void)dgamma;
  (void)dbeta;
  (void)dy;
  (void)x;
  (void)mean;
  (void)rstd;
  (void)rows;
  (void)columns;
}

extern "C" void layer_norm_backward_on_device(float *dx, float *dgamma, float *dbeta, const float *dy, const float *x,
                                              const float *gamma, const float *mean, const float *rstd, int rows,
                                              int columns) {
  (void)dx;
  (void)dgamma;
  (void)dbeta;
  (void)dy;
  (void)x;
  (void)gamma;
  (void)mean;
  (void)rstd;
  (void)rows;
  (void)columns;
}
