// SPDX-License-Identifier: MIT
// Copies on the CPU between any dtypes and layouts, without autograd.
#ifndef FERRY_OP_CONVERT_H
#define FERRY_OP_CONVERT_H

#include "tensor/array.h"

// out[...] = in[...], in broadcast to out's shape. The arrays may be the same memory only if they are laid out the same.
void fy_convert(const FyArray *out, const FyArray *in);

// out[...] = value, converted to out's dtype.
void fy_fill_array(const FyArray *out, double value);

#endif
