// SPDX-License-Identifier: MIT
// bfloat16: the upper half of a float; CUDA's names. In C only the types, as with NVIDIA's header.
#ifndef CUDASIM_CUDA_BF16_H
#define CUDASIM_CUDA_BF16_H

#include "cudasim_abi.h"

typedef struct __align__(2) {
  unsigned short x;
}
__nv_bfloat16_raw;

typedef struct __align__(4) {
  unsigned short x, y;
}
__nv_bfloat162_raw;

#ifndef __cplusplus
typedef __nv_bfloat16_raw __nv_bfloat16;
typedef __nv_bfloat162_raw __nv_bfloat162;
#else
#include "cudasim_short_float.h"

struct __align__(2) __nv_bfloat16 {
  unsigned short __x;

  __nv_bfloat16(void) = default;
  __nv_bfloat16(__nv_bfloat16_raw raw) : __x(raw.x) {
  }
  __nv_bfloat16(float value) : __x(cudasim_float_to_bfloat16(value)) {
  }
  __nv_bfloat16(double value) : __x(cudasim_float_to_bfloat16(cudasim_double_to_float_odd(value))) {
  }
  __nv_bfloat16(int value) : __nv_bfloat16((double)value) {
  }
  __nv_bfloat16(unsigned int value) : __nv_bfloat16((double)value) {
  }
  __nv_bfloat16(long value) : __nv_bfloat16((double)value) {
  }
  __nv_bfloat16(unsigned long value) : __nv_bfloat16((double)value) {
  }
  __nv_bfloat16(long long value) : __nv_bfloat16((double)value) {
  }
  __nv_bfloat16(unsigned long long value) : __nv_bfloat16((double)value) {
  }

  operator float(void) const {
    return to_float();
  }
  operator __nv_bfloat16_raw(void) const {
    return __nv_bfloat16_raw{__x};
  }

  float to_float(void) const {
    return cudasim_bfloat16_to_float(__x);
  }
  static __nv_bfloat16 from_float(float value) {
    return __nv_bfloat16(value);
  }
};

struct __align__(4) __nv_bfloat162 {
  __nv_bfloat16 x, y;

  __nv_bfloat162(void) = default;
  __nv_bfloat162(const __nv_bfloat16 &low, const __nv_bfloat16 &high) : x(low), y(high) {
  }
};

typedef __nv_bfloat16 nv_bfloat16;
typedef __nv_bfloat162 nv_bfloat162;

CUDASIM_SHORT_FLOAT_ARITHMETIC(__nv_bfloat16)
CUDASIM_SHORT_FLOAT_FUNCTIONS(__nv_bfloat16)
CUDASIM_SHORT_FLOAT_PAIRS(__nv_bfloat16, __nv_bfloat162)

static inline __nv_bfloat16 __float2bfloat16(float value) {
  return __nv_bfloat16(value);
}
static inline __nv_bfloat16 __float2bfloat16_rn(float value) {
  return __nv_bfloat16(value);
}
static inline __nv_bfloat16 __double2bfloat16(double value) {
  return __nv_bfloat16(value);
}
static inline __nv_bfloat16 __int2bfloat16_rn(int value) {
  return __nv_bfloat16(value);
}
static inline float __bfloat162float(__nv_bfloat16 value) {
  return value.to_float();
}
static inline int __bfloat162int_rn(__nv_bfloat16 value) {
  return __float2int_rn(value.to_float());
}
static inline int __bfloat162int_rz(__nv_bfloat16 value) {
  return __float2int_rz(value.to_float());
}
static inline unsigned short __bfloat16_as_ushort(__nv_bfloat16 value) {
  return value.__x;
}
static inline __nv_bfloat16 __ushort_as_bfloat16(unsigned short bits) {
  return __nv_bfloat16(__nv_bfloat16_raw{bits});
}
static inline int __hisinf(__nv_bfloat16 value) {
  return (value.__x & 0x7fffu) != 0x7f80u ? 0 : value.__x & 0x8000u ? -1 : 1;
}

static inline __nv_bfloat162 __float2bfloat162_rn(float value) {
  return __nv_bfloat162(__nv_bfloat16(value), __nv_bfloat16(value));
}
static inline __nv_bfloat162 make_bfloat162(__nv_bfloat16 low, __nv_bfloat16 high) {
  return __nv_bfloat162(low, high);
}
static inline __nv_bfloat162 __halves2bfloat162(__nv_bfloat16 low, __nv_bfloat16 high) {
  return __nv_bfloat162(low, high);
}
static inline __nv_bfloat162 __bfloat162bfloat162(__nv_bfloat16 value) {
  return __nv_bfloat162(value, value);
}
static inline __nv_bfloat162 __floats2bfloat162_rn(float low, float high) {
  return __nv_bfloat162(__nv_bfloat16(low), __nv_bfloat16(high));
}
static inline __nv_bfloat162 __float22bfloat162_rn(float2 value) {
  return __floats2bfloat162_rn(value.x, value.y);
}
static inline float2 __bfloat1622float2(__nv_bfloat162 value) {
  return float2{value.x.to_float(), value.y.to_float()};
}
static inline __nv_bfloat16 __low2bfloat16(__nv_bfloat162 value) {
  return value.x;
}
static inline __nv_bfloat16 __high2bfloat16(__nv_bfloat162 value) {
  return value.y;
}

#ifdef CUDASIM_PROGRAM // a program of others may want all of them
#include "cudasim_short_float_more.h"
CUDASIM_SHORT_FLOAT_MORE(__nv_bfloat16, __nv_bfloat162)
static inline __nv_bfloat162 __lows2bfloat162(__nv_bfloat162 a, __nv_bfloat162 b) {
  return __nv_bfloat162(a.x, b.x);
}
static inline __nv_bfloat162 __highs2bfloat162(__nv_bfloat162 a, __nv_bfloat162 b) {
  return __nv_bfloat162(a.y, b.y);
}
static inline __nv_bfloat162 __low2bfloat162(__nv_bfloat162 a) {
  return __nv_bfloat162(a.x, a.x);
}
static inline __nv_bfloat162 __high2bfloat162(__nv_bfloat162 a) {
  return __nv_bfloat162(a.y, a.y);
}
#endif
#endif

#endif
