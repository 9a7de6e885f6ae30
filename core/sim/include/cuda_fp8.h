// SPDX-License-Identifier: MIT
// Floating point in eight bits: e4m3 (no infinities, up to 448) and e5m2 (up to 57,344), as numbers to convert; C++ only.
#ifndef CUDASIM_CUDA_FP8_H
#define CUDASIM_CUDA_FP8_H
#define __CUDA_FP8_H__ // what helper headers ask for

#include <math.h>

#include "cuda_bf16.h"
#include "cuda_fp16.h"
#include "vector_functions.h"

typedef unsigned char __nv_fp8_storage_t;
typedef unsigned short __nv_fp8x2_storage_t;
typedef unsigned int __nv_fp8x4_storage_t;
typedef enum __nv_saturation_t { __NV_NOSAT, __NV_SATFINITE } __nv_saturation_t;
typedef enum __nv_fp8_interpretation_t { __NV_E4M3, __NV_E5M2 } __nv_fp8_interpretation_t;

// To nearest, ties to even; what is too large becomes the largest number, or (NOSAT) infinity, which e4m3 has as a NaN.
static inline __nv_fp8_storage_t __nv_cvt_double_to_fp8(double x, __nv_saturation_t saturation,
                                                        __nv_fp8_interpretation_t kind) {
  const int mantissa_bits = kind == __NV_E4M3 ? 3 : 2, least_exponent = kind == __NV_E4M3 ? -6 : -14;
  const double largest = kind == __NV_E4M3 ? 448 : 57344;
  const unsigned int sign = signbit(x) ? 0x80u : 0, nan = 0x7fu, largest_bits = kind == __NV_E4M3 ? 0x7eu : 0x7bu;
  const unsigned int infinity = kind == __NV_E4M3 ? 0x7fu : 0x7cu;
  if (isnan(x))
    return static_cast<__nv_fp8_storage_t>(nan);
  const double magnitude = fabs(x);
  int exponent = 0;
  (void)frexp(magnitude, &exponent); // magnitude = f 2^exponent, f in [0.5, 1)
  exponent = exponent - 1 < least_exponent ? least_exponent : exponent - 1;
  const double step = ldexp(1.0, exponent - mantissa_bits), rounded = nearbyint(magnitude / step) * step;
  if (magnitude > largest && (saturation == __NV_SATFINITE || rounded <= largest))
    return static_cast<__nv_fp8_storage_t>(sign | largest_bits);
  if (rounded > largest)
    return static_cast<__nv_fp8_storage_t>(sign | infinity);
  if (rounded == 0)
    return static_cast<__nv_fp8_storage_t>(sign);
  (void)frexp(rounded, &exponent);
  exponent--;
  if (exponent < least_exponent) // subnormal
    return static_cast<__nv_fp8_storage_t>(sign | static_cast<unsigned int>(rounded / step));
  const unsigned int mantissa =
      static_cast<unsigned int>(ldexp(rounded, mantissa_bits - exponent)) - (1u << mantissa_bits);
  return static_cast<__nv_fp8_storage_t>(
      sign | static_cast<unsigned int>(exponent - least_exponent + 1) << mantissa_bits | mantissa);
}
static inline __nv_fp8_storage_t __nv_cvt_float_to_fp8(float x, __nv_saturation_t saturation,
                                                       __nv_fp8_interpretation_t kind) {
  return __nv_cvt_double_to_fp8(static_cast<double>(x), saturation, kind);
}
static inline __nv_fp8_storage_t __nv_cvt_halfraw_to_fp8(__half_raw x, __nv_saturation_t saturation,
                                                         __nv_fp8_interpretation_t kind) {
  return __nv_cvt_float_to_fp8(cudasim_half_to_float(x.x), saturation, kind);
}
static inline __nv_fp8x2_storage_t __nv_cvt_float2_to_fp8x2(float2 x, __nv_saturation_t saturation,
                                                            __nv_fp8_interpretation_t kind) {
  return static_cast<__nv_fp8x2_storage_t>(__nv_cvt_float_to_fp8(x.x, saturation, kind) |
                                           __nv_cvt_float_to_fp8(x.y, saturation, kind) << 8);
}

// Exact.
static inline float cudasim_fp8_to_float(__nv_fp8_storage_t x, __nv_fp8_interpretation_t kind) {
  const int mantissa_bits = kind == __NV_E4M3 ? 3 : 2, least_exponent = kind == __NV_E4M3 ? -6 : -14;
  const int exponent = (x & 0x7f) >> mantissa_bits, mantissa = x & ((1 << mantissa_bits) - 1);
  float value;
  if (kind == __NV_E4M3 ? (x & 0x7f) == 0x7f : exponent == 31 && mantissa)
    return NAN;
  if (kind == __NV_E5M2 && exponent == 31)
    value = INFINITY;
  else if (exponent == 0)
    value = ldexpf(static_cast<float>(mantissa), least_exponent - mantissa_bits);
  else
    value = ldexpf(static_cast<float>(mantissa + (1 << mantissa_bits)), exponent - 1 + least_exponent - mantissa_bits);
  return x & 0x80 ? -value : value;
}
static inline __half_raw __nv_cvt_fp8_to_halfraw(__nv_fp8_storage_t x, __nv_fp8_interpretation_t kind) {
  __half_raw half;
  half.x = cudasim_float_to_half(cudasim_fp8_to_float(x, kind));
  return half;
}

