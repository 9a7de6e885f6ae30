// SPDX-License-Identifier: MIT
// Names and promotion of element types.
#include "tensor/dtype.h"

static const struct {
  const char *name, *scalar_name, *cpp_name;
  int category; // bool 0, integer 1, floating 2
} types[FY_DTYPE_COUNT] = {
    [FY_DEFAULT_DTYPE] = {"default", "Default", "default", 0},
    [FY_BOOL] = {"torch.bool", "Bool", "bool", 0},
    [FY_UINT8] = {"torch.uint8", "Byte", "unsigned char", 1},
    [FY_INT32] = {"torch.int32", "Int", "int", 1},
    [FY_INT64] = {"torch.int64", "Long", "long int", 1},
    [FY_FLOAT16] = {"torch.float16", "Half", "c10::Half", 2},
    [FY_BFLOAT16] = {"torch.bfloat16", "BFloat16", "c10::BFloat16", 2},
    [FY_FLOAT32] = {"torch.float32", "Float", "float", 2},
    [FY_FLOAT64] = {"torch.float64", "Double", "double", 2},
};

const char *fy_dtype_name(FyDType dtype) {
  return types[dtype].name;
}
const char *fy_dtype_scalar_name(FyDType dtype) {
  return types[dtype].scalar_name;
}
const char *fy_dtype_cpp_name(FyDType dtype) {
  return types[dtype].cpp_name;
}
bool fy_dtype_is_floating(FyDType dtype) {
  return types[dtype].category == 2;
}

// The enumeration is in order of promotion, with one exception: neither half type holds the other.
FyDType fy_promote_types(FyDType a, FyDType b) {
  if ((a == FY_FLOAT16 && b == FY_BFLOAT16) || (a == FY_BFLOAT16 && b == FY_FLOAT16))
    return FY_FLOAT32;
  return a > b ? a : b;
}
