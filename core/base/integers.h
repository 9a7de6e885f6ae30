// SPDX-License-Identifier: MIT
// Arithmetic on sizes and indices.
#ifndef FERRY_BASE_INTEGERS_H
#define FERRY_BASE_INTEGERS_H

#include <stdint.h>

static inline int64_t fy_smaller(int64_t a, int64_t b) {
  return a < b ? a : b;
}

// a / b, rounded up, of a >= 0 and b > 0.
static inline int64_t fy_div_ceil(int64_t a, int64_t b) {
  return (a + b - 1) / b;
}

#endif
