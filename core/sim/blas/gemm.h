// SPDX-License-Identifier: MIT
// Matrix products on the CPU, column-major as cuBLAS's: C (m x n) = alpha op(A) op(B) + beta C.
#ifndef SIM_GEMM_H
#define SIM_GEMM_H

#include <stdbool.h>

#include "cublas_v2.h"

struct sim_matrix {
  void *data;
  cudaDataType type;
  int leading;      // elements from one column to the next
  long long stride; // elements from one matrix of a batch to the next
};

struct sim_gemm {
  bool transpose_a, transpose_b;
  int m, n, k, count;
  double alpha, beta;
  struct sim_matrix a, b, c;
  bool tf32; // float operands are rounded to ten bits of mantissa, as TF32 tensor cores do
};

// Bytes of an element; 0 for a type that products do not support.
size_t sim_element_bytes(cudaDataType type);

// With beta 0, C is written without being read. False when the underlying library failed.
bool sim_gemm_run(const struct sim_gemm *gemm);

#endif
