// SPDX-License-Identifier: MIT
// CUDA's small vector types, under CUDA's own names, valid in C and in C++.
#ifndef CUDASIM_VECTOR_TYPES_H
#define CUDASIM_VECTOR_TYPES_H
#define __VECTOR_TYPES_H__ // what helper headers ask for

#define CUDASIM_ALIGNED(bytes) __attribute__((aligned(bytes)))
/* A float4 or uint4 is also how kernels copy whatever has 16 bytes: what such a pointer reads may be of any type. */
#define CUDASIM_ANY __attribute__((may_alias))

#define CUDASIM_VECTORS(name, element, align2, align4)                                                                 \
  struct CUDASIM_ANY name##1 {                                                                                         \
    element x;                                                                                                         \
  };                                                                                                                   \
  struct CUDASIM_ANY CUDASIM_ALIGNED(align2) name##2 {                                                                 \
    element x, y;                                                                                                      \
  };                                                                                                                   \
  struct CUDASIM_ANY name##3 {                                                                                         \
    element x, y, z;                                                                                                   \
  };                                                                                                                   \
  struct CUDASIM_ANY CUDASIM_ALIGNED(align4) name##4 {                                                                 \
    element x, y, z, w;                                                                                                \
  };                                                                                                                   \
  typedef struct name##1 name##1;                                                                                      \
  typedef struct name##2 name##2;                                                                                      \
  typedef struct name##3 name##3;                                                                                      \
  typedef struct name##4 name##4;

CUDASIM_VECTORS(char, signed char, 2, 4)
CUDASIM_VECTORS(uchar, unsigned char, 2, 4)
CUDASIM_VECTORS(short, short, 4, 8)
CUDASIM_VECTORS(ushort, unsigned short, 4, 8)
CUDASIM_VECTORS(int, int, 8, 16)
CUDASIM_VECTORS(uint, unsigned int, 8, 16)
CUDASIM_VECTORS(long, long, 16, 16)
CUDASIM_VECTORS(ulong, unsigned long, 16, 16)
CUDASIM_VECTORS(longlong, long long, 16, 16)
CUDASIM_VECTORS(ulonglong, unsigned long long, 16, 16)
CUDASIM_VECTORS(float, float, 8, 16)
CUDASIM_VECTORS(double, double, 16, 16)

// The size of a grid in blocks, or of a block in threads.
struct dim3 {
  unsigned int x, y, z;
#ifdef __cplusplus
  constexpr dim3(unsigned int vx = 1, unsigned int vy = 1, unsigned int vz = 1) : x(vx), y(vy), z(vz) {
  }
  constexpr dim3(uint3 v) : x(v.x), y(v.y), z(v.z) {
  }
  constexpr operator uint3(void) const {
    return uint3{x, y, z};
  }
#endif
};
typedef struct dim3 dim3;

#endif
