// SPDX-License-Identifier: MIT
// Complex numbers by cuBLAS's and cuFFT's names. Quotients and absolute values are scaled, so that they do not overflow on the way.
#ifndef CUDASIM_CUCOMPLEX_H
#define CUDASIM_CUCOMPLEX_H
#define CU_COMPLEX_H_ // what helper headers ask for

#include <math.h>

#include "cudasim_abi.h"
#include "vector_types.h"

typedef struct float2 cuFloatComplex;
typedef struct double2 cuDoubleComplex;
typedef cuFloatComplex cuComplex;

#define CUDASIM_COMPLEX(f, T, C)                                                                                       \
  static inline C make_##C(T re, T im) {                                                                               \
    C z;                                                                                                               \
    z.x = re;                                                                                                          \
    z.y = im;                                                                                                          \
    return z;                                                                                                          \
  }                                                                                                                    \
  static inline T cuCreal##f(C z) {                                                                                    \
    return z.x;                                                                                                        \
  }                                                                                                                    \
  static inline T cuCimag##f(C z) {                                                                                    \
    return z.y;                                                                                                        \
  }                                                                                                                    \
  static inline C cuConj##f(C z) {                                                                                     \
    return make_##C(z.x, -z.y);                                                                                        \
  }                                                                                                                    \
  static inline C cuCadd##f(C a, C b) {                                                                                \
    return make_##C(a.x + b.x, a.y + b.y);                                                                             \
  }                                                                                                                    \
  static inline C cuCsub##f(C a, C b) {                                                                                \
    return make_##C(a.x - b.x, a.y - b.y);                                                                             \
  }                                                                                                                    \
  static inline C cuCmul##f(C a, C b) {                                                                                \
    return make_##C(a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x);                                                     \
  }                                                                                                                    \
  static inline C cuCdiv##f(C a, C b) {                                                                                \
    const T scale = 1 / (fabs##f(b.x) + fabs##f(b.y));                                                                 \
    const C p = make_##C(a.x * scale, a.y * scale), q = make_##C(b.x * scale, b.y * scale);                            \
    const T norm = 1 / (q.x * q.x + q.y * q.y);                                                                        \
    return make_##C((p.x * q.x + p.y * q.y) * norm, (p.y * q.x - p.x * q.y) * norm);                                   \
  }                                                                                                                    \
  static inline T cuCabs##f(C z) {                                                                                     \
    return hypot##f(z.x, z.y);                                                                                         \
  }                                                                                                                    \
  static inline C cuCfma##f(C a, C b, C c) {                                                                           \
    return cuCadd##f(cuCmul##f(a, b), c);                                                                              \
  }
CUDASIM_COMPLEX(f, float, cuFloatComplex)
CUDASIM_COMPLEX(, double, cuDoubleComplex)
#undef CUDASIM_COMPLEX

static inline cuComplex make_cuComplex(float re, float im) {
  return make_cuFloatComplex(re, im);
}
static inline cuDoubleComplex cuComplexFloatToDouble(cuFloatComplex z) {
  return make_cuDoubleComplex(z.x, z.y);
}
static inline cuFloatComplex cuComplexDoubleToFloat(cuDoubleComplex z) {
  return make_cuFloatComplex((float)z.x, (float)z.y);
}

#endif
