// SPDX-License-Identifier: MIT
// The order in which the CPU adds the terms of a sum: it is the same on every processor and for every number of threads, so the bits of
// a sum are, too. The order is written down here once more, in plain loops: four running sums of 64 bytes over a block of 4096 terms,
// their lanes as a tree in double, blocks in their order, and the chunks of a long sum in theirs.
//
// run check: FERRY_CUDA=off
// run: OMP_NUM_THREADS=3 FERRY_CUDA=off
#include "core/nn/check.h"
#include "tensor/impl.h"

enum { BLOCK = 4096, CHUNK = 32768, MOST_CHUNKS = 64, SUMS = 4 };

#define DEFINE_ORDER(T)                                                                                                \
  static double block_##T(const T *x, int64_t n) {                                                                     \
    enum { WIDTH = 64 / sizeof(T) };                                                                                   \
    T sum[SUMS][WIDTH] = {{0}};                                                                                        \
    double lane[WIDTH];                                                                                                \
    int64_t i = 0;                                                                                                     \
    for (; i + SUMS * WIDTH <= n; i += SUMS * WIDTH)                                                                   \
      for (int j = 0; j < SUMS * WIDTH; j++)                                                                           \
        sum[j / WIDTH][j % WIDTH] += x[i + j];                                                                         \
    for (; i + WIDTH <= n; i += WIDTH)                                                                                 \
      for (int j = 0; j < WIDTH; j++)                                                                                  \
        sum[0][j] += x[i + j];                                                                                         \
    for (int j = 0; j < WIDTH; j++)                                                                                    \
      lane[j] = (double)(T)((sum[0][j] + sum[1][j]) + (sum[2][j] + sum[3][j]));                                        \
    for (int half = WIDTH / 2; half; half /= 2)                                                                        \
      for (int j = 0; j < half; j++)                                                                                   \
        lane[j] += lane[j + half];                                                                                     \
    for (; i < n; i++)                                                                                                 \
      lane[0] += (double)x[i];                                                                                         \
    return lane[0];                                                                                                    \
  }                                                                                                                    \
  static double run_##T(const T *x, int64_t n) {                                                                       \
    double sum = 0;                                                                                                    \
    for (int64_t i = 0; i < n; i += BLOCK)                                                                             \
      sum += block_##T(x + i, n - i < BLOCK ? n - i : BLOCK);                                                          \
    return sum;                                                                                                        \
  }                                                                                                                    \
  static T whole_##T(const T *x, int64_t n) {                                                                          \
    int64_t chunks = n / CHUNK < 1 ? 1 : n / CHUNK > MOST_CHUNKS ? MOST_CHUNKS : n / CHUNK;                            \
    int64_t chunk = (n + chunks - 1) / chunks;                                                                         \
    double sum = run_##T(x, n < chunk ? n : chunk);                                                                    \
    for (int64_t i = chunk; i < n; i += chunk)                                                                         \
      sum += run_##T(x + i, n - i < chunk ? n - i : chunk);                                                            \
    return (T)sum;                                                                                                     \
  }                                                                                                                    \
  static void check_##T(FyDType dtype, int64_t n) {                                                                    \
    fy_scope {                                                                                                         \
      FyTensor *t = fy_randn(fy_shape(n), .dtype = dtype);                                                             \
      T got = (T)fy_item(fy_sum(t)), want = whole_##T(t->array.data, n);                                               \
      if (memcmp(&got, &want, sizeof want))                                                                            \
        fail_msg("the sum of %lld values is %.17g, expected %.17g", (long long)n, (double)got, (double)want);          \
    }                                                                                                                  \
  }                                                                                                                    \
  static void check_rows_##T(FyDType dtype, int64_t rows, int64_t n) {                                                 \
    fy_scope {                                                                                                         \
      FyTensor *t = fy_randn(fy_shape(rows, n), .dtype = dtype), *sums = fy_sum_dim(t, 1, false);                      \
      for (int64_t r = 0; r < rows; r++) {                                                                             \
        T got = ((const T *)sums->array.data)[r], want = (T)run_##T((const T *)t->array.data + r * n, n);              \
        if (memcmp(&got, &want, sizeof want))                                                                          \
          fail_msg("the sum of row %lld of (%lld, %lld) is %.17g, expected %.17g", (long long)r, (long long)rows,      \
                   (long long)n, (double)got, (double)want);                                                           \
      }                                                                                                                \
    }                                                                                                                  \
  }
DEFINE_ORDER(float)
DEFINE_ORDER(double)

static void test_one_sum(void **state) {
  (void)state;
  const int64_t sizes[] = {1,    7,     16,    63,    64,    100,    4095,   4096,   4097,   8191,   8192,
                           8193, 12288, 20000, 32768, 65535, 262144, 262145, 300000, 530000, 2200001};
  fy_manual_seed(1);
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
    check_float(FY_FLOAT32, sizes[i]);
    check_double(FY_FLOAT64, sizes[i]);
  }
}

static void test_rows(void **state) {
  (void)state;
  const int64_t rows[] = {16, 17, 64, 1030}, lengths[] = {16, 48, 64, 65, 256, 1000, 1024, 4096};
  fy_manual_seed(2);
  for (int r = 0; r < 4; r++)
    for (int l = 0; l < 8; l++) {
      check_rows_float(FY_FLOAT32, rows[r], lengths[l]);
      check_rows_double(FY_FLOAT64, rows[r], lengths[l]);
    }
  check_rows_float(FY_FLOAT32, 20, 9000); // longer than a block
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_one_sum), cmocka_unit_test(test_rows)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
