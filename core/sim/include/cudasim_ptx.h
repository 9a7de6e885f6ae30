// SPDX-License-Identifier: MIT
// What cu2cpp makes of inline PTX: one function for each instruction.
#ifndef CUDASIM_PTX_H
#define CUDASIM_PTX_H

#include <math.h>

#include "cudasim_intrinsics.h"
#include "cudasim_math.h"
#include "cudasim_simd.h"
#include "cudasim_warp.h"

namespace cudasim {
namespace ptx_op {

using ::cosf;
using ::exp2f;
using ::fma;
using ::fmaf;
using ::log2f;
using ::rsqrtf;
using ::sinf;
using ::sqrtf;
using ::tanhf;

template <class T, class V> inline void assign(T &to, V value) {
  if constexpr (sizeof(T) == sizeof(V)) // registers have bits, no types
    __builtin_memcpy(static_cast<void *>(&to), &value, sizeof value);
  else
    to = static_cast<T>(value);
}

// Each bit of the three, as three bits of a number, chooses a bit of the table.
inline unsigned int lop3(unsigned int a, unsigned int b, unsigned int c, unsigned int table) {
  unsigned int result = 0;
  for (int row = 0; row < 8; row++)
    if (table >> row & 1u)
      result |= (row & 4 ? a : ~a) & (row & 2 ? b : ~b) & (row & 1 ? c : ~c);
  return result;
}
inline unsigned int bfind(unsigned int a) {
  return a ? 31u - static_cast<unsigned int>(__builtin_clz(a)) : 0xffffffffu;
}
inline unsigned int popc(unsigned int a) {
  return static_cast<unsigned int>(__builtin_popcount(a));
}
inline unsigned int clz(unsigned int a) {
  return a ? static_cast<unsigned int>(__builtin_clz(a)) : 32u;
}
inline unsigned int brev(unsigned int a) {
  return __brev(a);
}
inline unsigned int prmt(unsigned int a, unsigned int b, unsigned int selector) {
  return __byte_perm(a, b, selector);
}
inline unsigned int absolute_differences(unsigned int a, unsigned int b, unsigned int c) {
  return __vsadu4(a, b) + c;
}
// Shifts by 32 and more leave nothing, unlike those of C.
inline unsigned int shl(unsigned int a, unsigned int by) {
  return by > 31 ? 0 : a << by;
}
inline unsigned int shr(unsigned int a, unsigned int by) {
  return by > 31 ? 0 : a >> by;
}
inline unsigned int bfe(unsigned int a, unsigned int first, unsigned int bits) {
  first &= 255u;
  bits &= 255u;
  return shr(a, first) & (bits > 31 ? ~0u : (1u << bits) - 1u);
}
inline unsigned int bfe_signed(unsigned int a, unsigned int first, unsigned int bits) {
  first &= 255u;
  bits &= 255u;
  if (bits == 0)
    return 0;
  const unsigned int top = first + bits - 1 > 31 ? 31 : first + bits - 1, sign = a >> top & 1u;
  const unsigned int field = bfe(a, first, bits);
  const unsigned int width = top >= first ? top - first + 1 : 0;
  return sign && width < 32 ? field | ~0u << width : field;
}
inline unsigned int bfi(unsigned int field, unsigned int into, unsigned int first, unsigned int bits) {
  first &= 255u;
  bits &= 255u;
  const unsigned int mask = shl(bits > 31 ? ~0u : (1u << bits) - 1u, first);
  return (into & ~mask) | (shl(field, first) & mask);
}
inline unsigned int shf_left(unsigned int low, unsigned int high, unsigned int by) {
  return by & 31u ? high << (by & 31u) | low >> (32u - (by & 31u)) : high;
}
inline unsigned int shf_right(unsigned int low, unsigned int high, unsigned int by) {
  return by & 31u ? low >> (by & 31u) | high << (32u - (by & 31u)) : low;
}
inline unsigned int both(unsigned int a, unsigned int b) {
  return a & b;
}
inline unsigned int either(unsigned int a, unsigned int b) {
  return a | b;
}
inline unsigned int differs(unsigned int a, unsigned int b) {
  return a ^ b;
}
inline unsigned int inverse(unsigned int a) {
  return ~a;
}
inline unsigned int add(unsigned int a, unsigned int b) {
  return a + b;
}
inline unsigned int sub(unsigned int a, unsigned int b) {
  return a - b;
}
inline unsigned int mul(unsigned int a, unsigned int b) {
  return a * b;
}
inline unsigned int mul_high(unsigned int a, unsigned int b) {
  return static_cast<unsigned int>(static_cast<unsigned long long>(a) * b >> 32);
}
inline unsigned int mad(unsigned int a, unsigned int b, unsigned int c) {
  return a * b + c;
}
template <class T> inline T same(T value) {
  return value;
}
inline float reciprocal(float x) {
  return 1.0f / x;
}

// One value or several that follow each other. A thread may be waiting for what it reads.
template <class T, class A, class... V> inline void load(A address, V &...values) {
  cudasim_poll();
  const volatile T *const from = reinterpret_cast<const volatile T *>(address);
  int i = 0;
  (assign(values, static_cast<T>(from[i++])), ...);
  __atomic_thread_fence(__ATOMIC_ACQUIRE);
}
template <class T, class V> inline T bits_of(V value) {
  if constexpr (sizeof(T) == sizeof(V)) {
    T result;
    __builtin_memcpy(&result, &value, sizeof result);
    return result;
  } else {
    return static_cast<T>(value);
  }
}
template <class T, class A, class... V> inline void store(A address, V... values) {
  __atomic_thread_fence(__ATOMIC_RELEASE);
  volatile T *const to = reinterpret_cast<volatile T *>(address);
  int i = 0;
  ((to[i++] = bits_of<T>(values)), ...);
}

inline void trap(const char *file = __builtin_FILE(), int line = __builtin_LINE()) {
  cudasim_refuse("trap", file, line);
}

} // namespace ptx_op
} // namespace cudasim

#endif
