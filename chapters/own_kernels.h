// Kernels of lesson 29's own op: GELU of x + bias, forward and backward. Plain C around CUDA, so that a C program can launch them.
#ifndef CHAPTERS_OWN_KERNELS_H
#define CHAPTERS_OWN_KERNELS_H

#ifdef __cplusplus
extern "C" {
#endif

// All pointers are device memory, x and its like rows x columns numbers, row after row. `is_double`: float64, else float32.
// `stream` is a cudaStream_t. Nothing is waited for; the result is a cudaError_t, 0 for none.
typedef struct BiasGelu {
  int rows, columns, is_double;
  void *stream;
} BiasGelu;

int bias_gelu_forward(const BiasGelu *shape, void *out, const void *x, const void *bias);
int bias_gelu_backward(const BiasGelu *shape, void *dx, const void *dy, const void *x, const void *bias);
int bias_gelu_columns(const BiasGelu *shape, void *dbias, const void *dx); // sums down the columns

#ifdef __cplusplus
}
#endif

#endif
