// The kernels of lesson 31's custom op: GELU of x + bias, forward and backward, for float and double.
#include "own_kernels.h"
#include <cuda_runtime.h>

enum { THREADS = 256, WARP = 32, TALL = 8 };

// [kernels]
template <class X> __global__ void forward(X *out, const X *x, const X *bias, int n, int columns) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n)
    return;
  X a = x[i] + bias[i % columns];
  out[i] = a / 2 * (1 + erf(a * (X)0.70710678118654752));
}

// The derivative of a * CDF(a) is CDF(a) + a * density(a), both of the standard normal distribution. `a` is recomputed from the
// inputs of the forward pass, which saved no intermediate result.
template <class X> __global__ void backward(X *dx, const X *dy, const X *x, const X *bias, int n, int columns) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n)
    return;
  X a = x[i] + bias[i % columns];
  X cdf = (1 + erf(a * (X)0.70710678118654752)) / 2, density = exp(-a * a / 2) * (X)0.39894228040143268;
  dx[i] = dy[i] * (cdf + a * density);
}

// A block sums 32 columns. It has 8 rows of threads, whose partial sums are added at the end in a fixed order.
template <class X> __global__ void columns_of(X *sums, const X *x, int rows, int columns) {
  __shared__ X partial[TALL][WARP];
  int column = blockIdx.x * WARP + threadIdx.x;
  X sum = 0;
  for (int row = threadIdx.y; row < rows && column < columns; row += TALL)
    sum += x[row * columns + column];
  partial[threadIdx.y][threadIdx.x] = sum;
  __syncthreads();
  if (threadIdx.y != 0 || column >= columns)
    return;
  for (int y = 1; y < TALL; y++)
    sum += partial[y][threadIdx.x];
  sums[column] = sum;
}
// [end]

// [launches]
template <class X> static int run_forward(const BiasGelu *s, X *out, const X *x, const X *bias) {
  int n = s->rows * s->columns;
  if (n > 0)
    forward<X><<<(n + THREADS - 1) / THREADS, THREADS, 0, (cudaStream_t)s->stream>>>(out, x, bias, n, s->columns);
  return (int)cudaGetLastError();
}

int bias_gelu_forward(const BiasGelu *s, void *out, const void *x, const void *bias) {
  return s->is_double ? run_forward(s, (double *)out, (const double *)x, (const double *)bias)
                      : run_forward(s, (float *)out, (const float *)x, (const float *)bias);
}
// [end]

template <class X> static int run_backward(const BiasGelu *s, X *dx, const X *dy, const X *x, const X *bias) {
  int n = s->rows * s->columns;
  if (n > 0)
    backward<X><<<(n + THREADS - 1) / THREADS, THREADS, 0, (cudaStream_t)s->stream>>>(dx, dy, x, bias, n, s->columns);
  return (int)cudaGetLastError();
}

int bias_gelu_backward(const BiasGelu *s, void *dx, const void *dy, const void *x, const void *bias) {
  return s->is_double ? run_backward(s, (double *)dx, (const double *)dy, (const double *)x, (const double *)bias)
                      : run_backward(s, (float *)dx, (const float *)dy, (const float *)x, (const float *)bias);
}

template <class X> static int run_columns(const BiasGelu *s, X *dbias, const X *dx) {
  if (s->columns > 0)
    columns_of<X><<<(s->columns + WARP - 1) / WARP, dim3(WARP, TALL), 0, (cudaStream_t)s->stream>>>(dbias, dx, s->rows,
                                                                                                    s->columns);
  return (int)cudaGetLastError();
}

int bias_gelu_columns(const BiasGelu *s, void *dbias, const void *dx) {
  return s->is_double ? run_columns(s, (double *)dbias, (const double *)dx)
                      : run_columns(s, (float *)dbias, (const float *)dx);
}
