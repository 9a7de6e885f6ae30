// SPDX-License-Identifier: MIT
// CUDA's functions on two halves or four bytes of a word, and its minima and maxima of three.
#ifndef CUDASIM_SIMD_H
#define CUDASIM_SIMD_H

#include <stdint.h>

#include <type_traits>

namespace cudasim {
namespace simd {

// f of each part of a and b, as numbers of type T, as the same part of the result.
template <class T, class F> inline unsigned int each(unsigned int a, unsigned int b, F f) {
  constexpr int bits = 8 * static_cast<int>(sizeof(T));
  unsigned int result = 0;
  for (int at = 0; at < 32; at += bits) {
    const int value = f(static_cast<int>(static_cast<T>(a >> at)), static_cast<int>(static_cast<T>(b >> at)));
    result |= (static_cast<unsigned int>(value) & ((1u << bits) - 1u)) << at;
  }
  return result;
}
template <class T, class F> inline unsigned int sum(unsigned int a, unsigned int b, F f) {
  unsigned int result = 0;
  for (int at = 0; at < 32; at += 8 * static_cast<int>(sizeof(T)))
    result += static_cast<unsigned int>(
        f(static_cast<int>(static_cast<T>(a >> at)), static_cast<int>(static_cast<T>(b >> at))));
  return result;
}
// Within T's range.
template <class T> inline int saturated(int value) {
  constexpr int most = (1 << (8 * sizeof(T) - std::is_signed_v<T>)) - 1, least = std::is_signed_v<T> ? -most - 1 : 0;
  return value > most ? most : value < least ? least : value;
}
inline int distance(int a, int b) {
  return a < b ? b - a : a - b;
}
// Half of a sum, rounded; halves of negative ones downwards.
inline int average(int a, int b) {
  return (a + b + (a + b >= 0)) >> 1;
}

} // namespace simd
} // namespace cudasim

#define CUDASIM_SIMD_1(name, T, parts, value)                                                                          \
  static inline unsigned int __v##name##parts(unsigned int x) {                                                        \
    return cudasim::simd::each<T>(x, 0, [](int a, int) -> int { return value; });                                      \
  }
#define CUDASIM_SIMD_2(name, T, parts, value)                                                                          \
  static inline unsigned int __v##name##parts(unsigned int x, unsigned int y) {                                        \
    return cudasim::simd::each<T>(x, y, [](int a, int b) -> int { return value; });                                    \
  }
#define CUDASIM_SIMD_SUM(name, T, parts)                                                                               \
  static inline unsigned int __v##name##parts(unsigned int x, unsigned int y) {                                        \
    return cudasim::simd::sum<T>(x, y, [](int a, int b) { return cudasim::simd::distance(a, b); });                    \
  }
