// SPDX-License-Identifier: MIT
// Sums, products and maxima of contiguous runs on the CPU, in explicit vectors: a compiler may not reorder the terms of a
// floating sum by itself. The order depends on n alone.
#ifndef FERRY_OP_REDUCE_CPU_H
#define FERRY_OP_REDUCE_CPU_H

#include "op/kernel/vector.h"
#include <stdint.h>

// The order of the terms is that of four running sums of 64 bytes on every processor: each is kept in as many registers as it needs.
// (One vector of 64 bytes in the source would be kept in memory where registers are shorter.)
enum { FY_SUM_BYTES = 64, FY_SUM_VECTORS = 4 * FY_SUM_BYTES / FY_VECTOR_BYTES, FY_SUM_QUARTER = FY_SUM_VECTORS / 4 };

typedef float FyFloats __attribute__((vector_size(FY_VECTOR_BYTES), aligned(4), may_alias));
typedef double FyDoubles __attribute__((vector_size(FY_VECTOR_BYTES), aligned(8), may_alias));

// NAME(x, y, n): the sum of TERM(i) over i in [0, n). TERM makes a vector of V or, for the tail, one T.
// NAME_fold(s): the sum of all lanes, as a tree in double.
#define FY_DEFINE_VECTOR_SUM_(NAME, T, V, TERM)                                                                        \
  static inline double NAME##_fold(const V *s) {                                                                       \
    enum { WIDTH = FY_SUM_BYTES / sizeof(T), LANES = sizeof(V) / sizeof(T), HALF = WIDTH / 2 };                        \
    T lane[WIDTH];                                                                                                     \
    double sum[HALF];                                                                                                  \
    for (int p = 0; p < FY_SUM_QUARTER; p++)                                                                           \
      *(V *)(lane + p * LANES) =                                                                                       \
          (s[p] + s[p + FY_SUM_QUARTER]) + (s[p + 2 * FY_SUM_QUARTER] + s[p + 3 * FY_SUM_QUARTER]);                    \
    for (int j = 0; j < HALF; j++)                                                                                     \
      sum[j] = (double)lane[j] + (double)lane[j + HALF];                                                               \
    for (int j = 0; HALF == 8 && j < 4; j++)                                                                           \
      sum[j] += sum[j + HALF / 2];                                                                                     \
    return (sum[0] + sum[2]) + (sum[1] + sum[3]);                                                                      \
  }                                                                                                                    \
  static inline double NAME(const T *x, const T *y, int64_t n) {                                                       \
    enum { WIDTH = FY_SUM_BYTES / sizeof(T), LANES = sizeof(V) / sizeof(T) };                                          \
    V s[FY_SUM_VECTORS] = {{0}};                                                                                       \
    int64_t i = 0;                                                                                                     \
    (void)y;                                                                                                           \
    for (; i + 4 * WIDTH <= n; i += 4 * WIDTH)                                                                         \
      for (int p = 0; p < FY_SUM_VECTORS; p++)                                                                         \
        s[p] += TERM(V, i + p * LANES);                                                                                \
    for (; i + WIDTH <= n; i += WIDTH)                                                                                 \
      for (int p = 0; p < FY_SUM_QUARTER; p++)                                                                         \
        s[p] += TERM(V, i + p * LANES);                                                                                \
    double sum = NAME##_fold(s);                                                                                       \
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
FY_DEFINE_VECTOR_SUM_(fy_sum_float_block, float, FyFloats, FY_TERM_) // y is NULL
FY_DEFINE_VECTOR_SUM_(fy_sum_double_block, double, FyDoubles, FY_TERM_)
FY_DEFINE_SUM_(fy_dot_float, float, FyFloats, FY_TERM_PRODUCT_)
FY_DEFINE_SUM_(fy_dot_double, double, FyDoubles, FY_TERM_PRODUCT_)
FY_DEFINE_SUM_(fy_squared_distance_float, float, FyFloats, FY_TERM_SQUARE_)
FY_DEFINE_SUM_(fy_squared_distance_double, double, FyDoubles, FY_TERM_SQUARE_)

// fy_sum_T_pair: the sums of x[0..n) and y[0..n), each as fy_sum_T_block gives it. Two places of the memory are read in turn: the processor
// fetches ahead for both, and so has more lines on their way than for one.
// fy_sum_T: the sum of x[0..n) (y is NULL), its blocks added in their order. Blocks that are read as pairs lie up to half of FY_SUM_GROUP apart.
enum { FY_SUM_GROUP = 64 };
#define FY_DEFINE_LONG_SUM_(T, V)                                                                                      \
  static inline void fy_sum_##T##_pair(const T *x, const T *y, int64_t n, double *of_x, double *of_y) {                \
    enum { LANES = sizeof(V) / sizeof(T), STEP = FY_SUM_VECTORS * LANES };                                             \
    if (n % STEP) {                                                                                                    \
      *of_x = fy_sum_##T##_block(x, NULL, n);                                                                          \
      *of_y = fy_sum_##T##_block(y, NULL, n);                                                                          \
      return;                                                                                                          \
    }                                                                                                                  \
    V s[FY_SUM_VECTORS] = {{0}}, t[FY_SUM_VECTORS] = {{0}};                                                            \
    for (int64_t i = 0; i < n; i += STEP) {                                                                            \
      for (int p = 0; p < FY_SUM_VECTORS; p++)                                                                         \
        s[p] += *(const V *)(x + i + p * LANES);                                                                       \
      for (int p = 0; p < FY_SUM_VECTORS; p++)                                                                         \
        t[p] += *(const V *)(y + i + p * LANES);                                                                       \
    }                                                                                                                  \
    *of_x = fy_sum_##T##_block_fold(s);                                                                                \
    *of_y = fy_sum_##T##_block_fold(t);                                                                                \
  }                                                                                                                    \
  static inline double fy_sum_##T(const T *x, const T *y, int64_t n) {                                                 \
    double sum = 0, part[FY_SUM_GROUP];                                                                                \
    int64_t i = 0;                                                                                                     \
    (void)y;                                                                                                           \
    while (n - i >= 2 * FY_SUM_BLOCK) {                                                                                \
      int64_t half = (n - i) / (2 * FY_SUM_BLOCK);                                                                     \
      half = half < FY_SUM_GROUP / 2 ? half : FY_SUM_GROUP / 2;                                                        \
      for (int64_t b = 0; b < half; b++, i += FY_SUM_BLOCK)                                                            \
        fy_sum_##T##_pair(x + i, x + i + half * FY_SUM_BLOCK, FY_SUM_BLOCK, &part[b], &part[half + b]);                \
      for (int64_t b = 0; b < 2 * half; b++)                                                                           \
        sum += part[b];                                                                                                \
      i += half * FY_SUM_BLOCK;                                                                                        \
    }                                                                                                                  \
    for (; i < n; i += FY_SUM_BLOCK)                                                                                   \
      sum += fy_sum_##T##_block(x + i, NULL, n - i < FY_SUM_BLOCK ? n - i : FY_SUM_BLOCK);                             \
    return sum;                                                                                                        \
  }
FY_DEFINE_LONG_SUM_(float, FyFloats)
FY_DEFINE_LONG_SUM_(double, FyDoubles)

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
