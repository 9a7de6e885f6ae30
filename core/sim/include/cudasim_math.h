// SPDX-License-Identifier: MIT
// The device's mathematical functions that <math.h> lacks. The fast intrinsics (__expf, ...) are no less exact here.
//
// C libraries add functions of the same names (glibc 2.41: sinpi and cospi; 2.42: rsqrt). CUDA's functions that are not overloaded
// are therefore C functions, as in CUDA's own headers: a C library that declares one declares the same function, and the
// inline definition here is used.
#ifndef CUDASIM_MATH_H
#define CUDASIM_MATH_H

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

// glibc declares these names itself, so they are macros.
#define __expf expf
#define __logf logf
#define __log2f log2f
#define __log10f log10f
#define __powf powf
#define __sinf sinf
#define __cosf cosf
#define __tanf tanf
#define __exp10f exp10f

namespace cudasim {
template <class To, class From> inline To bits(From from) {
  static_assert(sizeof(To) == sizeof(From), "same size");
  To to;
  __builtin_memcpy(&to, &from, sizeof to);
  return to;
}
} // namespace cudasim

extern "C" {

inline float rsqrtf(float x) {
  return 1.0f / sqrtf(x);
}
inline double rsqrt(double x) {
  return 1.0 / sqrt(x);
}
inline float rcbrtf(float x) {
  return 1.0f / cbrtf(x);
}
inline float normcdff(float x) {
  return 0.5f * erfcf(-x * 0.70710678118654752f);
}
inline double normcdf(double x) {
  return 0.5 * erfc(-x * 0.70710678118654752440);
}
inline float sinpif(float x) {
  return (float)sin((double)x * 3.14159265358979323846);
}
inline float cospif(float x) {
  return (float)cos((double)x * 3.14159265358979323846);
}
inline float __saturatef(float x) {
  return x >= 0.0f ? (x <= 1.0f ? x : 1.0f) : 0.0f;
}

inline float __fdividef(float x, float y) {
  return x / y;
}
// The compiler must not contract these into a fused multiply-add with the operation that uses the result: it cannot see the
// result's origin after an empty assembly statement.
#if defined(__x86_64__)
#define CUDASIM_ROUNDED(value) __asm__("" : "+x"(value))
#elif defined(__aarch64__)
#define CUDASIM_ROUNDED(value) __asm__("" : "+w"(value))
#else
#define CUDASIM_ROUNDED(value) __asm__("" : "+m"(value))
#endif
inline float __fadd_rn(float x, float y) {
  CUDASIM_ROUNDED(x); // x or y may be a product
  CUDASIM_ROUNDED(y);
  return x + y;
}
inline float __fsub_rn(float x, float y) {
  CUDASIM_ROUNDED(x);
  CUDASIM_ROUNDED(y);
  return x - y;
}
inline float __fmul_rn(float x, float y) {
  float product = x * y;
  CUDASIM_ROUNDED(product);
  return product;
}
inline float __fdiv_rn(float x, float y) {
  return x / y;
}
inline float __fmaf_rn(float x, float y, float z) {
  return fmaf(x, y, z);
}
inline float __frcp_rn(float x) {
  return 1.0f / x;
}
inline float __fsqrt_rn(float x) {
  return sqrtf(x);
}
inline float __frsqrt_rn(float x) {
  return (float)(1.0 / sqrt((double)x));
}
inline double __dadd_rn(double x, double y) {
  CUDASIM_ROUNDED(x);
  CUDASIM_ROUNDED(y);
  return x + y;
}
inline double __dmul_rn(double x, double y) {
  double product = x * y;
  CUDASIM_ROUNDED(product);
  return product;
}
inline double __fma_rn(double x, double y, double z) {
  return fma(x, y, z);
}

// Conversions saturate and send NaN to zero, as the device's do.
inline int cudasim_to_int(double x) {
  return x != x ? 0 : x >= 2147483647.0 ? INT32_MAX : x <= -2147483648.0 ? INT32_MIN : (int)x;
}
inline int __float2int_rn(float x) {
  return cudasim_to_int(rint((double)x));
}
inline int __float2int_rz(float x) {
  return cudasim_to_int((double)x);
}
inline int __float2int_rd(float x) {
  return cudasim_to_int(floor((double)x));
}
inline int __float2int_ru(float x) {
  return cudasim_to_int(ceil((double)x));
}
inline float __int2float_rn(int x) {
  return (float)x;
}
inline float __uint2float_rn(unsigned int x) {
  return (float)x;
}
inline float __double2float_rn(double x) {
  return (float)x;
}

inline int __popc(unsigned int x) {
  return __builtin_popcount(x);
}
inline int __popcll(unsigned long long x) {
  return __builtin_popcountll(x);
}
inline int __ffs(int x) {
  return __builtin_ffs(x);
}
inline int __ffsll(long long x) {
  return __builtin_ffsll(x);
}
inline int __clz(int x) {
  return x ? __builtin_clz((unsigned int)x) : 32;
}
inline int __clzll(long long x) {
  return x ? __builtin_clzll((unsigned long long)x) : 64;
}
inline unsigned int __brev(unsigned int x) {
  unsigned int reversed = 0;
  for (int bit = 0; bit < 32; bit++)
    reversed |= (x >> bit & 1u) << (31 - bit);
  return reversed;
}
inline int __mul24(int x, int y) {
  return (int)((unsigned int)(x << 8 >> 8) * (unsigned int)(y << 8 >> 8));
}
inline int __mulhi(int x, int y) {
  return (int)((long long)x * y >> 32);
}
inline unsigned int __umulhi(unsigned int x, unsigned int y) {
  return (unsigned int)((unsigned long long)x * y >> 32);
}
inline unsigned long long __umul64hi(unsigned long long x, unsigned long long y) {
  __extension__ typedef unsigned __int128 cudasim_uint128;
  return (unsigned long long)((cudasim_uint128)x * y >> 64);
}

inline int __float_as_int(float x) {
  return cudasim::bits<int>(x);
}
inline unsigned int __float_as_uint(float x) {
  return cudasim::bits<unsigned int>(x);
}
inline float __int_as_float(int x) {
  return cudasim::bits<float>(x);
}
inline float __uint_as_float(unsigned int x) {
  return cudasim::bits<float>(x);
}
inline long long __double_as_longlong(double x) {
  return cudasim::bits<long long>(x);
}
inline double __longlong_as_double(long long x) {
  return cudasim::bits<double>(x);
}

} // extern "C"

