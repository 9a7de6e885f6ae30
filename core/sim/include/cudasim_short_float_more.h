// SPDX-License-Identifier: MIT
// What __half and __nv_bfloat16 have besides: more functions, all of them for pairs, comparisons by masks. For programs of others.
#ifndef CUDASIM_SHORT_FLOAT_MORE_H
#define CUDASIM_SHORT_FLOAT_MORE_H

#include "cudasim_short_float.h"

// A function of one number by float's, and the same for both of a pair.
#define CUDASIM_SHORT_FLOAT_FUNCTION(T, T2, name, value)                                                               \
  static inline T h##name(T number) {                                                                                  \
    const float a = number.to_float();                                                                                 \
    return T::from_float(value);                                                                                       \
  }                                                                                                                    \
  CUDASIM_SHORT_FLOAT_BOTH(T, T2, name)
#define CUDASIM_SHORT_FLOAT_BOTH(T, T2, name)                                                                          \
  static inline T2 h2##name(T2 a) {                                                                                    \
    return T2(h##name(a.x), h##name(a.y));                                                                             \
  }
// Arithmetic whose result lies in 0 .. 1, and NaN becomes 0; or is not below 0.
#define CUDASIM_SHORT_FLOAT_SATURATED(T, T2, name)                                                                     \
  static inline T __h##name##_sat(T a, T b) {                                                                          \
    return T::from_float(fminf(fmaxf(__h##name(a, b).to_float(), 0.0f), 1.0f));                                        \
  }                                                                                                                    \
  static inline T2 __h##name##2_sat(T2 a, T2 b) {                                                                      \
    return T2(__h##name##_sat(a.x, b.x), __h##name##_sat(a.y, b.y));                                                   \
  }                                                                                                                    \
  static inline T __h##name##_rn(T a, T b) {                                                                           \
    return __h##name(a, b);                                                                                            \
  }                                                                                                                    \
  static inline T2 __h##name##2_rn(T2 a, T2 b) {                                                                       \
    return __h##name##2(a, b);                                                                                         \
  }
// Comparisons: of pairs, as 1 and 0, as masks, of both at once; with `u`, true where one of the two is NaN.
#define CUDASIM_SHORT_FLOAT_COMPARISON(T, T2, name)                                                                    \
  static inline bool __h##name##u(T a, T b) {                                                                          \
    return __hisnan(a) || __hisnan(b) || __h##name(a, b);                                                              \
  }                                                                                                                    \
  CUDASIM_SHORT_FLOAT_COMPARED(T, T2, name)                                                                            \
  CUDASIM_SHORT_FLOAT_COMPARED(T, T2, name##u)
#define CUDASIM_SHORT_FLOAT_COMPARED(T, T2, name)                                                                      \
  static inline T2 __h##name##2(T2 a, T2 b) {                                                                          \
    return T2(T(__h##name(a.x, b.x) ? 1.0f : 0.0f), T(__h##name(a.y, b.y) ? 1.0f : 0.0f));                             \
  }                                                                                                                    \
  static inline unsigned int __h##name##2_mask(T2 a, T2 b) {                                                           \
    return (__h##name(a.x, b.x) ? 0xffffu : 0) | (__h##name(a.y, b.y) ? 0xffff0000u : 0);                              \
  }                                                                                                                    \
  static inline bool __hb##name##2(T2 a, T2 b) {                                                                       \
    return __h##name(a.x, b.x) && __h##name(a.y, b.y);                                                                 \
  }
#define CUDASIM_SHORT_FLOAT_OPERATOR(T2, sign)                                                                         \
  static inline T2 &operator sign##=(T2 &a, const T2 &b) {                                                             \
    return a = a sign b;                                                                                               \
  }

