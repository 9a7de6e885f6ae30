// SPDX-License-Identifier: MIT
// The device functions of integers, bits and roundings that programs call now and then. Conversions saturate and send NaN to
// zero, as the device's do.
#ifndef CUDASIM_INTRINSICS_H
#define CUDASIM_INTRINSICS_H

#include <cmath>
#include <fenv.h>
#include <limits.h>
#include <limits>
#include <time.h>

#include "cudasim_math.h"
#include "cudasim_warp.h"
#include "vector_types.h"

// ---- rounding modes ----

namespace cudasim {

// An operation under another rounding mode. The barriers keep the compiler from moving it across the change.
template <class T, class Operation>
__attribute__((noinline)) inline T rounded(int mode, T a, T b, Operation operation) {
  const int before = fegetround();
  fesetround(mode);
  __asm__ __volatile__("" : "+x"(a), "+x"(b) : : "memory");
  T result = operation(a, b);
  __asm__ __volatile__("" : "+x"(result) : : "memory");
  fesetround(before);
  return result;
}

template <class To> inline To saturate(double x) {
  const double low = (double)std::numeric_limits<To>::min(), high = (double)std::numeric_limits<To>::max();
  return x != x      ? To(0)
         : x >= high ? std::numeric_limits<To>::max()
         : x <= low  ? std::numeric_limits<To>::min()
                     : (To)x;
}

template <class From> inline double by_mode(int mode, From from) {
  const double x = (double)from;
  return mode == FE_DOWNWARD ? floor(x) : mode == FE_UPWARD ? ceil(x) : mode == FE_TOWARDZERO ? trunc(x) : rint(x);
}

// The nearest T on the side that the mode says.
template <class T, class From> inline T toward(int mode, From from) {
  T nearest = (T)from;
  const bool above = (long double)nearest > (long double)from, below = (long double)nearest < (long double)from;
  if (above && (mode == FE_DOWNWARD || (mode == FE_TOWARDZERO && from > 0)))
    return std::nextafter(nearest, -std::numeric_limits<T>::infinity());
  if (below && (mode == FE_UPWARD || (mode == FE_TOWARDZERO && from < 0)))
    return std::nextafter(nearest, std::numeric_limits<T>::infinity());
  return nearest;
}

} // namespace cudasim

extern "C" {

#define CUDASIM_MODES(X) X(rz, FE_TOWARDZERO) X(rd, FE_DOWNWARD) X(ru, FE_UPWARD)

#define CUDASIM_ARITHMETIC(suffix, mode)                                                                               \
  inline float __fadd_##suffix(float x, float y) {                                                                     \
    return cudasim::rounded(mode, x, y, [](float a, float b) { return a + b; });                                       \
  }                                                                                                                    \
  inline float __fsub_##suffix(float x, float y) {                                                                     \
    return cudasim::rounded(mode, x, y, [](float a, float b) { return a - b; });                                       \
  }                                                                                                                    \
  inline float __fmul_##suffix(float x, float y) {                                                                     \
    return cudasim::rounded(mode, x, y, [](float a, float b) { return a * b; });                                       \
  }                                                                                                                    \
  inline float __fdiv_##suffix(float x, float y) {                                                                     \
    return cudasim::rounded(mode, x, y, [](float a, float b) { return a / b; });                                       \
  }                                                                                                                    \
  inline float __fsqrt_##suffix(float x) {                                                                             \
    return cudasim::rounded(mode, x, x, [](float a, float) { return sqrtf(a); });                                      \
  }                                                                                                                    \
  inline float __frcp_##suffix(float x) {                                                                              \
    return __fdiv_##suffix(1.0f, x);                                                                                   \
  }                                                                                                                    \
  inline float __fmaf_##suffix(float x, float y, float z) {                                                            \
    return cudasim::rounded(mode, x, y, [z](float a, float b) { return fmaf(a, b, z); });                              \
  }                                                                                                                    \
  inline double __dadd_##suffix(double x, double y) {                                                                  \
    return cudasim::rounded(mode, x, y, [](double a, double b) { return a + b; });                                     \
  }                                                                                                                    \
  inline double __dsub_##suffix(double x, double y) {                                                                  \
    return cudasim::rounded(mode, x, y, [](double a, double b) { return a - b; });                                     \
  }                                                                                                                    \
  inline double __dmul_##suffix(double x, double y) {                                                                  \
    return cudasim::rounded(mode, x, y, [](double a, double b) { return a * b; });                                     \
  }                                                                                                                    \
  inline double __ddiv_##suffix(double x, double y) {                                                                  \
    return cudasim::rounded(mode, x, y, [](double a, double b) { return a / b; });                                     \
  }                                                                                                                    \
  inline double __dsqrt_##suffix(double x) {                                                                           \
    return cudasim::rounded(mode, x, x, [](double a, double) { return sqrt(a); });                                     \
  }                                                                                                                    \
  inline double __drcp_##suffix(double x) {                                                                            \
    return __ddiv_##suffix(1.0, x);                                                                                    \
  }                                                                                                                    \
  inline double __fma_##suffix(double x, double y, double z) {                                                         \
    return cudasim::rounded(mode, x, y, [z](double a, double b) { return fma(a, b, z); });                             \
  }
