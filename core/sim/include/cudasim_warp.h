// SPDX-License-Identifier: MIT
// Barriers, votes and shuffles. Each passes its place in the source on: a deadlock's message names it.
#ifndef CUDASIM_WARP_H
#define CUDASIM_WARP_H

#include <string.h>

#include "cudasim_launch.h"

#ifdef CUDASIM_STEP
#include "cudasim_step.h"
#endif

enum cudasim_vote { CUDASIM_VOTE_COUNT, CUDASIM_VOTE_AND, CUDASIM_VOTE_OR, CUDASIM_VOTES };

CUDASIM_BEGIN_C
void cudasim_barrier(const char *file, int line);
int cudasim_barrier_vote(int predicate, enum cudasim_vote vote, const char *file, int line);
// Waits for the lanes of `mask`; the values they brought, one per lane, and in *lanes which of them came.
const uint64_t *cudasim_warp(unsigned int mask, uint64_t value, unsigned int *lanes, const char *file, int line);
// Which lanes of `mask` came with a predicate that is not 0.
unsigned int cudasim_ballot(unsigned int mask, int predicate, const char *file, int line);
unsigned int cudasim_active_lanes(const char *file, int line, const void *function);
// Called where a thread may be waiting for another by polling memory: now and then lets the others run.
void cudasim_poll(void);
void cudasim_pause(void); // the same at once: where a thread is known to wait
void cudasim_fence(void);
void cudasim_fence_block(void);
// For an inspector: what this thread has done is known to those that acquire the same later. The objects of namespace cuda, whose own
// memory it does not see.
void cudasim_release(const void *object);
void cudasim_acquire(const void *object);
// For an inspector: what this thread has asked to be copied to shared memory, by groups of such copies, and what it has waited for.
void cudasim_async_write(const void *to, size_t bytes);
void cudasim_async_commit(void);
void cudasim_async_wait(size_t prior);
// Blocks of a cooperative launch wait for each other; whether this launch is one.
void cudasim_grid_barrier(const char *file, int line);
int cudasim_is_cooperative(void);
int cudasim_in_kernel(void); // false on the host
// Says on stderr what cannot be simulated, with kernel, block, thread, file and line, and fails the kernel with
// cudaErrorNotSupported; outside a kernel ends the program.
void cudasim_refuse(const char *what, const char *file, int line) __attribute__((noreturn));
CUDASIM_END_C

#ifdef __cplusplus
#define CUDASIM_HERE const char *file = __builtin_FILE(), int line = __builtin_LINE()

static __forceinline__ void __syncthreads(CUDASIM_HERE) {
  cudasim_barrier(file, line);
}
static inline int __syncthreads_count(int predicate, CUDASIM_HERE) {
  return cudasim_barrier_vote(predicate, CUDASIM_VOTE_COUNT, file, line);
}
static inline int __syncthreads_and(int predicate, CUDASIM_HERE) {
  return cudasim_barrier_vote(predicate, CUDASIM_VOTE_AND, file, line);
}
static inline int __syncthreads_or(int predicate, CUDASIM_HERE) {
  return cudasim_barrier_vote(predicate, CUDASIM_VOTE_OR, file, line);
}

static inline void __syncwarp(unsigned int mask = 0xffffffffu, CUDASIM_HERE) {
  unsigned int lanes;
  cudasim_warp(mask, 0, &lanes, file, line);
}
// The lanes that come to this place together: this one waits for those that still can. A function that asks and is called in several
// branches is a place for each call: by the address that it, or whoever it is inlined into, returns to.
static inline __attribute__((always_inline)) unsigned int __activemask(CUDASIM_HERE) {
  return cudasim_active_lanes(file, line, __builtin_return_address(0));
}

static inline unsigned int __ballot_sync(unsigned int mask, int predicate, CUDASIM_HERE) {
#ifdef CUDASIM_STEP
  cudasim_step_brings(mask, predicate != 0, 'b', 1, -1);
#endif
  return cudasim_ballot(mask, predicate, file, line);
}
static inline int __any_sync(unsigned int mask, int predicate, CUDASIM_HERE) {
  return __ballot_sync(mask, predicate, file, line) != 0;
}
static inline int __all_sync(unsigned int mask, int predicate, CUDASIM_HERE) {
#ifdef CUDASIM_STEP
  cudasim_step_brings(mask, predicate != 0, 'b', 1, -1);
#endif
  return cudasim_ballot(mask, !predicate, file, line) == 0;
}

