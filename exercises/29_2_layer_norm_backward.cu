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

__global__ void gradient_of_x(float *dx, const float *dy, const float *x, const float *gamma, const float *mean,
                              const float *rstd, int columns) {
}

__global__ void gradient_of_parameters(float *dgamma, float *dbeta, const float *dy, const float *x, const float *mean,
                                       const float *rstd, int rows, int columns) {
}

extern "C" void layer_norm_backward_on_device(float *dx, float *dgamma, float *dbeta, const float *dy, const float *x,
                                              const float *gamma, const float *mean, const float *rstd, int rows,
                                              int columns) {
}
