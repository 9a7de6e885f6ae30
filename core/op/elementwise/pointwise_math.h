// SPDX-License-Identifier: MIT
// The formulas of the pointwise operations, for C and for CUDA.
//
// Names end in their type: f32, f64, i64, i32, u8, b8. The float32 functions are without branches and spell out each fused
// multiply-add: compilers vectorize them, and the CPU and a GPU get the same bits. The float64 ones are libm's.
// Polynomials interpolate at Chebyshev nodes; errors are within 2 units in the last place unless said otherwise.
#ifndef FERRY_OP_POINTWISE_MATH_H
#define FERRY_OP_POINTWISE_MATH_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#ifdef __CUDACC__
#define FY_MATH static __host__ __device__ __forceinline__
#else
#define FY_MATH static inline __attribute__((always_inline, unused))
#endif

// M(suffix, type, ...) for each element type.
#define FY_MATH_FLOATS(M, ...) M(f32, float, __VA_ARGS__) M(f64, double, __VA_ARGS__)
#define FY_MATH_INTEGERS(M, ...) M(i64, int64_t, __VA_ARGS__) M(i32, int32_t, __VA_ARGS__) M(u8, uint8_t, __VA_ARGS__)
#define FY_MATH_NUMBERS(M, ...) FY_MATH_FLOATS(M, __VA_ARGS__) FY_MATH_INTEGERS(M, __VA_ARGS__)
#define FY_MATH_ALL(M, ...) FY_MATH_NUMBERS(M, __VA_ARGS__) M(b8, bool, __VA_ARGS__)

FY_MATH uint32_t fy_bits_of(float x) {
  uint32_t bits;
  memcpy(&bits, &x, sizeof bits);
  return bits;
}
FY_MATH float fy_from_bits(uint32_t bits) {
  float x;
  memcpy(&x, &bits, sizeof x);
  return x;
}

// ---- float32 -------------------------------------------------------------------------------------------------------------

// e^r - 1 for |r| <= ln(2) / 2.
FY_MATH float fy_expm1_of_rest(float r) {
  float p = fmaf(r, 1.9891080469e-4f, 1.3933730716e-3f);
  p = fmaf(p, r, 8.3333108446e-3f);
  p = fmaf(p, r, 4.1666464197e-2f);
  p = fmaf(p, r, 1.6666666682e-1f);
  p = fmaf(p, r, 0.5f);
  return fmaf(p, r * r, r);
}

// e^x = 2^n e^r with |r| <= ln(2) / 2. Adding 1.5 * 2^23 rounds to the integer n, which the lowest bits of the sum hold: it is
// added to the exponent of e^r. Results below the normal range are made 2^64 times too large first, so that they are right.
FY_MATH float fy_exp_f32(float x) {
  const float round = 0x1.8p23f;
  const float shifted = fmaf(x, 1.44269504f, round);
  const float whole = shifted - round;
  const float r = fmaf(whole, -0.693359375f, x);
  const float p = fy_expm1_of_rest(fmaf(whole, 2.12194440e-4f, r)) + 1.0f;
  const bool tiny = x < -87.0f;
  const uint32_t n = fy_bits_of(shifted) + (tiny ? 64u : 0u);
  float y = fy_from_bits(fy_bits_of(p) + (n << 23));
  y = tiny ? y * 0x1p-64f : y;
  y = x <= 0x1.62e42ep6f ? y : x + INFINITY; // NaN stays NaN
  return x < -104.0f ? 0.0f : y;
}

// x = 2^e m with m in [sqrt(1/2), sqrt(2)); log(m) = f - f^2 / 2 + f^3 P(f), f = m - 1.
FY_MATH float fy_log_f32(float x) {
  const bool tiny = x < 0x1p-126f;
  const uint32_t bits = fy_bits_of(tiny ? x * 0x1p23f : x);
  const int32_t exponent = (int32_t)(bits - 0x3f3504f3u) >> 23;
  const float e = (float)(exponent - (tiny ? 23 : 0));
  const float f = fy_from_bits(bits - ((uint32_t)exponent << 23)) - 1.0f;
  const float square = f * f;
  float p = fmaf(f, 6.9716114781e-2f, -1.1479733849e-1f);
  p = fmaf(p, f, 1.1685419922e-1f);
  p = fmaf(p, f, -1.2425687331e-1f);
  p = fmaf(p, f, 1.4249057646e-1f);
  p = fmaf(p, f, -1.6667802320e-1f);
  p = fmaf(p, f, 2.0000715749e-1f);
  p = fmaf(p, f, -2.4999996958e-1f);
  p = fmaf(p, f, 3.3333331180e-1f);
  float y = f * square * p;
  y = fmaf(e, -2.12194440e-4f, y);
  y = fmaf(square, -0.5f, y);
  y = fmaf(e, 0.693359375f, f + y);
  y = x < INFINITY ? y : x;
  return x > 0.0f ? y : x == 0.0f ? -INFINITY : NAN;
}