CUDASIM_MODES(CUDASIM_ARITHMETIC)
#undef CUDASIM_ARITHMETIC

inline double __dsub_rn(double x, double y) {
  return x - y;
}
inline double __ddiv_rn(double x, double y) {
  return x / y;
}
inline double __dsqrt_rn(double x) {
  return sqrt(x);
}
inline double __drcp_rn(double x) {
  return 1.0 / x;
}

#define CUDASIM_TO_INTEGERS(suffix, mode)                                                                              \
  CUDASIM_TO_INTEGER(float, float2uint, unsigned int, suffix, mode)                                                    \
  CUDASIM_TO_INTEGER(float, float2ll, long long, suffix, mode)                                                         \
  CUDASIM_TO_INTEGER(float, float2ull, unsigned long long, suffix, mode)                                               \
  CUDASIM_TO_INTEGER(double, double2int, int, suffix, mode)                                                            \
  CUDASIM_TO_INTEGER(double, double2uint, unsigned int, suffix, mode)                                                  \
  CUDASIM_TO_INTEGER(double, double2ll, long long, suffix, mode)                                                       \
  CUDASIM_TO_INTEGER(double, double2ull, unsigned long long, suffix, mode)                                             \
  CUDASIM_TO_FLOAT(unsigned long long, ull2float, float, suffix, mode)                                                 \
  CUDASIM_TO_FLOAT(long long, ll2float, float, suffix, mode)                                                           \
  CUDASIM_TO_FLOAT(unsigned long long, ull2double, double, suffix, mode)                                               \
  CUDASIM_TO_FLOAT(long long, ll2double, double, suffix, mode)
#define CUDASIM_TO_INTEGER(From, name, To, suffix, mode)                                                               \
  inline To __##name##_##suffix(From x) {                                                                              \
    return cudasim::saturate<To>(cudasim::by_mode(mode, x));                                                           \
  }
#define CUDASIM_TO_FLOAT(From, name, To, suffix, mode)                                                                 \
  inline To __##name##_##suffix(From x) {                                                                              \
    return cudasim::toward<To>(mode, x);                                                                               \
  }
CUDASIM_MODES(CUDASIM_TO_INTEGERS)
CUDASIM_TO_INTEGERS(rn, FE_TONEAREST)
#define CUDASIM_TO_FLOATS(suffix, mode)                                                                                \
  CUDASIM_TO_FLOAT(int, int2float, float, suffix, mode)                                                                \
  CUDASIM_TO_FLOAT(unsigned int, uint2float, float, suffix, mode)                                                      \
  CUDASIM_TO_FLOAT(double, double2float, float, suffix, mode)
CUDASIM_MODES(CUDASIM_TO_FLOATS)
#undef CUDASIM_TO_FLOATS
#undef CUDASIM_TO_INTEGERS
#undef CUDASIM_TO_INTEGER
#undef CUDASIM_TO_FLOAT
#undef CUDASIM_MODES

inline double __int2double_rn(int x) {
  return (double)x;
}
inline double __uint2double_rn(unsigned int x) {
  return (double)x;
}

