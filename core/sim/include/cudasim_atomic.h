// SPDX-License-Identifier: MIT
// Atomic functions, relaxed as on a device.
#ifndef CUDASIM_ATOMIC_H
#define CUDASIM_ATOMIC_H

#include "cudasim_warp.h"

// Around an operation, of kernels that are judged.
#ifdef CUDASIM_JUDGED
#include "cudasim_judged.h"
#define CUDASIM_EXCLUSIVE(address) const cudasim::exclusive cudasim_exclusively(address)
#else
#define CUDASIM_EXCLUSIVE(address) ((void)0)
#endif

#ifdef CUDASIM_INSPECT
extern "C" void cudasim_inspect_atomic(const void *address, size_t bytes);
#endif

namespace cudasim {

// *address = update(*address), atomically, on the bits (of type U) of a T; the old value.
template <class U, class T, class Update> CUDASIM_UNSEEN inline T atomic_loop(T *address, Update update) {
  static_assert(sizeof(U) == sizeof(T), "the bits of T");
  U *bits = reinterpret_cast<U *>(address);
  U old = __atomic_load_n(bits, __ATOMIC_RELAXED), desired;
  T before;
  do {
    __builtin_memcpy(static_cast<void *>(&before), &old, sizeof before);
    const T after = update(before);
    __builtin_memcpy(&desired, static_cast<const void *>(&after), sizeof desired);
  } while (!__atomic_compare_exchange_n(bits, &old, desired, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
  return before;
}

// An inspector sees one access, however often others come in between: on a GPU there is one.
template <class U, class T, class Update> inline T atomic_update(T *address, Update update) {
#ifdef CUDASIM_INSPECT
  cudasim_inspect_atomic(address, sizeof *address);
#endif
  return atomic_loop<U>(address, update);
}

// A loop that polls with atomics makes no progress by itself when the others cannot run meanwhile.
template <class T> inline T polled(T old, bool unchanged) {
  if (unchanged)
    cudasim_poll();
  return old;
}

} // namespace cudasim

#define CUDASIM_ATOMICS(T)                                                                                             \
  static inline T atomicAdd(T *address, T value) {                                                                     \
    CUDASIM_EXCLUSIVE(address);                                                                                        \
    return cudasim::polled(__atomic_fetch_add(address, value, __ATOMIC_RELAXED), value == 0);                          \
  }                                                                                                                    \
  static inline T atomicSub(T *address, T value) {                                                                     \
    CUDASIM_EXCLUSIVE(address);                                                                                        \
    return __atomic_fetch_sub(address, value, __ATOMIC_RELAXED);                                                       \
  }                                                                                                                    \
  static inline T atomicAnd(T *address, T value) {                                                                     \
    CUDASIM_EXCLUSIVE(address);                                                                                        \
    return __atomic_fetch_and(address, value, __ATOMIC_RELAXED);                                                       \
  }                                                                                                                    \
  static inline T atomicOr(T *address, T value) {                                                                      \
    CUDASIM_EXCLUSIVE(address);                                                                                        \
    return cudasim::polled(__atomic_fetch_or(address, value, __ATOMIC_RELAXED), value == 0);                           \
  }                                                                                                                    \
  static inline T atomicXor(T *address, T value) {                                                                     \
    CUDASIM_EXCLUSIVE(address);                                                                                        \
    return __atomic_fetch_xor(address, value, __ATOMIC_RELAXED);                                                       \
  }                                                                                                                    \
  static inline T atomicExch(T *address, T value) {                                                                    \
    CUDASIM_EXCLUSIVE(address);                                                                                        \
    const T old = __atomic_exchange_n(address, value, __ATOMIC_RELAXED);                                               \
    return cudasim::polled(old, old == value);                                                                         \
  }                                                                                                                    \
  static inline T atomicCAS(T *address, T compare, T value) {                                                          \
    CUDASIM_EXCLUSIVE(address);                                                                                        \
    T old = compare;                                                                                                   \
    bool done = __atomic_compare_exchange_n(address, &old, value, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);          \
    return cudasim::polled(old, !done || compare == value);                                                            \
  }                                                                                                                    \
  static inline T atomicMax(T *address, T value) {                                                                     \
    CUDASIM_EXCLUSIVE(address);                                                                                        \
    return cudasim::atomic_update<T>(address, [=](T old) CUDASIM_UNSEEN { return old < value ? value : old; });        \
  }                                                                                                                    \
  static inline T atomicMin(T *address, T value) {                                                                     \
    CUDASIM_EXCLUSIVE(address);                                                                                        \
    return cudasim::atomic_update<T>(address, [=](T old) CUDASIM_UNSEEN { return value < old ? value : old; });        \
  }

CUDASIM_ATOMICS(int)
CUDASIM_ATOMICS(unsigned int)
CUDASIM_ATOMICS(unsigned long long)
#undef CUDASIM_ATOMICS

static inline float atomicAdd(float *address, float value) {
  CUDASIM_EXCLUSIVE(address);
  return cudasim::atomic_update<uint32_t>(address, [=](float old) CUDASIM_UNSEEN { return old + value; });
}
static inline double atomicAdd(double *address, double value) {
  CUDASIM_EXCLUSIVE(address);
  return cudasim::atomic_update<uint64_t>(address, [=](double old) CUDASIM_UNSEEN { return old + value; });
}
static inline float atomicExch(float *address, float value) {
  CUDASIM_EXCLUSIVE(address);
  return cudasim::atomic_update<uint32_t>(address, [=](float) CUDASIM_UNSEEN { return value; });
}
static inline unsigned short atomicCAS(unsigned short *address, unsigned short compare, unsigned short value) {
  CUDASIM_EXCLUSIVE(address);
  unsigned short old = compare;
  bool done = __atomic_compare_exchange_n(address, &old, value, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
  return cudasim::polled(old, !done);
}
static inline unsigned int atomicInc(unsigned int *address, unsigned int limit) {
  CUDASIM_EXCLUSIVE(address);
  return cudasim::atomic_update<unsigned int>(address, [=](unsigned int old)
                                                           CUDASIM_UNSEEN { return old >= limit ? 0 : old + 1; });
}
static inline unsigned int atomicDec(unsigned int *address, unsigned int limit) {
  CUDASIM_EXCLUSIVE(address);
  return cudasim::atomic_update<unsigned int>(
      address, [=](unsigned int old) CUDASIM_UNSEEN { return old == 0 || old > limit ? limit : old - 1; });
}

static inline long long atomicMax(long long *address, long long value) {
  CUDASIM_EXCLUSIVE(address);
  return cudasim::atomic_update<long long>(address,
                                           [=](long long old) CUDASIM_UNSEEN { return old < value ? value : old; });
}
static inline long long atomicMin(long long *address, long long value) {
  CUDASIM_EXCLUSIVE(address);
  return cudasim::atomic_update<long long>(address,
                                           [=](long long old) CUDASIM_UNSEEN { return value < old ? value : old; });
}
static inline double atomicExch(double *address, double value) {
  CUDASIM_EXCLUSIVE(address);
  return cudasim::atomic_update<uint64_t>(address, [=](double) CUDASIM_UNSEEN { return value; });
}

// For the block alone or for the whole system: what is done is the same here. An inspector that is linked in hears of the former.
extern "C" void cudasim_inspect_atomic_of_block(void) __attribute__((weak));
namespace cudasim {
inline void of_block() {
  if (cudasim_inspect_atomic_of_block)
    cudasim_inspect_atomic_of_block();
}
} // namespace cudasim
#define CUDASIM_SCOPES(name)                                                                                           \
  template <class T, class V> inline T name##_block(T *address, V value) {                                             \
    cudasim::of_block();                                                                                               \
    return name(address, (T)value);                                                                                    \
  }                                                                                                                    \
  template <class T, class V> inline T name##_system(T *address, V value) {                                            \
    return name(address, (T)value);                                                                                    \
  }
CUDASIM_SCOPES(atomicAdd)
CUDASIM_SCOPES(atomicSub)
CUDASIM_SCOPES(atomicExch)
CUDASIM_SCOPES(atomicMin)
CUDASIM_SCOPES(atomicMax)
CUDASIM_SCOPES(atomicAnd)
CUDASIM_SCOPES(atomicOr)
CUDASIM_SCOPES(atomicXor)
CUDASIM_SCOPES(atomicInc)
CUDASIM_SCOPES(atomicDec)
#undef CUDASIM_SCOPES
template <class T, class C, class V> inline T atomicCAS_block(T *address, C compare, V value) {
  cudasim::of_block();
  return atomicCAS(address, (T)compare, (T)value);
}
template <class T, class C, class V> inline T atomicCAS_system(T *address, C compare, V value) {
  return atomicCAS(address, (T)compare, (T)value);
}

#endif
