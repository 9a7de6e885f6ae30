// SPDX-License-Identifier: MIT
// What the reader and the writer of safetensors agree on: for data/ only.
#ifndef FERRY_DATA_SAFETENSORS_IMPL_H
#define FERRY_DATA_SAFETENSORS_IMPL_H

#include "data/safetensors.h"

// The file: N (u64, little-endian), N bytes of JSON, the elements of all tensors without gaps.
enum { FY_SAFETENSORS_MAX_HEADER = 100000000 };

static const struct {
  const char *name;
  FyDType dtype;
} fy_safetensors_dtypes[] = {
    {"BOOL", FY_BOOL},   {"U8", FY_UINT8},      {"I32", FY_INT32},   {"I64", FY_INT64},
    {"F16", FY_FLOAT16}, {"BF16", FY_BFLOAT16}, {"F32", FY_FLOAT32}, {"F64", FY_FLOAT64},
};
enum { FY_SAFETENSORS_DTYPES = sizeof fy_safetensors_dtypes / sizeof *fy_safetensors_dtypes };

#endif
