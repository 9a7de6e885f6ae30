// SPDX-License-Identifier: MIT
// The C++ arithmetic that __half and __nv_bfloat16 share: computed in float and rounded once, which for + - * / and the
// square root is exact rounding (a float has more than twice the digits).
#ifndef CUDASIM_SHORT_FLOAT_H
#define CUDASIM_SHORT_FLOAT_H

#include "cudasim_atomic.h"
#include "cudasim_half.h"
#include "cudasim_math.h"

// T has members to_float() and from_float(); T2 is a pair {x, y} of them.
#define CUDASIM_SHORT_FLOAT_ARITHMETIC(T)                                                                              \
  static inline T operator+(const T &a, const T &b) {                                                                  \
    return T::from_float(a.to_float() + b.to_float());                                                                 \
  }                                                                                                                    \
  static inline T operator-(const T &a, const T &b) {                                                                  \
    return T::from_float(a.to_float() - b.to_float());                                                                 \
  }                                                                                                                    \
  static inline T operator*(const T &a, const T &b) {                                                                  \
    return T::from_float(a.to_float() * b.to_float());                                                                 \
  }                                                                                                                    \
  static inline T operator/(const T &a, const T &b) {                                                                  \
    return T::from_float(a.to_float() / b.to_float());                                                                 \
  }                                                                                                                    \
  static inline T &operator+=(T &a, const T &b) {                                                                      \
    return a = a + b;                                                                                                  \
  }                                                                                                                    \
  static inline T &operator-=(T &a, const T &b) {                                                                      \
    return a = a - b;                                                                                                  \
  }                                                                                                                    \
  static inline T &operator*=(T &a, const T &b) {                                                                      \
    return a = a * b;                                                                                                  \
  }                                                                                                                    \
  static inline T &operator/=(T &a, const T &b) {                                                                      \
    return a = a / b;                                                                                                  \
  }                                                                                                                    \
  static inline T operator+(const T &a) {                                                                              \
    return a;                                                                                                          \
  }                                                                                                                    \
  static inline T operator-(const T &a) {                                                                              \
    return T::from_float(-a.to_float());                                                                               \
  }                                                                                                                    \
  static inline bool operator==(const T &a, const T &b) {                                                              \
    return a.to_float() == b.to_float();                                                                               \
  }                                                                                                                    \
  static inline bool operator!=(const T &a, const T &b) {                                                              \
    return a.to_float() != b.to_float();                                                                               \
  }                                                                                                                    \
  static inline bool operator<(const T &a, const T &b) {                                                               \
    return a.to_float() < b.to_float();                                                                                \
  }                                                                                                                    \
  static inline bool operator>(const T &a, const T &b) {                                                               \
    return a.to_float() > b.to_float();                                                                                \
  }                                                                                                                    \
  static inline bool operator<=(const T &a, const T &b) {                                                              \
    return a.to_float() <= b.to_float();                                                                               \
  }                                                                                                                    \
  static inline bool operator>=(const T &a, const T &b) {                                                              \
    return a.to_float() >= b.to_float();                                                                               \
  }

