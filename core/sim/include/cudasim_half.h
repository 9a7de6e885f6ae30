// SPDX-License-Identifier: MIT
// The bits of half and bfloat16 from and to float, rounded to nearest even; C and C++.
#ifndef CUDASIM_HALF_H
#define CUDASIM_HALF_H

#include <stdint.h>
#include <string.h>

static inline uint32_t cudasim_float_bits(float value) {
  uint32_t bits;
  __builtin_memcpy(&bits, &value, sizeof bits);
  return bits;
}

static inline float cudasim_bits_float(uint32_t bits) {
  float value;
  __builtin_memcpy(&value, &bits, sizeof value);
  return value;
}

static inline uint16_t cudasim_float_to_half_portable(float value) {
  uint32_t bits = cudasim_float_bits(value), sign = bits >> 16 & 0x8000u, magnitude = bits & 0x7fffffffu;
  if (magnitude > 0x7f800000u)
    return 0x7fff;
  if (magnitude >= 0x477ff000u) // 65520 and more round to infinity
    return (uint16_t)(sign | 0x7c00u);
  if (magnitude < 0x38800000u) { // below 2^-14: the addition rounds to a half's subnormal step, 2^-24
    uint32_t sum = cudasim_float_bits(cudasim_bits_float(magnitude) + 0.5f);
    return (uint16_t)(sign | (sum - 0x3f000000u));
  }
  magnitude += 0xfffu + (magnitude >> 13 & 1u);
  return (uint16_t)(sign | (magnitude - 0x38000000u) >> 13);
}

static inline float cudasim_half_to_float_portable(uint16_t half) {
  uint32_t sign = (uint32_t)(half & 0x8000u) << 16, exponent = half >> 10 & 31u, mantissa = half & 1023u;
  if (exponent == 31)
    return cudasim_bits_float(sign | 0x7f800000u | mantissa << 13);
  if (exponent == 0) {
    float magnitude = (float)mantissa * (1.0f / 16777216.0f);
    return sign ? -magnitude : magnitude;
  }
  return cudasim_bits_float(sign | (exponent + 112) << 23 | mantissa << 13);
}

#ifdef __F16C__
#include <immintrin.h>
// Hardware keeps a NaN's payload; CUDA gives the canonical NaN.
static inline uint16_t cudasim_float_to_half(float value) {
  return value != value ? (uint16_t)0x7fff : (uint16_t)_cvtss_sh(value, _MM_FROUND_TO_NEAREST_INT);
}
static inline float cudasim_half_to_float(uint16_t half) {
  return _cvtsh_ss(half);
}
#else
static inline uint16_t cudasim_float_to_half(float value) {
  return cudasim_float_to_half_portable(value);
}
static inline float cudasim_half_to_float(uint16_t half) {
  return cudasim_half_to_float_portable(half);
}
#endif

static inline uint16_t cudasim_float_to_bfloat16(float value) {
  uint32_t bits = cudasim_float_bits(value);
  if (value != value)
    return 0x7fff;
  return (uint16_t)((bits + 0x7fffu + (bits >> 16 & 1u)) >> 16);
}

static inline float cudasim_bfloat16_to_float(uint16_t bfloat16) {
  return cudasim_bits_float((uint32_t)bfloat16 << 16);
}

// A float from which rounding once more gives what rounding the double at once would: inexact results become odd.
static inline float cudasim_double_to_float_odd(double value) {
  float nearest = (float)value;
  uint32_t bits = cudasim_float_bits(nearest);
  double back = (double)nearest;
  if (value != value || back == value)
    return nearest;
  int away = back < 0 ? back < value : back > value;
  return cudasim_bits_float((bits - (uint32_t)away) | 1u);
}

#endif
