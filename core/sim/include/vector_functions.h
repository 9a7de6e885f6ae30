// SPDX-License-Identifier: MIT
// make_float4 and its like.
#ifndef CUDASIM_VECTOR_FUNCTIONS_H
#define CUDASIM_VECTOR_FUNCTIONS_H
#define __VECTOR_FUNCTIONS_H__ // what helper headers ask for

#include "vector_types.h"

#define CUDASIM_MAKE(name, element)                                                                                    \
  static inline name##1 make_##name##1(element x) {                                                                    \
    return name##1 {x};                                                                                                \
  }                                                                                                                    \
  static inline name##2 make_##name##2(element x, element y) {                                                         \
    return name##2 {x, y};                                                                                             \
  }                                                                                                                    \
  static inline name##3 make_##name##3(element x, element y, element z) {                                              \
    return name##3 {x, y, z};                                                                                          \
  }                                                                                                                    \
  static inline name##4 make_##name##4(element x, element y, element z, element w) {                                   \
    return name##4 {x, y, z, w};                                                                                       \
  }

CUDASIM_MAKE(char, signed char)
CUDASIM_MAKE(uchar, unsigned char)
CUDASIM_MAKE(short, short)
CUDASIM_MAKE(ushort, unsigned short)
CUDASIM_MAKE(int, int)
CUDASIM_MAKE(uint, unsigned int)
CUDASIM_MAKE(long, long)
CUDASIM_MAKE(ulong, unsigned long)
CUDASIM_MAKE(longlong, long long)
CUDASIM_MAKE(ulonglong, unsigned long long)
CUDASIM_MAKE(float, float)
CUDASIM_MAKE(double, double)
#undef CUDASIM_MAKE

#endif
