// SPDX-License-Identifier: MIT
// Products of bfloat16 matrices by the processor's units for them (AMX, AVX512-BF16), for matmul.c.
#ifndef FERRY_OP_MATMUL_BFLOAT16_H
#define FERRY_OP_MATMUL_BFLOAT16_H

#include "op/product/gemm.h"
#include "op/product/matmul.h"

// Whether the processor has such a unit, the system lets the process use it, and (m, k) times (k, n) is large enough for that to pay.
bool fy_multiplies_bfloat16(int64_t m, int64_t n, int64_t k);

// Whether a product of these sizes takes bfloat16 as it is, by a unit or not.
static inline bool fy_takes_bfloat16(int64_t m, int64_t n, int64_t k) {
  return fy_multiplies_bfloat16(m, n, k) || fy_gemm_takes_bfloat16(m, n, k);
}

// c = a b + bias, cut off at zero with `relu`: all bfloat16, the sums in float32, rounded once. `bias` (n) may be NULL. No
// size is 0. Returns 0 or a code for the dispatcher. The sum of an element has the same order for any number of threads.
int fy_bfloat16_matmul(FyLaunch *l, const FyMatmulPlan *p, const void *a, const void *b, const void *bias, bool relu,
                       void *c);

#endif