#define CUDASIM_FP8(name, KIND)                                                                                        \
  struct name {                                                                                                        \
    __nv_fp8_storage_t __x;                                                                                            \
    name(void) = default;                                                                                              \
    explicit name(float x) : __x(__nv_cvt_float_to_fp8(x, __NV_SATFINITE, KIND)) {                                     \
    }                                                                                                                  \
    explicit name(double x) : __x(__nv_cvt_double_to_fp8(x, __NV_SATFINITE, KIND)) {                                   \
    }                                                                                                                  \
    explicit name(__half x) : name(x.to_float()) {                                                                     \
    }                                                                                                                  \
    explicit name(__nv_bfloat16 x) : name(static_cast<float>(x)) {                                                     \
    }                                                                                                                  \
    explicit name(int x) : name(static_cast<double>(x)) {                                                              \
    }                                                                                                                  \
    explicit operator float(void) const {                                                                              \
      return cudasim_fp8_to_float(__x, KIND);                                                                          \
    }                                                                                                                  \
    explicit operator double(void) const {                                                                             \
      return cudasim_fp8_to_float(__x, KIND);                                                                          \
    }                                                                                                                  \
    explicit operator __half(void) const {                                                                             \
      return __half(cudasim_fp8_to_float(__x, KIND));                                                                  \
    }                                                                                                                  \
    explicit operator __nv_bfloat16(void) const {                                                                      \
      return __nv_bfloat16(cudasim_fp8_to_float(__x, KIND));                                                           \
    }                                                                                                                  \
  };                                                                                                                   \
  struct __align__(2) cudasim_##name##_x2 {                                                                            \
    __nv_fp8x2_storage_t __x;                                                                                          \
    cudasim_##name##_x2(void) = default;                                                                               \
    explicit cudasim_##name##_x2(float2 v)                                                                             \
        : __x(static_cast<__nv_fp8x2_storage_t>(name(v.x).__x | name(v.y).__x << 8)) {                                 \
    }                                                                                                                  \
    explicit cudasim_##name##_x2(__half2 v) : cudasim_##name##_x2(make_float2(v.x.to_float(), v.y.to_float())) {       \
    }                                                                                                                  \
    explicit cudasim_##name##_x2(__nv_bfloat162 v)                                                                     \
        : cudasim_##name##_x2(make_float2(v.x.to_float(), v.y.to_float())) {                                           \
    }                                                                                                                  \
    explicit operator float2(void) const {                                                                             \
      return make_float2(cudasim_fp8_to_float(static_cast<__nv_fp8_storage_t>(__x), KIND),                             \
                         cudasim_fp8_to_float(static_cast<__nv_fp8_storage_t>(__x >> 8), KIND));                       \
    }                                                                                                                  \
    explicit operator __half2(void) const {                                                                            \
      const float2 v = static_cast<float2>(*this);                                                                     \
      return __half2(__half(v.x), __half(v.y));                                                                        \
    }                                                                                                                  \
  };                                                                                                                   \
  struct __align__(4) cudasim_##name##_x4 {                                                                            \
    __nv_fp8x4_storage_t __x;                                                                                          \
    cudasim_##name##_x4(void) = default;                                                                               \
    explicit cudasim_##name##_x4(float4 v) {                                                                           \
      const float part[4] = {v.x, v.y, v.z, v.w};                                                                      \
      __x = 0;                                                                                                         \
      for (int i = 0; i < 4; i++)                                                                                      \
        __x |= static_cast<unsigned int>(name(part[i]).__x) << 8 * i;                                                  \
    }                                                                                                                  \
    explicit cudasim_##name##_x4(__half2 low, __half2 high)                                                            \
        : cudasim_##name##_x4(make_float4(low.x.to_float(), low.y.to_float(), high.x.to_float(), high.y.to_float())) { \
    }                                                                                                                  \
    explicit cudasim_##name##_x4(__nv_bfloat162 low, __nv_bfloat162 high)                                              \
        : cudasim_##name##_x4(make_float4(low.x.to_float(), low.y.to_float(), high.x.to_float(), high.y.to_float())) { \
    }                                                                                                                  \
    explicit operator float4(void) const {                                                                             \
      return make_float4(cudasim_fp8_to_float(static_cast<__nv_fp8_storage_t>(__x), KIND),                             \
                         cudasim_fp8_to_float(static_cast<__nv_fp8_storage_t>(__x >> 8), KIND),                        \
                         cudasim_fp8_to_float(static_cast<__nv_fp8_storage_t>(__x >> 16), KIND),                       \
                         cudasim_fp8_to_float(static_cast<__nv_fp8_storage_t>(__x >> 24), KIND));                      \
    }                                                                                                                  \
  };
CUDASIM_FP8(__nv_fp8_e4m3, __NV_E4M3)
CUDASIM_FP8(__nv_fp8_e5m2, __NV_E5M2)
#undef CUDASIM_FP8
typedef cudasim___nv_fp8_e4m3_x2 __nv_fp8x2_e4m3;
typedef cudasim___nv_fp8_e5m2_x2 __nv_fp8x2_e5m2;
typedef cudasim___nv_fp8_e4m3_x4 __nv_fp8x4_e4m3;
typedef cudasim___nv_fp8_e5m2_x4 __nv_fp8x4_e5m2;

#endif
