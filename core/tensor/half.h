// SPDX-License-Identifier: MIT
// float16 and bfloat16 as bits, to and from float32, rounding to nearest even.
#ifndef FERRY_TENSOR_HALF_H
#define FERRY_TENSOR_HALF_H

#include <stdint.h>
#include <string.h>
#ifdef __F16C__
#include <immintrin.h>
#endif

static inline float fy_bfloat16_to_float(uint16_t h) {
  uint32_t bits = (uint32_t)h << 16;
  float f;
  memcpy(&f, &bits, sizeof f);
  return f;
}

static inline uint16_t fy_float_to_bfloat16(float f) {
  uint32_t bits;
  memcpy(&bits, &f, sizeof bits);
  if ((bits & 0x7fffffffu) > 0x7f800000u)
    return (uint16_t)(bits >> 16 | 0x40u); // a quiet NaN stays one
  return (uint16_t)((bits + 0x7fffu + (bits >> 16 & 1u)) >> 16);
}

static inline void fy_widen_bfloat16(float *to, const uint16_t *from, int64_t n) {
  for (int64_t i = 0; i < n; i++)
    to[i] = fy_bfloat16_to_float(from[i]);
}

static inline void fy_narrow_floats(uint16_t *to, const float *from, int64_t n) {
  for (int64_t i = 0; i < n; i++)
    to[i] = fy_float_to_bfloat16(from[i]);
}

static inline float fy_float16_to_float(uint16_t h) {
#ifdef __F16C__
  return _cvtsh_ss(h);
#else
  uint32_t sign = (uint32_t)(h & 0x8000u) << 16, exponent = h >> 10 & 31u, mantissa = h & 1023u, bits;
  float f;
  if (exponent == 0) { // subnormal: mantissa * 2^-24
    f = (float)mantissa * 0x1p-24f;
    return sign ? -f : f;
  }
  bits = sign | (exponent == 31 ? 0x7f800000u : (exponent + 112) << 23) | mantissa << 13;
  memcpy(&f, &bits, sizeof f);
  return f;
#endif
}

static inline uint16_t fy_float_to_float16(float f) {
#ifdef __F16C__
  return (uint16_t)_cvtss_sh(f, _MM_FROUND_TO_NEAREST_INT);
#else
  uint32_t bits;
  memcpy(&bits, &f, sizeof bits);
  uint16_t sign = (uint16_t)(bits >> 16 & 0x8000u);
  bits &= 0x7fffffffu;
  if (bits > 0x7f800000u)
    return (uint16_t)(sign | 0x7e00u);
  if (bits >= 0x477ff000u) // rounds to infinity
    return (uint16_t)(sign | 0x7c00u);
  if (bits < 0x38800000u) { // subnormal: let the float adder round at 2^-24
    float magic = 0.5f, value;
    uint32_t rounded;
    memcpy(&value, &bits, sizeof value);
    value += magic;
    memcpy(&rounded, &value, sizeof rounded);
    return (uint16_t)(sign | (rounded - 0x3f000000u));
  }
  bits += 0xfffu + (bits >> 13 & 1u);
  return (uint16_t)(sign | (bits - 0x38000000u) >> 13);
#endif
}

#endif