// A shuffle is one instruction of a GPU's: to an inspector its inside is no part of the kernel.
#ifdef CUDASIM_INSPECT
#define CUDASIM_SHUFFLE template <class T> __attribute__((noinline)) CUDASIM_UNSEEN
#else
#define CUDASIM_SHUFFLE template <class T> inline
#endif

namespace cudasim {

CUDASIM_UNSEEN static inline int lane(void) {
  return static_cast<int>((threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z)) & 31u);
}

// `source` maps (lane, first lane of the segment, segment width) to the lane to read from.
template <class T, class Source>
CUDASIM_UNSEEN inline T shuffle(unsigned int mask, T value, int width, const char *file, int line, Source source) {
  if constexpr (sizeof(T) > 8) { // in pieces
    T whole;
    for (size_t at = 0; at < sizeof(T); at += 8) {
      const size_t bytes = sizeof(T) - at < 8 ? sizeof(T) - at : 8;
      uint64_t piece = 0;
      __builtin_memcpy(&piece, reinterpret_cast<const char *>(&value) + at, bytes);
      piece = shuffle(mask, piece, width, file, line, source);
      __builtin_memcpy(reinterpret_cast<char *>(&whole) + at, &piece, bytes);
    }
    return whole;
  } else {
    uint64_t bits = 0;
    __builtin_memcpy(&bits, &value, sizeof value);
    unsigned int lanes;
    int self = lane(), first = self & ~(width - 1);
    int from = source(self, first, width);
#ifdef CUDASIM_STEP
    cudasim_step_brings(mask, bits,
                        std::is_floating_point_v<T> ? 'f'
                        : std::is_signed_v<T>       ? 'i'
                                                    : 'u',
                        sizeof value, from);
#endif
    const uint64_t *values = cudasim_warp(mask, bits, &lanes, file, line);
    uint64_t found = values[self];
    if (lanes >> from & 1)
      found = values[from];
#if defined(CUDASIM_JUDGED) || defined(CUDASIM_INSPECT)
    else // undefined on a GPU; an answer that uses it is to be seen: very large as a number of any type, or very small
      found = self & 1 ? 0xda5a5a5ada5a5a5aull : 0x5a5a5a5a5a5a5a5aull;
#endif
    T result;
    __builtin_memcpy(&result, &found, sizeof result);
    return result;
  }
}

} // namespace cudasim

CUDASIM_SHUFFLE T __shfl_sync(unsigned int mask, T value, int source, int width = 32, CUDASIM_HERE) {
  return cudasim::shuffle(mask, value, width, file, line,
                          [=](int, int first, int w) CUDASIM_UNSEEN { return first + (source & (w - 1)); });
}
CUDASIM_SHUFFLE T __shfl_up_sync(unsigned int mask, T value, unsigned int delta, int width = 32, CUDASIM_HERE) {
  return cudasim::shuffle(mask, value, width, file, line, [=](int self, int first, int) CUDASIM_UNSEEN {
    return self - (int)delta < first ? self : self - (int)delta;
  });
}
CUDASIM_SHUFFLE T __shfl_down_sync(unsigned int mask, T value, unsigned int delta, int width = 32, CUDASIM_HERE) {
  return cudasim::shuffle(mask, value, width, file, line, [=](int self, int first, int w) CUDASIM_UNSEEN {
    return self + (int)delta >= first + w ? self : self + (int)delta;
  });
}
CUDASIM_SHUFFLE T __shfl_xor_sync(unsigned int mask, T value, int lanes, int width = 32, CUDASIM_HERE) {
  return cudasim::shuffle(mask, value, width, file, line, [=](int self, int first, int w) CUDASIM_UNSEEN {
    return (self ^ lanes) >= first + w ? self : self ^ lanes;
  });
}

#undef CUDASIM_SHUFFLE
#undef CUDASIM_HERE

static inline void __threadfence(void) {
  cudasim_fence();
}
static inline void __threadfence_system(void) {
  cudasim_fence();
}
static inline void __threadfence_block(void) {
#if defined(CUDASIM_JUDGED) || defined(CUDASIM_INSPECT)
  cudasim_fence_block();
#else
  __atomic_signal_fence(__ATOMIC_SEQ_CST);
#endif
}
static inline void __nanosleep(unsigned int) {
  cudasim_poll();
}

#endif

#endif
