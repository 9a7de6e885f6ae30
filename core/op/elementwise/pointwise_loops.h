// SPDX-License-Identifier: MIT
// Inner loops (FyLoop) of pointwise ops, one per dtype. Where every stride is 1, or one operand is a single value, the
// compiler vectorizes. `omp simd` states what the dispatcher guarantees: an output is an input itself or apart from it.
#ifndef FERRY_OP_POINTWISE_LOOPS_H
#define FERRY_OP_POINTWISE_LOOPS_H

#include "op/elementwise/pointwise.h"
#include "op/elementwise/pointwise_math.h"
#include "tensor/half.h"

#define FY_SIMD _Pragma("omp simd")
#ifdef __clang__
#pragma clang diagnostic ignored "-Wpass-failed" // where a loop calls libm it stays scalar
#endif

// out[i] = EXPRESSION of x.
#define FY_UNARY_LOOP(NAME, R, T, EXPRESSION)                                                                          \
  static void NAME(char *const *data, const int64_t *stride, int64_t n, const void *context) {                         \
    R *out = (R *)(void *)data[0];                                                                                     \
    const T *in = (const T *)(const void *)data[1];                                                                    \
    const int64_t to = stride[0], from = stride[1];                                                                    \
    (void)context;                                                                                                     \
    if (to == 1 && from == 1) {                                                                                        \
      FY_SIMD for (int64_t i = 0; i < n; i++) {                                                                        \
        const T x = in[i];                                                                                             \
        out[i] = (R)(EXPRESSION);                                                                                      \
      }                                                                                                                \
    } else {                                                                                                           \
      for (int64_t i = 0; i < n; i++) {                                                                                \
        const T x = in[i * from];                                                                                      \
        out[i * to] = (R)(EXPRESSION);                                                                                 \
      }                                                                                                                \
    }                                                                                                                  \
  }

// out[i] = EXPRESSION of x and y.
#define FY_BINARY_LOOP(NAME, R, T, EXPRESSION)                                                                         \
  static void NAME(char *const *data, const int64_t *stride, int64_t n, const void *context) {                         \
    R *out = (R *)(void *)data[0];                                                                                     \
    const T *a = (const T *)(const void *)data[1], *b = (const T *)(const void *)data[2];                              \
    const int64_t to = stride[0], from_a = stride[1], from_b = stride[2];                                              \
    (void)context;                                                                                                     \
    if (to == 1 && from_a == 1 && from_b == 1) {                                                                       \
      FY_SIMD for (int64_t i = 0; i < n; i++) {                                                                        \
        const T x = a[i], y = b[i];                                                                                    \
        out[i] = (R)(EXPRESSION);                                                                                      \
      }                                                                                                                \
    } else if (to == 1 && from_a == 1 && from_b == 0) {                                                                \
      const T y = *b;                                                                                                  \
      FY_SIMD for (int64_t i = 0; i < n; i++) {                                                                        \
        const T x = a[i];                                                                                              \
        out[i] = (R)(EXPRESSION);                                                                                      \
      }                                                                                                                \
    } else if (to == 1 && from_a == 0 && from_b == 1) {                                                                \
      const T x = *a;                                                                                                  \
      FY_SIMD for (int64_t i = 0; i < n; i++) {                                                                        \
        const T y = b[i];                                                                                              \
        out[i] = (R)(EXPRESSION);                                                                                      \
      }                                                                                                                \
    } else {                                                                                                           \
      for (int64_t i = 0; i < n; i++) {                                                                                \
        const T x = a[i * from_a], y = b[i * from_b];                                                                  \
        out[i * to] = (R)(EXPRESSION);                                                                                 \
      }                                                                                                                \
    }                                                                                                                  \
  }

// The loops of OP for a list of types, named loop_OP_<suffix>, and the tables of them by dtype.
#define FY_UNARY_LOOPS_(S, T, OP) FY_UNARY_LOOP(loop_##OP##_##S, T, T, fy_##OP##_##S(x))
#define FY_BINARY_LOOPS_(S, T, OP) FY_BINARY_LOOP(loop_##OP##_##S, T, T, fy_##OP##_##S(x, y))
// Of bfloat16: fy_OP_bf16, which goes by float32 in registers, and its loop.
#define FY_BFLOAT16_UNARY(OP)                                                                                          \
  FY_MATH uint16_t fy_##OP##_bf16(uint16_t x) {                                                                        \
    return fy_float_to_bfloat16(fy_##OP##_f32(fy_bfloat16_to_float(x)));                                               \
  }                                                                                                                    \
  FY_UNARY_LOOPS_(bf16, uint16_t, OP)
#define FY_BFLOAT16_BINARY(OP)                                                                                         \
  FY_MATH uint16_t fy_##OP##_bf16(uint16_t x, uint16_t y) {                                                            \
    return fy_float_to_bfloat16(fy_##OP##_f32(fy_bfloat16_to_float(x), fy_bfloat16_to_float(y)));                      \
  }                                                                                                                    \
  FY_BINARY_LOOPS_(bf16, uint16_t, OP)

#define FY_COMPARE_LOOPS_(S, T, OP) FY_BINARY_LOOP(loop_##OP##_##S, bool, T, fy_##OP##_##S(x, y))

#define FY_LOOPS_OF_FLOATS(OP) [FY_FLOAT32] = loop_##OP##_f32, [FY_FLOAT64] = loop_##OP##_f64
#define FY_LOOPS_OF_NUMBERS(OP)                                                                                        \
  FY_LOOPS_OF_FLOATS(OP), [FY_INT64] = loop_##OP##_i64, [FY_INT32] = loop_##OP##_i32, [FY_UINT8] = loop_##OP##_u8
#define FY_LOOPS_OF_ALL(OP) FY_LOOPS_OF_NUMBERS(OP), [FY_BOOL] = loop_##OP##_b8

#define FY_KERNEL(KIND, OP, TABLE, GRAIN)                                                                              \
  static int fy_cpu_##OP(FyLaunch *l) {                                                                                \
    static FyLoop *const loops[FY_DTYPE_COUNT] = {TABLE(OP)};                                                          \
    return fy_pointwise_##KIND(l, loops, GRAIN);                                                                       \
  }

// The same with a loop for bfloat16.
#define FY_BFLOAT16_LOOP(OP) [FY_BFLOAT16] = loop_##OP##_bf16
#define FY_KERNEL_BFLOAT16(KIND, OP, TABLE, GRAIN)                                                                     \
  static int fy_cpu_##OP(FyLaunch *l) {                                                                                \
    static FyLoop *const loops[FY_DTYPE_COUNT] = {TABLE(OP), FY_BFLOAT16_LOOP(OP)};                                    \
    return fy_pointwise_##KIND(l, loops, GRAIN);                                                                       \
  }

#endif
