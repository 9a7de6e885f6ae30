// The kernels of lesson 31's custom op: GELU of x + bias, forward and backward. C functions that launch them, for a C program.
#ifndef CHAPTERS_OWN_KERNELS_H
#define CHAPTERS_OWN_KERNELS_H

#ifdef __cplusplus
extern "C" {
#endif

// [interface]
// Row-major matrices of rows x columns numbers, float64 if is_double, else float32. `stream` is a cudaStream_t.
typedef struct BiasGelu {
  int rows, columns, is_double;
  void *stream;
} BiasGelu;

// All arrays are in device memory. Each function enqueues a kernel and returns a cudaError_t, 0 for success.
int bias_gelu_forward(const BiasGelu *shape, void *out, const void *x, const void *bias);
int bias_gelu_backward(const BiasGelu *shape, void *dx, const void *dy, const void *x, const void *bias);
int bias_gelu_columns(const BiasGelu *shape, void *dbias, const void *dx); // the sum of each column
// [end]

#ifdef __cplusplus
}
#endif

#endif