#define CUDASIM_SIMD_COMPARE(name, T, parts, condition)                                                                \
  CUDASIM_SIMD_2(cmp##name, T, parts, (condition) ? -1 : 0)                                                            \
  CUDASIM_SIMD_2(set##name, T, parts, (condition) ? 1 : 0)
#define CUDASIM_SIMD(S, U, parts)                                                                                      \
  CUDASIM_SIMD_1(abs, S, parts, a < 0 ? -a : a)                                                                        \
  CUDASIM_SIMD_1(absss, S, parts, cudasim::simd::saturated<S>(a < 0 ? -a : a))                                         \
  CUDASIM_SIMD_1(neg, S, parts, -a)                                                                                    \
  CUDASIM_SIMD_1(negss, S, parts, cudasim::simd::saturated<S>(-a))                                                     \
  CUDASIM_SIMD_2(absdiffs, S, parts, cudasim::simd::distance(a, b))                                                    \
  CUDASIM_SIMD_2(absdiffu, U, parts, cudasim::simd::distance(a, b))                                                    \
  CUDASIM_SIMD_2(add, U, parts, a + b)                                                                                 \
  CUDASIM_SIMD_2(addss, S, parts, cudasim::simd::saturated<S>(a + b))                                                  \
  CUDASIM_SIMD_2(addus, U, parts, cudasim::simd::saturated<U>(a + b))                                                  \
  CUDASIM_SIMD_2(sub, U, parts, a - b)                                                                                 \
  CUDASIM_SIMD_2(subss, S, parts, cudasim::simd::saturated<S>(a - b))                                                  \
  CUDASIM_SIMD_2(subus, U, parts, cudasim::simd::saturated<U>(a - b))                                                  \
  CUDASIM_SIMD_2(avgs, S, parts, cudasim::simd::average(a, b))                                                         \
  CUDASIM_SIMD_2(avgu, U, parts, cudasim::simd::average(a, b))                                                         \
  CUDASIM_SIMD_2(haddu, U, parts, (a + b) / 2)                                                                         \
  CUDASIM_SIMD_2(maxs, S, parts, a > b ? a : b)                                                                        \
  CUDASIM_SIMD_2(maxu, U, parts, a > b ? a : b)                                                                        \
  CUDASIM_SIMD_2(mins, S, parts, a < b ? a : b)                                                                        \
  CUDASIM_SIMD_2(minu, U, parts, a < b ? a : b)                                                                        \
  CUDASIM_SIMD_SUM(sads, S, parts)                                                                                     \
  CUDASIM_SIMD_SUM(sadu, U, parts)                                                                                     \
  CUDASIM_SIMD_COMPARE(eq, U, parts, a == b)                                                                           \
  CUDASIM_SIMD_COMPARE(ne, U, parts, a != b)                                                                           \
  CUDASIM_SIMD_COMPARE(ges, S, parts, a >= b)                                                                          \
  CUDASIM_SIMD_COMPARE(geu, U, parts, a >= b)                                                                          \
  CUDASIM_SIMD_COMPARE(gts, S, parts, a > b)                                                                           \
  CUDASIM_SIMD_COMPARE(gtu, U, parts, a > b)                                                                           \
  CUDASIM_SIMD_COMPARE(les, S, parts, a <= b)                                                                          \
  CUDASIM_SIMD_COMPARE(leu, U, parts, a <= b)                                                                          \
  CUDASIM_SIMD_COMPARE(lts, S, parts, a < b)                                                                           \
  CUDASIM_SIMD_COMPARE(ltu, U, parts, a < b)
CUDASIM_SIMD(int16_t, uint16_t, 2)
CUDASIM_SIMD(int8_t, uint8_t, 4)
#undef CUDASIM_SIMD
#undef CUDASIM_SIMD_COMPARE
#undef CUDASIM_SIMD_SUM
#undef CUDASIM_SIMD_2
#undef CUDASIM_SIMD_1

// ---- minima and maxima, of three, of sums; of words, and of halves that lie in a word ----

namespace cudasim {
namespace simd {

// f of each part, computed in T.
template <class T, class W, class F> inline W parts(W a, W b, W c, F f) {
  unsigned int result = 0;
  for (int at = 0; at < 32; at += 8 * static_cast<int>(sizeof(T)))
    result |=
        static_cast<unsigned int>(static_cast<std::make_unsigned_t<T>>(
            f(static_cast<T>(static_cast<unsigned int>(a) >> at), static_cast<T>(static_cast<unsigned int>(b) >> at),
              static_cast<T>(static_cast<unsigned int>(c) >> at))))
        << at;
  return static_cast<W>(result);
}
template <class T> inline T most(T a, T b) {
  return a > b ? a : b;
}
template <class T> inline T least(T a, T b) {
  return a < b ? a : b;
}
template <class T> inline T wrapped_sum(T a, T b) { // of 16 or 32 bits
  return static_cast<T>(static_cast<unsigned int>(a) + static_cast<unsigned int>(b));
}

} // namespace simd
} // namespace cudasim

#define CUDASIM_DPX(name, W, T, value)                                                                                 \
  static inline W name(W x, W y, W z) {                                                                                \
    using namespace cudasim::simd;                                                                                     \
    return parts<T>(x, y, z, [](T a, T b, T c) -> T { return value; });                                                \
  }
#define CUDASIM_DPX_OF(best, suffix, W, T)                                                                             \
  CUDASIM_DPX(__vi##best##3_##suffix, W, T, CUDASIM_##best(CUDASIM_##best(a, b), c))                                   \
  CUDASIM_DPX(__viadd##best##_##suffix, W, T, CUDASIM_##best(wrapped_sum(a, b), c))
#define CUDASIM_DPX_SIGNED(best, suffix, W, T)                                                                         \
  CUDASIM_DPX(__vi##best##3_##suffix##_relu, W, T, most<T>(CUDASIM_##best(CUDASIM_##best(a, b), c), 0))                \
  CUDASIM_DPX(__viadd##best##_##suffix##_relu, W, T, most<T>(CUDASIM_##best(wrapped_sum(a, b), c), 0))                 \
  static inline W __vi##best##_##suffix##_relu(W x, W y) {                                                             \
    using namespace cudasim::simd;                                                                                     \
    return parts<T>(x, y, static_cast<W>(0), [](T a, T b, T) -> T { return most<T>(CUDASIM_##best(a, b), 0); });       \
  }
// Which of the two it was: true for the first, and where they are the same.
#define CUDASIM_DPX_WORD(best, suffix, T)                                                                              \
  static inline T __vib##best##_##suffix(T a, T b, bool *first) {                                                      \
    using namespace cudasim::simd;                                                                                     \
    *first = CUDASIM_##best(a, b) == a;                                                                                \
    return *first ? a : b;                                                                                             \
  }
#define CUDASIM_DPX_HALVES(best, suffix, T)                                                                            \
  static inline unsigned int __vib##best##_##suffix(unsigned int a, unsigned int b, bool *high, bool *low) {           \
    using namespace cudasim::simd;                                                                                     \
    *high = CUDASIM_##best(static_cast<T>(a >> 16), static_cast<T>(b >> 16)) == static_cast<T>(a >> 16);               \
    *low = CUDASIM_##best(static_cast<T>(a), static_cast<T>(b)) == static_cast<T>(a);                                  \
    return ((*high ? a : b) & 0xffff0000u) | ((*low ? a : b) & 0xffffu);                                               \
  }
#define CUDASIM_max most
#define CUDASIM_min least
#define CUDASIM_DPX_ALL(best)                                                                                          \
  CUDASIM_DPX_OF(best, s32, int, int)                                                                                  \
  CUDASIM_DPX_OF(best, u32, unsigned int, unsigned int)                                                                \
  CUDASIM_DPX_OF(best, s16x2, unsigned int, int16_t)                                                                   \
  CUDASIM_DPX_OF(best, u16x2, unsigned int, uint16_t)                                                                  \
  CUDASIM_DPX_SIGNED(best, s32, int, int)                                                                              \
  CUDASIM_DPX_SIGNED(best, s16x2, unsigned int, int16_t)                                                               \
  CUDASIM_DPX_WORD(best, s32, int)                                                                                     \
  CUDASIM_DPX_WORD(best, u32, unsigned int)                                                                            \
  CUDASIM_DPX_HALVES(best, s16x2, int16_t)                                                                             \
  CUDASIM_DPX_HALVES(best, u16x2, uint16_t)
CUDASIM_DPX_ALL(max)
CUDASIM_DPX_ALL(min)
#undef CUDASIM_DPX_ALL
#undef CUDASIM_max
#undef CUDASIM_min
#undef CUDASIM_DPX_HALVES
#undef CUDASIM_DPX_WORD
#undef CUDASIM_DPX_SIGNED
#undef CUDASIM_DPX_OF
#undef CUDASIM_DPX

#endif
