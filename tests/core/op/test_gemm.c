// SPDX-License-Identifier: MIT
// Matrix products on the CPU: every edge of strips, panels and blocks against a plain loop, and the same bits however a product is cut.
//
// run: FERRY_CUDA=off
#include "core/nn/check.h"
#include "base/threads.h"
#include "op/launch.h"
#include "op/product/gemm.h"
#include <stdlib.h>
#include <string.h>

// op(A) (m, k) and op(B) (k, n), stored with leading dimensions that are longer than a row by `gap`.
typedef struct Product {
  bool trans_a, trans_b;
  int64_t m, n, k, gap;
  double alpha, beta;
  bool threads;
} Product;

// Small whole numbers, whose sums float32 holds exactly in any order.
static double number(int64_t i) {
  return (double)(i * 2654435761u % (1LL << 32) >> 28) - 8;
}

static void put(FyDType dtype, void *to, int64_t i, double x) {
  if (dtype == FY_FLOAT32)
    ((float *)to)[i] = (float)x;
  else if (dtype == FY_FLOAT64)
    ((double *)to)[i] = x;
  else
    ((int32_t *)to)[i] = (int32_t)x;
}

static double get(FyDType dtype, const void *from, int64_t i) {
  return dtype == FY_FLOAT32   ? (double)((const float *)from)[i]
         : dtype == FY_FLOAT64 ? ((const double *)from)[i]
                               : (double)((const int32_t *)from)[i];
}

static void *filled(FyDType dtype, int64_t count, int64_t seed) {
  void *array = malloc((size_t)count * fy_dtype_size(dtype));
  assert_non_null(array);
  for (int64_t i = 0; i < count; i++)
    put(dtype, array, i, number(i + seed));
  return array;
}

static double expected(const Product *p, FyDType dtype, const void *a, int64_t lda, const void *b, int64_t ldb,
                       double c, int64_t i, int64_t j) {
  double sum = 0;
  for (int64_t q = 0; q < p->k; q++)
    sum +=
        get(dtype, a, p->trans_a ? q * lda + i : i * lda + q) * get(dtype, b, p->trans_b ? j * ldb + q : q * ldb + j);
  return p->alpha * sum + (p->beta == 0 ? 0 : p->beta * c);
}

static void check_product(const Product *p, FyDType dtype) {
  const int64_t lda = (p->trans_a ? p->m : p->k) + p->gap, ldb = (p->trans_b ? p->k : p->n) + p->gap,
                ldc = p->n + p->gap;
  void *a = filled(dtype, lda * (p->trans_a ? p->k : p->m), 1), *b = filled(dtype, ldb * (p->trans_b ? p->n : p->k), 2);
  void *c = filled(dtype, ldc * p->m, 3);
  const int status = (p->threads ? fy_gemm : fy_gemm_serial)(dtype, p->trans_a, p->trans_b, p->m, p->n, p->k, p->alpha,
                                                             a, lda, b, ldb, p->beta, c, ldc);
  assert_int_equal(status, FY_LAUNCH_OK);
  for (int64_t i = 0; i < p->m; i++)
    for (int64_t j = 0; j < ldc; j++) {
      const double before = number(i * ldc + j + 3);
      const double wanted = j < p->n ? expected(p, dtype, a, lda, b, ldb, before, i, j) : before;
      if (get(dtype, c, i * ldc + j) != wanted)
        fail_msg("%s, %lld by %lld by %lld, %s%s, gap %lld: C(%lld, %lld) is %g, expected %g", fy_dtype_name(dtype),
                 (long long)p->m, (long long)p->n, (long long)p->k, p->trans_a ? "T" : "N", p->trans_b ? "T" : "N",
                 (long long)p->gap, (long long)i, (long long)j, get(dtype, c, i * ldc + j), wanted);
    }
  free(a);
  free(b);
  free(c);
}

// Sizes on both sides of a strip, of one and two vectors, of GEMM_KC steps, and of what is read where it lies.
static void test_edges(void **state) {
  static const int64_t sizes[][3] = {{2, 2, 1},      {6, 16, 3},    {7, 17, 5},    {12, 32, 8},
                                     {13, 33, 257},  {5, 9, 256},   {25, 8, 300},  {61, 67, 71},
                                     {128, 96, 513}, {96, 601, 40}, {600, 40, 33}, {131, 135, 259}};
  static const FyDType dtypes[] = {FY_FLOAT32, FY_FLOAT64, FY_INT32};
  (void)state;
  for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
    for (int way = 0; way < 16; way++)
      for (size_t d = 0; d < sizeof dtypes / sizeof *dtypes; d++) {
        const Product p = {.trans_a = way & 1,
                           .trans_b = way & 2,
                           .m = sizes[s][0],
                           .n = sizes[s][1],
                           .k = sizes[s][2],
                           .gap = way & 4 ? 600 : 0,
                           .alpha = way & 8 ? -2 : 1,
                           .beta = way & 8 ? 3 : 0,
                           .threads = d != 1};
        check_product(&p, dtypes[d]);
      }
}

// Rows and columns of a product are the product of those rows and columns, to the last bit, whatever the number of threads.
static void test_same_bits(void **state) {
  enum { M = 150, N = 210, K = 700, ROWS = 31, COLUMNS = 45, FIRST_ROW = 17, FIRST_COLUMN = 23 };
  double *a = malloc(sizeof(double) * M * K), *b = malloc(sizeof(double) * K * N), *c = malloc(sizeof(double) * M * N);
  double *d = malloc(sizeof(double) * M * N), *part = malloc(sizeof(double) * ROWS * COLUMNS);
  (void)state;
  for (int64_t i = 0; i < M * K; i++)
    a[i] = number(i) / 3;
  for (int64_t i = 0; i < K * N; i++)
    b[i] = number(i + 7) / 7;
  fy_set_num_threads(1);
  assert_int_equal(fy_gemm(FY_FLOAT64, false, false, M, N, K, 1, a, K, b, N, 0, c, N), FY_LAUNCH_OK);
  fy_set_num_threads(3);
  assert_int_equal(fy_gemm(FY_FLOAT64, false, false, M, N, K, 1, a, K, b, N, 0, d, N), FY_LAUNCH_OK);
  fy_set_num_threads(0);
  assert_memory_equal(c, d, sizeof(double) * M * N);
  assert_int_equal(fy_gemm(FY_FLOAT64, false, false, ROWS, COLUMNS, K, 1, a + FIRST_ROW * K, K, b + FIRST_COLUMN, N, 0,
                           part, COLUMNS),
                   FY_LAUNCH_OK);
  for (int64_t i = 0; i < ROWS; i++)
    assert_memory_equal(part + i * COLUMNS, c + (FIRST_ROW + i) * N + FIRST_COLUMN, sizeof(double) * COLUMNS);
  free(a);
  free(b);
  free(c);
  free(d);
  free(part);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_edges),
      cmocka_unit_test(test_same_bits),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
