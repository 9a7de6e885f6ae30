// SPDX-License-Identifier: MIT
// Matrix products on the CPU, for core/ only. All matrices are row-major: element (i, j) of a matrix of leading dimension
// ld is at [i * ld + j]; a transposed operand is stored as its transpose.
#ifndef FERRY_OP_GEMM_H
#define FERRY_OP_GEMM_H

#include "tensor/dtype.h"

// C (m, n) = alpha op(A) (m, k) op(B) (k, n) + beta C, as BLAS's gemm, for uint8, int32, int64 (which wrap), bfloat16, float32
// and float64. With beta 0, C is not read. Uses all threads where that pays; the sum of an element has the same order for
// any number of them. Returns 0, FY_LAUNCH_NO_KERNEL, or FY_LAUNCH_DNN minus oneDNN's status.
int fy_gemm(FyDType dtype, bool trans_a, bool trans_b, int64_t m, int64_t n, int64_t k, double alpha, const void *a,
            int64_t lda, const void *b, int64_t ldb, double beta, void *c, int64_t ldc);

// Whether fy_gemm multiplies bfloat16 matrices of these sizes in less time than it takes to convert them and multiply float32. Then the
// sums are float32, rounded once.
bool fy_gemm_takes_bfloat16(int64_t m, int64_t n, int64_t k);

// The same on the calling thread alone: for the bodies of fy_parallel_for.
int fy_gemm_serial(FyDType dtype, bool trans_a, bool trans_b, int64_t m, int64_t n, int64_t k, double alpha,
                   const void *a, int64_t lda, const void *b, int64_t ldb, double beta, void *c, int64_t ldc);

#endif