#define CUDASIM_SHORT_FLOAT_MORE(T, T2)                                                                                \
  CUDASIM_SHORT_FLOAT_FUNCTION(T, T2, exp2, exp2f(a))                                                                  \
  CUDASIM_SHORT_FLOAT_FUNCTION(T, T2, exp10, (float)pow(10.0, (double)a))                                              \
  CUDASIM_SHORT_FLOAT_FUNCTION(T, T2, log2, log2f(a))                                                                  \
  CUDASIM_SHORT_FLOAT_FUNCTION(T, T2, log10, log10f(a))                                                                \
  CUDASIM_SHORT_FLOAT_FUNCTION(T, T2, trunc, truncf(a))                                                                \
  CUDASIM_SHORT_FLOAT_FUNCTION(T, T2, tanh_approx, tanhf(a))                                                           \
  CUDASIM_SHORT_FLOAT_BOTH(T, T2, sqrt)                                                                                \
  CUDASIM_SHORT_FLOAT_BOTH(T, T2, rsqrt)                                                                               \
  CUDASIM_SHORT_FLOAT_BOTH(T, T2, rcp)                                                                                 \
  CUDASIM_SHORT_FLOAT_BOTH(T, T2, exp)                                                                                 \
  CUDASIM_SHORT_FLOAT_BOTH(T, T2, log)                                                                                 \
  CUDASIM_SHORT_FLOAT_BOTH(T, T2, sin)                                                                                 \
  CUDASIM_SHORT_FLOAT_BOTH(T, T2, cos)                                                                                 \
  CUDASIM_SHORT_FLOAT_BOTH(T, T2, tanh)                                                                                \
  CUDASIM_SHORT_FLOAT_BOTH(T, T2, floor)                                                                               \
  CUDASIM_SHORT_FLOAT_BOTH(T, T2, ceil)                                                                                \
  CUDASIM_SHORT_FLOAT_BOTH(T, T2, rint)                                                                                \
  CUDASIM_SHORT_FLOAT_SATURATED(T, T2, add)                                                                            \
  CUDASIM_SHORT_FLOAT_SATURATED(T, T2, sub)                                                                            \
  CUDASIM_SHORT_FLOAT_SATURATED(T, T2, mul)                                                                            \
  CUDASIM_SHORT_FLOAT_COMPARISON(T, T2, eq)                                                                            \
  CUDASIM_SHORT_FLOAT_COMPARISON(T, T2, ne)                                                                            \
  CUDASIM_SHORT_FLOAT_COMPARISON(T, T2, lt)                                                                            \
  CUDASIM_SHORT_FLOAT_COMPARISON(T, T2, le)                                                                            \
  CUDASIM_SHORT_FLOAT_COMPARISON(T, T2, gt)                                                                            \
  CUDASIM_SHORT_FLOAT_COMPARISON(T, T2, ge)                                                                            \
  CUDASIM_SHORT_FLOAT_OPERATOR(T2, +)                                                                                  \
  CUDASIM_SHORT_FLOAT_OPERATOR(T2, -)                                                                                  \
  CUDASIM_SHORT_FLOAT_OPERATOR(T2, *)                                                                                  \
  CUDASIM_SHORT_FLOAT_OPERATOR(T2, /)                                                                                  \
  static inline T2 operator-(const T2 &a) {                                                                            \
    return __hneg2(a);                                                                                                 \
  }                                                                                                                    \
  static inline bool operator==(const T2 &a, const T2 &b) {                                                            \
    return __hbeq2(a, b);                                                                                              \
  }                                                                                                                    \
  static inline bool operator!=(const T2 &a, const T2 &b) {                                                            \
    return __hbneu2(a, b);                                                                                             \
  }                                                                                                                    \
  static inline T2 __habs2(T2 a) {                                                                                     \
    return T2(__habs(a.x), __habs(a.y));                                                                               \
  }                                                                                                                    \
  static inline T2 __hisnan2(T2 a) {                                                                                   \
    return T2(T(__hisnan(a.x) ? 1.0f : 0.0f), T(__hisnan(a.y) ? 1.0f : 0.0f));                                         \
  }                                                                                                                    \
  static inline T __hfma_relu(T a, T b, T c) {                                                                         \
    const T value = __hfma(a, b, c);                                                                                   \
    return value.to_float() < 0 ? T(0.0f) : value;                                                                     \
  }                                                                                                                    \
  static inline T2 __hfma2_relu(T2 a, T2 b, T2 c) {                                                                    \
    return T2(__hfma_relu(a.x, b.x, c.x), __hfma_relu(a.y, b.y, c.y));                                                 \
  }                                                                                                                    \
  static inline T __hfma_sat(T a, T b, T c) {                                                                          \
    return T::from_float(fminf(fmaxf(__hfma(a, b, c).to_float(), 0.0f), 1.0f));                                        \
  }                                                                                                                    \
  static inline T2 __hfma2_sat(T2 a, T2 b, T2 c) {                                                                     \
    return T2(__hfma_sat(a.x, b.x, c.x), __hfma_sat(a.y, b.y, c.y));                                                   \
  }                                                                                                                    \
  static inline T __hmax_nan(T a, T b) {                                                                               \
    return __hisnan(a) ? a : __hisnan(b) ? b : __hmax(a, b);                                                           \
  }                                                                                                                    \
  static inline T __hmin_nan(T a, T b) {                                                                               \
    return __hisnan(a) ? a : __hisnan(b) ? b : __hmin(a, b);                                                           \
  }                                                                                                                    \
  static inline T2 __hmax2_nan(T2 a, T2 b) {                                                                           \
    return T2(__hmax_nan(a.x, b.x), __hmax_nan(a.y, b.y));                                                             \
  }                                                                                                                    \
  static inline T2 __hmin2_nan(T2 a, T2 b) {                                                                           \
    return T2(__hmin_nan(a.x, b.x), __hmin_nan(a.y, b.y));                                                             \
  }                                                                                                                    \
  static inline T2 __lowhigh2highlow(T2 a) {                                                                           \
    return T2(a.y, a.x);                                                                                               \
  }

#endif
