// SPDX-License-Identifier: MIT
// FyArray: the description of a tensor that kernels use. Plain C, shared with the CUDA sources.
#ifndef FERRY_TENSOR_ARRAY_H
#define FERRY_TENSOR_ARRAY_H

#include "tensor/dtype.h"
#include <string.h>

enum { FY_MAX_DIM = 16 }; // the largest number of dimensions

typedef struct FyArray {
  void *data; // the first element, with a view's offset already added; NULL if numel is 0
  int64_t numel;
  int16_t ndim;
  uint8_t dtype;    // FyDType
  bool contiguous;  // row-major without gaps
  bool host_scalar; // 0-dim on the CPU: the launch of a kernel on any device may read its value on the host
  int64_t shape[FY_MAX_DIM];
  int64_t stride[FY_MAX_DIM]; // in elements; 0 if a dimension is expanded
} FyArray;

static inline size_t fy_array_bytes(const FyArray *a) {
  return (size_t)a->numel * fy_dtype_size(a->dtype);
}

// Of an optional operand: NULL if there is none.
static inline void *fy_array_data(const FyArray *a) {
  return a ? a->data : NULL;
}

// Zeros, in a contiguous array in the host's memory.
static inline void fy_array_clear(const FyArray *a) {
  if (a->numel)
    memset(a->data, 0, fy_array_bytes(a));
}

#endif
