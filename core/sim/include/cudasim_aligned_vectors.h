// SPDX-License-Identifier: MIT
// The vectors of four wide elements whose alignment CUDA 13 names.
#ifndef CUDASIM_ALIGNED_VECTORS_H
#define CUDASIM_ALIGNED_VECTORS_H

#include "cudasim_abi.h"

#define CUDASIM_WIDE(name, element)                                                                                    \
  struct __align__(16) name##4_16a {                                                                                   \
    element x, y, z, w;                                                                                                \
  };                                                                                                                   \
  struct __align__(32) name##4_32a {                                                                                   \
    element x, y, z, w;                                                                                                \
  };                                                                                                                   \
  static inline name##4_16a make_##name##4_16a(element x, element y, element z, element w) {                           \
    return {x, y, z, w};                                                                                               \
  }                                                                                                                    \
  static inline name##4_32a make_##name##4_32a(element x, element y, element z, element w) {                           \
    return {x, y, z, w};                                                                                               \
  }
CUDASIM_WIDE(long, long)
CUDASIM_WIDE(ulong, unsigned long)
CUDASIM_WIDE(longlong, long long)
CUDASIM_WIDE(ulonglong, unsigned long long)
CUDASIM_WIDE(double, double)
#undef CUDASIM_WIDE

#endif
