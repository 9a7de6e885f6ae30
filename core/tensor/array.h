// SPDX-License-Identifier: MIT
// FyArray: the description of a tensor that kernels use. Plain C, shared with the CUDA sources.
#ifndef FERRY_TENSOR_ARRAY_H
#define FERRY_TENSOR_ARRAY_H

#include "tensor/dtype.h"

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

#endif