// (e^2x - 1) / (e^2x + 1) of the magnitude. With 2x = n ln(2) + r, e^2x - 1 = 2^n (e^r - 1) + (2^n - 1) has no cancellation
// at small x, so one formula serves all; beyond 9.1 the result is 1. Within 2.4 units in the last place.
FY_MATH float fy_tanh_f32(float x) {
  const float round = 0x1.8p23f;
  float twice = fabsf(x) + fabsf(x);
  twice = twice > 18.2f ? 18.2f : twice;
  const float shifted = fmaf(twice, 1.44269504f, round);
  const float whole = shifted - round;
  const float r = fmaf(whole, -0.693359375f, twice);
  const float p = fy_expm1_of_rest(fmaf(whole, 2.12194440e-4f, r));
  const float scale = fy_from_bits((fy_bits_of(shifted) << 23) + 0x3f800000u);
  const float less_one = fmaf(scale, p, scale - 1.0f);
  return copysignf(less_one / (less_one + 2.0f), x);
}

FY_MATH float fy_sigmoid_f32(float x) {
  const float e = fy_exp_f32(-fabsf(x)), share = 1.0f / (1.0f + e);
  return x < 0.0f ? e * share : share;
}

// erf(x / sqrt(2)), twice the normal distribution function less 1. Over x it is smooth and even: one polynomial in v, which is
// x^2 mapped from [0, 5.535^2] to [-1, 1], after x has been cut off there, where the result is 1 to the last bit; no x gives
// more. Within 1.8e-7, relatively; without an exponential or a branch, a vector takes two dozen operations. The cut is a minimum
// of bits: those of floats that are not negative are in the order of the floats. That of NaN is 1 or -1: callers multiply by x.
FY_MATH float fy_erf_of_root_half_f32(float x) {
  const uint32_t limit = fy_bits_of(5.53499985f), bits = fy_bits_of(x), magnitude = bits & 0x7fffffffu;
  const float cut = fy_from_bits((magnitude < limit ? magnitude : limit) | (bits & 0x80000000u));
  const float v = fmaf(cut * cut, 6.528219581e-02f, -1.0f);
  float p = fmaf(v, -6.178390468e-04f, 1.461881562e-03f);
  p = fmaf(p, v, -8.348704432e-04f);
  p = fmaf(p, v, 1.296048751e-03f);
  p = fmaf(p, v, -5.533043761e-03f);
  p = fmaf(p, v, 9.988175705e-03f);
  p = fmaf(p, v, -1.387246605e-02f);
  p = fmaf(p, v, 2.082546614e-02f);
  p = fmaf(p, v, -3.063603304e-02f);
  p = fmaf(p, v, 4.120407999e-02f);
  p = fmaf(p, v, -5.228188261e-02f);
  p = fmaf(p, v, 6.407594681e-02f);
  p = fmaf(p, v, -7.727982104e-02f);
  p = fmaf(p, v, 9.494432062e-02f);
  p = fmaf(p, v, -1.275520921e-01f);
  p = fmaf(p, v, 2.554805875e-01f);
  return cut * p;
}

// x times the normal distribution function of x.
FY_MATH float fy_gelu_f32(float x) {
  const float half = 0.5f * x;
  return fmaf(half, fy_erf_of_root_half_f32(x), half);
}
FY_MATH float fy_gelu_backward_f32(float grad, float x) {
  const float cdf = fmaf(0.5f, fy_erf_of_root_half_f32(x), 0.5f);
  const float pdf = 0.39894228f * fy_exp_f32(-0.5f * x * x);
  return grad * fmaf(x, pdf, cdf);
}

