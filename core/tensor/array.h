// SPDX-License-Identifier: MIT
// FyArray: what a kernel sees of a tensor. Plain C, shared with the CUDA sources.
#ifndef FERRY_TENSOR_ARRAY_H
#define FERRY_TENSOR_ARRAY_H

#include "tensor/dtype.h"

enum { FY_MAX_DIM = 16 }; // the largest rank

typedef struct FyArray {
  void *data; // the first element (a view's offset is already in it); NULL when numel is 0
  int64_t numel;
  int16_t ndim;
  uint8_t dtype;    // FyDType
  bool contiguous;  // row-major without gaps
  bool host_scalar; // 0-dim on the CPU: a kernel of any device may read it at launch, on the host
  int64_t shape[FY_MAX_DIM];
  int64_t stride[FY_MAX_DIM]; // in elements; 0 where a dimension is expanded
} FyArray;

#endif