// ---- bits ----

inline int __double2hiint(double x) {
  return (int)(__double_as_longlong(x) >> 32);
}
inline int __double2loint(double x) {
  return (int)__double_as_longlong(x);
}
inline double __hiloint2double(int high, int low) {
  return __longlong_as_double((long long)((unsigned long long)(unsigned int)high << 32 | (unsigned int)low));
}
inline unsigned long long __brevll(unsigned long long x) {
  return (unsigned long long)__brev((unsigned int)x) << 32 | __brev((unsigned int)(x >> 32));
}
inline unsigned int __byte_perm(unsigned int x, unsigned int y, unsigned int selector) {
  const unsigned long long bytes = (unsigned long long)y << 32 | x;
  unsigned int result = 0;
  for (unsigned int i = 0; i < 4; i++) {
    const unsigned int which = selector >> (4 * i) & 15u;
    unsigned int byte = (unsigned int)(bytes >> (8 * (which & 7u))) & 255u;
    if (which & 8u)
      byte = byte & 128u ? 255u : 0u;
    result |= byte << (8 * i);
  }
  return result;
}
inline unsigned int __funnelshift_l(unsigned int low, unsigned int high, unsigned int shift) {
  return (unsigned int)((((unsigned long long)high << 32 | low) << (shift & 31u)) >> 32);
}
inline unsigned int __funnelshift_r(unsigned int low, unsigned int high, unsigned int shift) {
  return (unsigned int)(((unsigned long long)high << 32 | low) >> (shift & 31u));
}
inline unsigned int __funnelshift_lc(unsigned int low, unsigned int high, unsigned int shift) {
  return shift >= 32 ? low : __funnelshift_l(low, high, shift);
}
inline unsigned int __funnelshift_rc(unsigned int low, unsigned int high, unsigned int shift) {
  return shift >= 32 ? high : __funnelshift_r(low, high, shift);
}

// ---- integers ----

inline unsigned int umin(unsigned int a, unsigned int b) {
  return b < a ? b : a;
}
inline unsigned int umax(unsigned int a, unsigned int b) {
  return a < b ? b : a;
}
inline long long llmin(long long a, long long b) {
  return b < a ? b : a;
}
inline long long llmax(long long a, long long b) {
  return a < b ? b : a;
}
inline unsigned long long ullmin(unsigned long long a, unsigned long long b) {
  return b < a ? b : a;
}
inline unsigned long long ullmax(unsigned long long a, unsigned long long b) {
  return a < b ? b : a;
}

inline unsigned int __umul24(unsigned int x, unsigned int y) {
  return (x & 0xffffffu) * (y & 0xffffffu);
}
inline long long __mul64hi(long long x, long long y) {
  __extension__ typedef __int128 cudasim_int128;
  return (long long)((cudasim_int128)x * y >> 64);
}
inline unsigned int __sad(int x, int y, unsigned int z) {
  return (unsigned int)(x > y ? x - y : y - x) + z;
}
inline unsigned int __usad(unsigned int x, unsigned int y, unsigned int z) {
  return (x > y ? x - y : y - x) + z;
}
inline int __hadd(int x, int y) {
  return (int)(((long long)x + y) >> 1);
}
inline int __rhadd(int x, int y) {
  return (int)(((long long)x + y + 1) >> 1);
}
inline unsigned int __uhadd(unsigned int x, unsigned int y) {
  return (unsigned int)(((unsigned long long)x + y) >> 1);
}
inline unsigned int __urhadd(unsigned int x, unsigned int y) {
  return (unsigned int)(((unsigned long long)x + y + 1) >> 1);
}

// ---- mathematics ----

#define __sincosf sincosf // glibc declares the name itself