// sin and cos of a whole turn times turn / 2^32. The angle is taken from the nearest quarter turn, |r| <= 1/8 turn.
FY_MATH void fy_sincos_turn(uint32_t turn, float *sine, float *cosine) {
  const uint32_t quarter = (turn + 0x20000000u) >> 30;
  const float r = (float)(int32_t)(turn - (quarter << 30)) * 0x1p-32f;
  const float square = r * r;
  float s = fmaf(square, 4.1472833439e+1f, -7.6697866358e+1f);
  s = fmaf(s, square, 8.1605204711e+1f);
  s = fmaf(s, square, -4.1341702153e+1f);
  s = fmaf(s, square, 6.2831853072f);
  s = s * r;
  float c = fmaf(square, 5.9220168954e+1f, -8.5442844673e+1f);
  c = fmaf(c, square, 6.4939316136e+1f);
  c = fmaf(c, square, -1.9739208650e+1f);
  c = fmaf(c, square, 1.0f);
  const bool swap = quarter & 1;
  const float a = swap ? c : s, b = swap ? s : c;
  *sine = quarter & 2 ? -a : a;
  *cosine = (quarter + 1) & 2 ? -b : b;
}

FY_MATH float fy_sqrt_f32(float x) {
  return sqrtf(x);
}
FY_MATH float fy_pow_f32(float x, float y) {
  return powf(x, y);
}
FY_MATH float fy_abs_f32(float x) {
  return fabsf(x);
}

// ---- float64 -------------------------------------------------------------------------------------------------------------

FY_MATH double fy_exp_f64(double x) {
  return exp(x);
}
FY_MATH double fy_log_f64(double x) {
  return log(x);
}
FY_MATH double fy_tanh_f64(double x) {
  return tanh(x);
}
FY_MATH double fy_sigmoid_f64(double x) {
  return 1.0 / (1.0 + exp(-x));
}
FY_MATH double fy_gelu_f64(double x) {
  return 0.5 * x * (1.0 + erf(x * 0.70710678118654752440));
}
FY_MATH double fy_gelu_backward_f64(double grad, double x) {
  const double cdf = 0.5 * (1.0 + erf(x * 0.70710678118654752440));
  return grad * (cdf + x * 0.39894228040143267794 * exp(-0.5 * x * x));
}
FY_MATH double fy_sqrt_f64(double x) {
  return sqrt(x);
}
FY_MATH double fy_pow_f64(double x, double y) {
  return pow(x, y);
}
FY_MATH double fy_abs_f64(double x) {
  return fabs(x);
}

// ---- both ----------------------------------------------------------------------------------------------------------------

#define FY_MATH_FLOAT_(S, T, _)                                                                                        \
  FY_MATH T fy_add_##S(T a, T b) {                                                                                     \
    return a + b;                                                                                                      \
  }                                                                                                                    \
  FY_MATH T fy_sub_##S(T a, T b) {                                                                                     \
    return a - b;                                                                                                      \
  }                                                                                                                    \
  FY_MATH T fy_mul_##S(T a, T b) {                                                                                     \
    return a * b;                                                                                                      \
  }                                                                                                                    \
  FY_MATH T fy_div_##S(T a, T b) {                                                                                     \
    return a / b;                                                                                                      \
  }                                                                                                                    \
  FY_MATH T fy_neg_##S(T a) {                                                                                          \
    return -a;                                                                                                         \
  }                                                                                                                    \
  /* NaN stays NaN. */                                                                                                 \
  FY_MATH T fy_relu_##S(T a) {                                                                                         \
    return a < 0 ? 0 : a;                                                                                              \
  }                                                                                                                    \
  FY_MATH T fy_clamp_##S(T a, T low, T high) {                                                                         \
    const T raised = a < low ? low : a;                                                                                \
    return raised > high ? high : raised;                                                                              \
  }                                                                                                                    \
  FY_MATH bool fy_isfinite_##S(T a) {                                                                                  \
    return a - a == 0;                                                                                                 \
  }                                                                                                                    \
  FY_MATH T fy_relu_backward_##S(T grad, T out) {                                                                      \
    return out <= 0 ? 0 : grad;                                                                                        \
  }                                                                                                                    \
  FY_MATH T fy_tanh_backward_##S(T grad, T out) {                                                                      \
    return grad * (1 - out * out);                                                                                     \
  }                                                                                                                    \
  FY_MATH T fy_sigmoid_backward_##S(T grad, T out) {                                                                   \
    return grad * ((1 - out) * out);                                                                                   \
  }