#define CUDASIM_SHORT_FLOAT_FUNCTIONS(T)                                                                               \
  static inline T __hadd(T a, T b) {                                                                                   \
    return a + b;                                                                                                      \
  }                                                                                                                    \
  static inline T __hsub(T a, T b) {                                                                                   \
    return a - b;                                                                                                      \
  }                                                                                                                    \
  static inline T __hmul(T a, T b) {                                                                                   \
    return a * b;                                                                                                      \
  }                                                                                                                    \
  static inline T __hdiv(T a, T b) {                                                                                   \
    return a / b;                                                                                                      \
  }                                                                                                                    \
  static inline T __hneg(T a) {                                                                                        \
    return -a;                                                                                                         \
  }                                                                                                                    \
  static inline T __habs(T a) {                                                                                        \
    return T::from_float(fabsf(a.to_float()));                                                                         \
  }                                                                                                                    \
  static inline T __hfma(T a, T b, T c) {                                                                              \
    double exact = (double)a.to_float() * (double)b.to_float() + (double)c.to_float();                                 \
    return T::from_float(cudasim_double_to_float_odd(exact));                                                          \
  }                                                                                                                    \
  static inline bool __heq(T a, T b) {                                                                                 \
    return a == b;                                                                                                     \
  }                                                                                                                    \
  static inline bool __hne(T a, T b) { /* false where one is NaN */                                                    \
    return a < b || a > b;                                                                                             \
  }                                                                                                                    \
  static inline bool __hlt(T a, T b) {                                                                                 \
    return a < b;                                                                                                      \
  }                                                                                                                    \
  static inline bool __hle(T a, T b) {                                                                                 \
    return a <= b;                                                                                                     \
  }                                                                                                                    \
  static inline bool __hgt(T a, T b) {                                                                                 \
    return a > b;                                                                                                      \
  }                                                                                                                    \
  static inline bool __hge(T a, T b) {                                                                                 \
    return a >= b;                                                                                                     \
  }                                                                                                                    \
  static inline bool __hisnan(T a) {                                                                                   \
    return a != a;                                                                                                     \
  }                                                                                                                    \
  static inline T __hmax(T a, T b) {                                                                                   \
    return T::from_float(fmaxf(a.to_float(), b.to_float()));                                                           \
  }                                                                                                                    \
  static inline T __hmin(T a, T b) {                                                                                   \
    return T::from_float(fminf(a.to_float(), b.to_float()));                                                           \
  }                                                                                                                    \
  static inline T hsqrt(T a) {                                                                                         \
    return T::from_float(sqrtf(a.to_float()));                                                                         \
  }                                                                                                                    \
  static inline T hrsqrt(T a) {                                                                                        \
    return T::from_float(1.0f / sqrtf(a.to_float()));                                                                  \
  }                                                                                                                    \
  static inline T hrcp(T a) {                                                                                          \
    return T::from_float(1.0f / a.to_float());                                                                         \
  }                                                                                                                    \
  static inline T hexp(T a) {                                                                                          \
    return T::from_float(expf(a.to_float()));                                                                          \
  }                                                                                                                    \
  static inline T hlog(T a) {                                                                                          \
    return T::from_float(logf(a.to_float()));                                                                          \
  }                                                                                                                    \
  static inline T hsin(T a) {                                                                                          \
    return T::from_float(sinf(a.to_float()));                                                                          \
  }                                                                                                                    \
  static inline T hcos(T a) {                                                                                          \
    return T::from_float(cosf(a.to_float()));                                                                          \
  }                                                                                                                    \
  static inline T htanh(T a) {                                                                                         \
    return T::from_float(tanhf(a.to_float()));                                                                         \
  }                                                                                                                    \
  static inline T hfloor(T a) {                                                                                        \
    return T::from_float(floorf(a.to_float()));                                                                        \
  }                                                                                                                    \
  static inline T hceil(T a) {                                                                                         \
    return T::from_float(ceilf(a.to_float()));                                                                         \
  }                                                                                                                    \
  static inline T hrint(T a) {                                                                                         \
    return T::from_float(rintf(a.to_float()));                                                                         \
  }                                                                                                                    \
  static inline T atomicAdd(T *address, T value) {                                                                     \
    return cudasim::atomic_update<uint16_t>(address, [=](T old) CUDASIM_UNSEEN { return old + value; });               \
  }

#define CUDASIM_SHORT_FLOAT_PAIRS(T, T2)                                                                               \
  static inline T2 __hadd2(T2 a, T2 b) {                                                                               \
    return T2(a.x + b.x, a.y + b.y);                                                                                   \
  }                                                                                                                    \
  static inline T2 __hsub2(T2 a, T2 b) {                                                                               \
    return T2(a.x - b.x, a.y - b.y);                                                                                   \
  }                                                                                                                    \
  static inline T2 __hmul2(T2 a, T2 b) {                                                                               \
    return T2(a.x * b.x, a.y * b.y);                                                                                   \
  }                                                                                                                    \
  static inline T2 __h2div(T2 a, T2 b) {                                                                               \
    return T2(a.x / b.x, a.y / b.y);                                                                                   \
  }                                                                                                                    \
  static inline T2 __hfma2(T2 a, T2 b, T2 c) {                                                                         \
    return T2(__hfma(a.x, b.x, c.x), __hfma(a.y, b.y, c.y));                                                           \
  }                                                                                                                    \
  static inline T2 __hneg2(T2 a) {                                                                                     \
    return T2(-a.x, -a.y);                                                                                             \
  }                                                                                                                    \
  static inline T2 __hmax2(T2 a, T2 b) {                                                                               \
    return T2(__hmax(a.x, b.x), __hmax(a.y, b.y));                                                                     \
  }                                                                                                                    \
  static inline T2 __hmin2(T2 a, T2 b) {                                                                               \
    return T2(__hmin(a.x, b.x), __hmin(a.y, b.y));                                                                     \
  }                                                                                                                    \
  static inline T2 operator+(const T2 &a, const T2 &b) {                                                               \
    return __hadd2(a, b);                                                                                              \
  }                                                                                                                    \
  static inline T2 operator-(const T2 &a, const T2 &b) {                                                               \
    return __hsub2(a, b);                                                                                              \
  }                                                                                                                    \
  static inline T2 operator*(const T2 &a, const T2 &b) {                                                               \
    return __hmul2(a, b);                                                                                              \
  }                                                                                                                    \
  static inline T2 operator/(const T2 &a, const T2 &b) {                                                               \
    return __h2div(a, b);                                                                                              \
  }                                                                                                                    \
  static inline float __low2float(T2 a) {                                                                              \
    return a.x.to_float();                                                                                             \
  }                                                                                                                    \
  static inline float __high2float(T2 a) {                                                                             \
    return a.y.to_float();                                                                                             \
  }                                                                                                                    \
  static inline T2 atomicAdd(T2 *address, T2 value) {                                                                  \
    return cudasim::atomic_update<uint32_t>(address, [=](T2 old) CUDASIM_UNSEEN { return __hadd2(old, value); });      \
  }

#endif