inline float norm3df(float x, float y, float z) {
  return (float)sqrt((double)x * x + (double)y * y + (double)z * z);
}
inline double norm3d(double x, double y, double z) {
  return (double)sqrtl((long double)x * x + (long double)y * y + (long double)z * z);
}
inline float rnorm3df(float x, float y, float z) {
  return 1.0f / norm3df(x, y, z);
}
inline double rnorm3d(double x, double y, double z) {
  return 1.0 / norm3d(x, y, z);
}
inline float norm4df(float x, float y, float z, float w) {
  return (float)sqrt((double)x * x + (double)y * y + (double)z * z + (double)w * w);
}
inline float rhypotf(float x, float y) {
  return 1.0f / hypotf(x, y);
}
inline double rhypot(double x, double y) {
  return 1.0 / hypot(x, y);
}
inline double rcbrt(double x) {
  return 1.0 / cbrt(x);
}
inline double sinpi(double x) {
  return sin(3.14159265358979323846 * fmod(x, 2.0));
}
inline double cospi(double x) {
  return cos(3.14159265358979323846 * fmod(x, 2.0));
}
inline void sincospif(float x, float *sine, float *cosine) {
  *sine = sinpif(x);
  *cosine = cospif(x);
}
inline void sincospi(double x, double *sine, double *cosine) {
  *sine = sinpi(x);
  *cosine = cospi(x);
}
inline double erfcx(double x) {
  if (x < 25)
    return exp(x * x) * erfc(x);
  const double reciprocal = 1 / x;
  return 0.56418958354775628695 * reciprocal * (1 - 0.5 * reciprocal * reciprocal);
}
inline float erfcxf(float x) {
  return (float)erfcx((double)x);
}

// The inverse of the normal distribution: a rational start (Acklam's form by pieces is not needed), then Newton's steps, which
// double the digits each time.
inline double normcdfinv(double p) {
  if (!(p > 0 && p < 1))
    return p == 0 ? -HUGE_VAL : p == 1 ? HUGE_VAL : (double)NAN;
  const bool lower = p < 0.5;
  const double tail = lower ? p : 1 - p, t = sqrt(-2 * log(tail));
  double x = t - (2.515517 + t * (0.802853 + t * 0.010328)) / (1 + t * (1.432788 + t * (0.189269 + t * 0.001308)));
  for (int step = 0; step < 4; step++) { // Halley's: of the upper tail
    const double error = 0.5 * erfc(x * 0.70710678118654752440) - tail;
    const double u = error * 2.50662827463100050242 * exp(x * x / 2);
    x += u / (1 - x * u / 2 > 0.1 ? 1 - x * u / 2 : 1);
  }
  return lower ? -x : x;
}
inline float normcdfinvf(float p) {
  return (float)normcdfinv((double)p);
}
inline double erfcinv(double y) {
  return -normcdfinv(y / 2) * 0.70710678118654752440;
}
inline float erfcinvf(float y) {
  return (float)erfcinv((double)y);
}
inline double erfinv(double y) {
  return fabs(y) < 1e-8 ? y * 0.88622692545275801365 : normcdfinv((y + 1) / 2) * 0.70710678118654752440;
}
inline float erfinvf(float y) {
  return (float)erfinv((double)y);
}

} // extern "C"

// ---- overloads ----

// For a float, as in CUDA C++; the C functions of these names take and return a double.
#define CUDASIM_FOR_FLOAT(name)                                                                                        \
  static inline float name(float x) {                                                                                  \
    return name##f(x);                                                                                                 \
  }
CUDASIM_FOR_FLOAT(rsqrt)
CUDASIM_FOR_FLOAT(rcbrt)
CUDASIM_FOR_FLOAT(exp10)
CUDASIM_FOR_FLOAT(sinpi)
CUDASIM_FOR_FLOAT(cospi)
CUDASIM_FOR_FLOAT(erfinv)
CUDASIM_FOR_FLOAT(erfcinv)
CUDASIM_FOR_FLOAT(normcdf)
CUDASIM_FOR_FLOAT(normcdfinv)
CUDASIM_FOR_FLOAT(erfcx)
#undef CUDASIM_FOR_FLOAT
static inline void sincospi(float x, float *sine, float *cosine) {
  sincospif(x, sine, cosine);
}

static inline int __dp4a(int a, int b, int c) {
  for (int i = 0; i < 4; i++)
    c += (int)(signed char)(a >> (8 * i)) * (int)(signed char)(b >> (8 * i));
  return c;
}
static inline unsigned int __dp4a(unsigned int a, unsigned int b, unsigned int c) {
  for (int i = 0; i < 4; i++)
    c += (a >> (8 * i) & 255u) * (b >> (8 * i) & 255u);
  return c;
}