FY_MATH_FLOATS(FY_MATH_FLOAT_, )

// ---- integers: they wrap around, as PyTorch's do -------------------------------------------------------------------------

#define FY_MATH_INTEGER_(S, T, _)                                                                                      \
  FY_MATH T fy_add_##S(T a, T b) {                                                                                     \
    return (T)((uint64_t)a + (uint64_t)b);                                                                             \
  }                                                                                                                    \
  FY_MATH T fy_sub_##S(T a, T b) {                                                                                     \
    return (T)((uint64_t)a - (uint64_t)b);                                                                             \
  }                                                                                                                    \
  FY_MATH T fy_mul_##S(T a, T b) {                                                                                     \
    return (T)((uint64_t)a * (uint64_t)b);                                                                             \
  }                                                                                                                    \
  FY_MATH T fy_neg_##S(T a) {                                                                                          \
    return (T)(0 - (uint64_t)a);                                                                                       \
  }                                                                                                                    \
  FY_MATH T fy_abs_##S(T a) {                                                                                          \
    const int64_t wide = (int64_t)a;                                                                                   \
    return wide < 0 ? fy_neg_##S(a) : a;                                                                               \
  }                                                                                                                    \
  FY_MATH T fy_relu_##S(T a) {                                                                                         \
    const int64_t wide = (int64_t)a;                                                                                   \
    return wide < 0 ? 0 : a;                                                                                           \
  }                                                                                                                    \
  FY_MATH T fy_clamp_##S(T a, T low, T high) {                                                                         \
    const T raised = a < low ? low : a;                                                                                \
    return raised > high ? high : raised;                                                                              \
  }                                                                                                                    \
  /* By squaring. A negative exponent leaves 1 and -1 whole, and nothing of other bases. */                            \
  FY_MATH T fy_pow_##S(T base, T exponent) {                                                                           \
    const int64_t e = (int64_t)exponent, b = (int64_t)base;                                                            \
    uint64_t power = 1, square = (uint64_t)base;                                                                       \
    if (e < 0)                                                                                                         \
      return (T)(b == 1 ? 1 : b == -1 ? (e % 2 ? -1 : 1) : 0);                                                         \
    for (uint64_t rest = (uint64_t)e; rest > 0; rest >>= 1) {                                                          \
      power = rest & 1 ? power * square : power;                                                                       \
      square *= square;                                                                                                \
    }                                                                                                                  \
    return (T)power;                                                                                                   \
  }
FY_MATH_INTEGERS(FY_MATH_INTEGER_, )

FY_MATH bool fy_add_b8(bool a, bool b) {
  return a | b;
}
FY_MATH bool fy_mul_b8(bool a, bool b) {
  return a & b;
}

// ---- bfloat16, as its bits -----------------------------------------------------------------------------------------------
// What needs no arithmetic. Negative numbers are 0x8001 to 0xff80, which is -infinity; from there on it is NaNs.

FY_MATH uint16_t fy_relu_bf16(uint16_t a) {
  return a > 0x8000 && a <= 0xff80 ? 0 : a;
}
FY_MATH uint16_t fy_relu_backward_bf16(uint16_t grad, uint16_t out) {
  return (uint16_t)(out - 0x8000) <= 0x7f80 || out == 0 ? 0 : grad;
}

// ---- comparisons -----------------------------------------------------------------------------------------------------------

#define FY_MATH_COMPARE_(S, T, _)                                                                                      \
  FY_MATH bool fy_eq_##S(T a, T b) {                                                                                   \
    return a == b;                                                                                                     \
  }                                                                                                                    \
  FY_MATH bool fy_ne_##S(T a, T b) {                                                                                   \
    return a != b;                                                                                                     \
  }                                                                                                                    \
  FY_MATH bool fy_lt_##S(T a, T b) {                                                                                   \
    return a < b;                                                                                                      \
  }                                                                                                                    \
  FY_MATH bool fy_le_##S(T a, T b) {                                                                                   \
    return a <= b;                                                                                                     \
  }                                                                                                                    \
  FY_MATH bool fy_gt_##S(T a, T b) {                                                                                   \
    return a > b;                                                                                                      \
  }                                                                                                                    \
  FY_MATH bool fy_ge_##S(T a, T b) {                                                                                   \
    return a >= b;                                                                                                     \
  }
FY_MATH_ALL(FY_MATH_COMPARE_, )

#endif