template <class T> inline T __ldg(const T *address) {
  return *address;
}
template <class T> inline T __ldcg(const T *address) {
  return *address;
}
template <class T> inline T __ldcs(const T *address) {
  return *address;
}
template <class T> inline void __stcg(T *address, T value) {
  *address = value;
}
template <class T> inline void __stcs(T *address, T value) {
  *address = value;
}

#define CUDASIM_MIN_MAX(T)                                                                                             \
  static inline T min(T a, T b) {                                                                                      \
    return b < a ? b : a;                                                                                              \
  }                                                                                                                    \
  static inline T max(T a, T b) {                                                                                      \
    return a < b ? b : a;                                                                                              \
  }
CUDASIM_MIN_MAX(int)
CUDASIM_MIN_MAX(unsigned int)
CUDASIM_MIN_MAX(long)
CUDASIM_MIN_MAX(unsigned long)
CUDASIM_MIN_MAX(long long)
CUDASIM_MIN_MAX(unsigned long long)
#undef CUDASIM_MIN_MAX
// NaN loses against a number, as in fminf.
static inline float min(float a, float b) {
  return fminf(a, b);
}
static inline float max(float a, float b) {
  return fmaxf(a, b);
}
static inline double min(double a, double b) {
  return fmin(a, b);
}
static inline double max(double a, double b) {
  return fmax(a, b);
}
static inline unsigned int min(int a, unsigned int b) {
  return min((unsigned int)a, b);
}
static inline unsigned int max(int a, unsigned int b) {
  return max((unsigned int)a, b);
}
static inline unsigned int min(unsigned int a, int b) {
  return min(a, (unsigned int)b);
}
static inline unsigned int max(unsigned int a, int b) {
  return max(a, (unsigned int)b);
}

#endif
