// SPDX-License-Identifier: MIT
// Element types and their rules.
#ifndef FERRY_TENSOR_DTYPE_H
#define FERRY_TENSOR_DTYPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// A zeroed dtype option means the default: float32 for functions that create a tensor, no change for conversions.
typedef enum FyDType {
  FY_DEFAULT_DTYPE = 0,
  FY_BOOL, // one byte, 0 or 1
  FY_UINT8,
  FY_INT32,
  FY_INT64,
  FY_FLOAT16,  // IEEE half
  FY_BFLOAT16, // upper half of a float32
  FY_FLOAT32,
  FY_FLOAT64,
  FY_DTYPE_COUNT
} FyDType;

// The dtype of sums and statistics: of half types float32. CUDA's FyMath<T>::type.
static inline FyDType fy_dtype_of_sums(int dtype) {
  return dtype == FY_FLOAT64 ? FY_FLOAT64 : FY_FLOAT32;
}

// Returns the bytes per element, or 0 if the value is not a dtype. Host code and kernels both use this function.
static inline size_t fy_dtype_size(int dtype) {
  switch (dtype) {
  case FY_BOOL:
  case FY_UINT8:
    return 1;
  case FY_FLOAT16:
  case FY_BFLOAT16:
    return 2;
  case FY_INT32:
  case FY_FLOAT32:
    return 4;
  case FY_INT64:
  case FY_FLOAT64:
    return 8;
  default:
    return 0;
  }
}

#ifdef __cplusplus
extern "C" {
#endif

const char *fy_dtype_name(FyDType dtype);        // "torch.float32"
const char *fy_dtype_scalar_name(FyDType dtype); // "Float", the name in PyTorch's messages
const char *fy_dtype_cpp_name(FyDType dtype);    // "float", the name in those that print the C++ type
bool fy_dtype_is_floating(FyDType dtype);

// Returns the smallest type to which both types convert. PyTorch: torch.promote_types(a, b).
FyDType fy_promote_types(FyDType a, FyDType b);

#ifdef __cplusplus
}
#endif

// The dtype that matches the element type of a C pointer, at compile time: FY_DTYPE_OF((float *)p) is FY_FLOAT32.
#define FY_DTYPE_OF(pointer)                                                                                           \
  _Generic((pointer),                                                                                                  \
      float *: FY_FLOAT32,                                                                                             \
      const float *: FY_FLOAT32,                                                                                       \
      double *: FY_FLOAT64,                                                                                            \
      const double *: FY_FLOAT64,                                                                                      \
      int *: FY_INT32,                                                                                                 \
      const int *: FY_INT32,                                                                                           \
      long *: FY_INT64,                                                                                                \
      const long *: FY_INT64,                                                                                          \
      long long *: FY_INT64,                                                                                           \
      const long long *: FY_INT64,                                                                                     \
      unsigned char *: FY_UINT8,                                                                                       \
      const unsigned char *: FY_UINT8,                                                                                 \
      bool *: FY_BOOL,                                                                                                 \
      const bool *: FY_BOOL)

#endif
