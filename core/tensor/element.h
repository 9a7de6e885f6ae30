// SPDX-License-Identifier: MIT
// One element on the host, of any dtype: for printing, comparing and item().
#ifndef FERRY_TENSOR_ELEMENT_H
#define FERRY_TENSOR_ELEMENT_H

#include "tensor/dtype.h"
#include "tensor/half.h"

static inline double fy_element_double(const void *data, FyDType dtype, int64_t i) {
  switch (dtype) {
  case FY_BOOL:
  case FY_UINT8:
    return ((const uint8_t *)data)[i];
  case FY_INT32:
    return ((const int32_t *)data)[i];
  case FY_INT64:
    return (double)((const int64_t *)data)[i];
  case FY_FLOAT16:
    return (double)fy_float16_to_float(((const uint16_t *)data)[i]);
  case FY_BFLOAT16:
    return (double)fy_bfloat16_to_float(((const uint16_t *)data)[i]);
  case FY_FLOAT32:
    return (double)((const float *)data)[i];
  default:
    return ((const double *)data)[i];
  }
}

static inline int64_t fy_element_int64(const void *data, FyDType dtype, int64_t i) {
  return dtype == FY_INT64 ? ((const int64_t *)data)[i] : (int64_t)fy_element_double(data, dtype, i);
}

#endif