// ---- warps ----

#define CUDASIM_HERE const char *file = __builtin_FILE(), int line = __builtin_LINE()

template <class T> inline unsigned int __match_any_sync(unsigned int mask, T value, CUDASIM_HERE) {
  uint64_t bits = 0;
  __builtin_memcpy(&bits, &value, sizeof value);
  unsigned int lanes, same = 0;
  const uint64_t *values = cudasim_warp(mask, bits, &lanes, file, line);
  for (unsigned int lane = 0; lane < 32; lane++)
    same |= (lanes >> lane & 1u) && values[lane] == bits ? 1u << lane : 0u;
  return same;
}
template <class T> inline unsigned int __match_all_sync(unsigned int mask, T value, int *predicate, CUDASIM_HERE) {
  const unsigned int same = __match_any_sync(mask, value, file, line);
  *predicate = same == mask;
  return *predicate ? mask : 0;
}

namespace cudasim {
template <class T, class Operation>
inline T reduce_lanes(unsigned int mask, T value, const char *file, int line, Operation operation) {
  uint64_t bits = 0;
  __builtin_memcpy(&bits, &value, sizeof value);
  unsigned int lanes;
  const uint64_t *values = cudasim_warp(mask, bits, &lanes, file, line);
  bool first = true;
  T result = value;
  for (unsigned int lane = 0; lane < 32; lane++) {
    T other;
    if (!(lanes >> lane & 1u))
      continue;
    __builtin_memcpy(&other, &values[lane], sizeof other);
    result = first ? other : operation(result, other);
    first = false;
  }
  return result;
}
} // namespace cudasim

#define CUDASIM_REDUCE(T, name, expression)                                                                            \
  static inline T __reduce_##name##_sync(unsigned int mask, T value, CUDASIM_HERE) {                                   \
    return cudasim::reduce_lanes(mask, value, file, line, [](T a, T b) -> T { return expression; });                   \
  }
CUDASIM_REDUCE(int, add, (int)((unsigned int)a + (unsigned int)b))
CUDASIM_REDUCE(unsigned int, add, a + b)
CUDASIM_REDUCE(int, min, b < a ? b : a)
CUDASIM_REDUCE(unsigned int, min, b < a ? b : a)
CUDASIM_REDUCE(int, max, a < b ? b : a)
CUDASIM_REDUCE(unsigned int, max, a < b ? b : a)
CUDASIM_REDUCE(unsigned int, and, a &b)
CUDASIM_REDUCE(unsigned int, or, a | b)
CUDASIM_REDUCE(unsigned int, xor, a ^ b)
#undef CUDASIM_REDUCE
#undef CUDASIM_HERE

// ---- memory ----

#define CUDASIM_CACHED(name)                                                                                           \
  template <class T> inline T __ld##name(const T *address) {                                                           \
    return *address;                                                                                                   \
  }
CUDASIM_CACHED(ca)
CUDASIM_CACHED(lu)
CUDASIM_CACHED(cv)
#undef CUDASIM_CACHED
template <class T> inline void __stwb(T *address, T value) {
  *address = value;
}
template <class T> inline void __stwt(T *address, T value) {
  *address = value;
}

extern "C" {

inline unsigned int __isGlobal(const void *) {
  return 1;
}
inline size_t __cvta_generic_to_shared(const void *address) {
  return (size_t)address;
}

// ---- time: of this machine, in nanoseconds ----

inline long long clock64(void) {
  struct timespec now;
  cudasim_poll();
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1000000000ll + now.tv_nsec;
}
inline clock_t cudasim_clock(void) {
  return cudasim_in_kernel() ? (clock_t)clock64() : clock();
}
inline unsigned long long __nv_globaltimer(void) {
  return (unsigned long long)clock64();
}

inline void __trap(void) {
  cudasim_refuse("__trap()", "a kernel", 0);
}
inline void __brkpt(void) {
}
inline void __prof_trigger(int) {
}

} // extern "C"

#endif
