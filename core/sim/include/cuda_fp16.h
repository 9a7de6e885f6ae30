// SPDX-License-Identifier: MIT
// half: 1 sign bit, 5 exponent bits, 10 mantissa bits; CUDA's names. In C only the types, as with NVIDIA's header.
#ifndef CUDASIM_CUDA_FP16_H
#define CUDASIM_CUDA_FP16_H

#include "cudasim_abi.h"

typedef struct __align__(2) {
  unsigned short x;
}
__half_raw;

typedef struct __align__(4) {
  unsigned short x, y;
}
__half2_raw;

#ifndef __cplusplus
typedef __half_raw __half;
typedef __half2_raw __half2;
#else
#include "cudasim_short_float.h"

struct __align__(2) __half {
  unsigned short __x;

  __half(void) = default;
  __half(__half_raw raw) : __x(raw.x) {
  }
  __half(float value) : __x(cudasim_float_to_half(value)) {
  }
  __half(double value) : __x(cudasim_float_to_half(cudasim_double_to_float_odd(value))) {
  }
  __half(int value) : __half((double)value) {
  }
  __half(unsigned int value) : __half((double)value) {
  }
  __half(long value) : __half((float)value) {
  }
  __half(unsigned long value) : __half((float)value) {
  }
  __half(long long value) : __half((float)value) {
  }
  __half(unsigned long long value) : __half((float)value) {
  }

  operator float(void) const {
    return to_float();
  }
  operator __half_raw(void) const {
    return __half_raw{__x};
  }

  float to_float(void) const {
    return cudasim_half_to_float(__x);
  }
  static __half from_float(float value) {
    return __half(value);
  }
};

struct __align__(4) __half2 {
  __half x, y;

  __half2(void) = default;
  __half2(const __half &low, const __half &high) : x(low), y(high) {
  }
};

typedef __half half;
typedef __half2 half2;

CUDASIM_SHORT_FLOAT_ARITHMETIC(__half)
CUDASIM_SHORT_FLOAT_FUNCTIONS(__half)
CUDASIM_SHORT_FLOAT_PAIRS(__half, __half2)

static inline __half __float2half(float value) {
  return __half(value);
}
static inline __half __float2half_rn(float value) {
  return __half(value);
}
static inline __half __double2half(double value) {
  return __half(value);
}
static inline __half __int2half_rn(int value) {
  return __half(value);
}
static inline float __half2float(__half value) {
  return value.to_float();
}
static inline int __half2int_rn(__half value) {
  return __float2int_rn(value.to_float());
}
static inline int __half2int_rz(__half value) {
  return __float2int_rz(value.to_float());
}
static inline unsigned short __half_as_ushort(__half value) {
  return value.__x;
}
static inline short __half_as_short(__half value) {
  return (short)value.__x;
}
static inline __half __ushort_as_half(unsigned short bits) {
  return __half(__half_raw{bits});
}
static inline __half __short_as_half(short bits) {
  return __half(__half_raw{(unsigned short)bits});
}
static inline int __hisinf(__half value) {
  return (value.__x & 0x7fffu) != 0x7c00u ? 0 : value.__x & 0x8000u ? -1 : 1;
}

static inline __half2 make_half2(__half low, __half high) {
  return __half2(low, high);
}
static inline __half2 __halves2half2(__half low, __half high) {
  return __half2(low, high);
}
static inline __half2 __half2half2(__half value) {
  return __half2(value, value);
}
static inline __half2 __float2half2_rn(float value) {
  return __half2(__half(value), __half(value));
}
static inline __half2 __floats2half2_rn(float low, float high) {
  return __half2(__half(low), __half(high));
}
static inline __half2 __float22half2_rn(float2 value) {
  return __floats2half2_rn(value.x, value.y);
}
static inline float2 __half22float2(__half2 value) {
  return float2{value.x.to_float(), value.y.to_float()};
}
static inline __half __low2half(__half2 value) {
  return value.x;
}
static inline __half __high2half(__half2 value) {
  return value.y;
}

#ifdef CUDASIM_PROGRAM // a program of others may want all of them
#include "cudasim_short_float_more.h"
CUDASIM_SHORT_FLOAT_MORE(__half, __half2)
static inline unsigned int __half2uint_rn(__half value) { // NaN and what is below 0 become 0
  const float rounded = rintf(value.to_float());
  return !(rounded > 0) ? 0 : isinf(rounded) ? 0xffffffffu : static_cast<unsigned int>(rounded);
}
static inline unsigned int __half2uint_rz(__half value) {
  return __half2uint_rn(__half(truncf(value.to_float())));
}
static inline __half __uint2half_rn(unsigned int value) {
  return __half(value);
}
static inline __half __short2half_rn(short value) {
  return __half((int)value);
}
static inline __half __ushort2half_rn(unsigned short value) {
  return __half((int)value);
}
static inline __half2 __lows2half2(__half2 a, __half2 b) {
  return __half2(a.x, b.x);
}
static inline __half2 __highs2half2(__half2 a, __half2 b) {
  return __half2(a.y, b.y);
}
static inline __half2 __low2half2(__half2 a) {
  return __half2(a.x, a.x);
}
static inline __half2 __high2half2(__half2 a) {
  return __half2(a.y, a.y);
}
#endif
#endif

#endif
