// SPDX-License-Identifier: MIT
// Sums, products and maxima of contiguous runs on the CPU, in explicit vectors: a compiler may not reorder the terms of a
// floating sum by itself. The order depends on n alone.
#ifndef FERRY_OP_REDUCE_CPU_H
#define FERRY_OP_REDUCE_CPU_H

#include <stdint.h>

// Aligned as one element is: they load from any address.
typedef float FyFloats __attribute__((vector_size(64), aligned(4), may_alias));
typedef double FyDoubles __attribute__((vector_size(64), aligned(8), may_alias));

// NAME(x, y, n): the sum of TERM(i) over i in [0, n). TERM makes a vector of V or, for the tail, one T.
#define FY_DEFINE_VECTOR_SUM_(NAME, T, V, TERM)                                                                        \
  static inline double NAME(const T *x, const T *y, int64_t n) {                                                       \
    enum { WIDTH = sizeof(V) / sizeof(T) };                                                                            \
    V a = {0}, b = {0}, c = {0}, d = {0};                                                                              \
    int64_t i = 0;                                                                                                     \
    (void)y;                                                                                                           \
    for (; i + 4 * WIDTH <= n; i += 4 * WIDTH) {                                                                       \
      a += TERM(V, i);                                                                                                 \
      b += TERM(V, i + WIDTH);                                                                                         \
      c += TERM(V, i + 2 * WIDTH);                                                                                     \
      d += TERM(V, i + 3 * WIDTH);                                                                                     \
    }                                                                                                                  \
    for (; i + WIDTH <= n; i += WIDTH)                                                                                 \
      a += TERM(V, i);                                                                                                 \
    a = (a + b) + (c + d);                                                                                             \
    double lane[WIDTH];                                                                                                \
    for (int j = 0; j < WIDTH; j++)                                                                                    \
      lane[j] = (double)a[j];                                                                                          \
    for (int half = WIDTH / 2; half; half /= 2) /* not one after the other: each would wait for the one before */      \
      for (int j = 0; j < half; j++)                                                                                   \
        lane[j] += lane[j + half];                                                                                     \
    double sum = lane[0];                                                                                              \
    for (; i < n; i++)                                                                                                 \
      sum += (double)TERM(T, i);                                                                                       \
    return sum;                                                                                                        \
  }
#define FY_TERM_(V, i) (*(const V *)(x + (i)))
#define FY_TERM_PRODUCT_(V, i) (*(const V *)(x + (i)) * *(const V *)(y + (i)))
#define FY_TERM_SQUARE_(V, i)                                                                                          \
  ((*(const V *)(x + (i)) - *(const V *)(y + (i))) * (*(const V *)(x + (i)) - *(const V *)(y + (i))))

// Callers cut long float runs into blocks of this many terms and add the blocks in double.
enum { FY_SUM_BLOCK = 4096 };

#define FY_DEFINE_SUM_(NAME, T, V, TERM)                                                                               \
  FY_DEFINE_VECTOR_SUM_(NAME##_block_, T, V, TERM)                                                                     \
  static inline double NAME(const T *x, const T *y, int64_t n) {                                                       \
    double sum = 0;                                                                                                    \
    for (int64_t i = 0; i < n; i += FY_SUM_BLOCK)                                                                      \
      sum += NAME##_block_(x + i, y ? y + i : y, n - i < FY_SUM_BLOCK ? n - i : FY_SUM_BLOCK);                         \
    return sum;                                                                                                        \
  }
FY_DEFINE_SUM_(fy_sum_float, float, FyFloats, FY_TERM_) // y is NULL
FY_DEFINE_SUM_(fy_sum_double, double, FyDoubles, FY_TERM_)
FY_DEFINE_SUM_(fy_dot_float, float, FyFloats, FY_TERM_PRODUCT_)
FY_DEFINE_SUM_(fy_dot_double, double, FyDoubles, FY_TERM_PRODUCT_)
FY_DEFINE_SUM_(fy_squared_distance_float, float, FyFloats, FY_TERM_SQUARE_)
FY_DEFINE_SUM_(fy_squared_distance_double, double, FyDoubles, FY_TERM_SQUARE_)

// The largest of x[0..n), n > 0. A NaN may or may not win. So many lanes that compilers keep their loop, and vectorize it.
enum { FY_MAX_LANES = 64 };
#define FY_DEFINE_MAX_(T)                                                                                              \
  static inline T fy_max_##T(const T *x, int64_t n) {                                                                  \
    T lane[FY_MAX_LANES], max = x[0];                                                                                  \
    int64_t i = 0;                                                                                                     \
    if (n >= FY_MAX_LANES) {                                                                                           \
      for (int j = 0; j < FY_MAX_LANES; j++)                                                                           \
        lane[j] = x[j];                                                                                                \
      for (i = FY_MAX_LANES; i + FY_MAX_LANES <= n; i += FY_MAX_LANES)                                                 \
        for (int j = 0; j < FY_MAX_LANES; j++)                                                                         \
          lane[j] = x[i + j] > lane[j] ? x[i + j] : lane[j];                                                           \
      for (int half = FY_MAX_LANES / 2; half; half /= 2)                                                               \
        for (int j = 0; j < half; j++)                                                                                 \
          lane[j] = lane[j + half] > lane[j] ? lane[j + half] : lane[j];                                               \
      max = lane[0];                                                                                                   \
    }                                                                                                                  \
    for (; i < n; i++)                                                                                                 \
      max = x[i] > max ? x[i] : max;                                                                                   \
    return max;                                                                                                        \
  }
FY_DEFINE_MAX_(float)
FY_DEFINE_MAX_(double)

#endif
