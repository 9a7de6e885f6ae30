// SPDX-License-Identifier: MIT
// A matrix product of one element type: strips of A's rows, whose sums stay in registers. Included by gemm.c.
//
// Expects, for each inclusion: T, the element type; NAME(x), x with the type in it. No include guard.
#if !defined T || !defined NAME
#error "gemm_blocks.h expects T, NAME(x)"
#endif

typedef T NAME(strip) __attribute__((vector_size(STRIP * sizeof(T)))); // of as many rows, one column

// A's rows [row, row + rows), k's [depth, depth + depths), a strip for each step of k, filled up with zeros.
static void NAME(pack)(const struct sim_gemm *g, const T *a, int lda, int row, int rows, int depth, int depths,
                       NAME(strip) * packed) {
  const size_t ld = (size_t)lda;
  for (int p = 0; p < depths; p++) {
    packed[p] = (NAME(strip)){0};
    for (int i = 0; i < rows; i++) {
      const size_t r = (size_t)(row + i), c = (size_t)(depth + p);
      packed[p][i] = g->transpose_a ? a[r * ld + c] : a[c * ld + r];
    }
  }
}

// With alpha 0, neither A nor B is read.
static void NAME(multiply)(const struct sim_gemm *g, const T *a, int lda, const T *b, int ldb, T *c, int ldc) {
  NAME(strip) packed[DEPTH];
  const T alpha = (T)g->alpha, beta = (T)g->beta;
  const size_t b_row = g->transpose_b ? (size_t)ldb : 1, b_column = g->transpose_b ? 1 : (size_t)ldb;
  for (int j = 0; j < g->n; j++)
    for (int i = 0; i < g->m; i++) {
      T *out = &c[(size_t)j * (size_t)ldc + (size_t)i];
      *out = beta == 0 ? 0 : beta * *out;
    }
  for (int depth = 0; alpha != 0 && depth < g->k; depth += DEPTH)
    for (int row = 0; row < g->m; row += STRIP) {
      const int depths = least(DEPTH, g->k - depth), rows = least(STRIP, g->m - row);
      NAME(pack)(g, a, lda, row, rows, depth, depths, packed);
      for (int j = 0; j < g->n; j++) {
        const T *factors = b + (size_t)depth * b_row + (size_t)j * b_column;
        T *out = c + (size_t)j * (size_t)ldc + (size_t)row;
        NAME(strip) sum = {0};
        for (int p = 0; p < depths; p++)
          sum += packed[p] * factors[(size_t)p * b_row];
        for (int i = 0; i < rows; i++)
          out[i] += alpha * sum[i];
      }
    }
}

#undef T
#undef NAME
