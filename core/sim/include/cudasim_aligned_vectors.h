// The vectors of four wide elements whose alignment CUDA 13 names.
#ifndef CUDASIM_ALIGNED_VECTORS_H
#define CUDASIM_ALIGNED_VECTORS_H

#include "cudasim_abi.h"

#define CUDASIM_ALIGNED(name, element)                                                                                 \
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
CUDASIM_ALIGNED(long, long)
CUDASIM_ALIGNED(ulong, unsigned long)
CUDASIM_ALIGNED(longlong, long long)
CUDASIM_ALIGNED(ulonglong, unsigned long long)
CUDASIM_ALIGNED(double, double)
#undef CUDASIM_ALIGNED

#endif
