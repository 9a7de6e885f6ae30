// SPDX-License-Identifier: MIT
// What a kernel calls that cu2cpp --split has made loops over a block's threads of.
#ifndef CUDASIM_SPLIT_H
#define CUDASIM_SPLIT_H

#include "cudasim_launch.h"

// Sanitizers look at each thread by itself; so does the inspector, unless cu2cpp has made loops that tell whose turn it is (--instrument).
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || defined(CUDASIM_STATIC_SHARED) ||                 \
    defined(CUDASIM_INSPECT) || defined(CUDASIM_JUDGED)
#define CUDASIM_SPLIT 0
#else
#define CUDASIM_SPLIT 1
#endif

CUDASIM_BEGIN_C
// The handshake between the runtime and a kernel that has loops, for each block. The runtime sets cudasim_run_as_loop before it calls the
// kernel for the first thread; the loops set it as they begin and end.
enum {
  CUDASIM_LOOP_NO,      // runtime: one call runs one thread (on fibers, if it waits)
  CUDASIM_LOOP_OFFERED, // runtime: this call may run the whole block
  CUDASIM_LOOP_RUNS,    // kernel: its loops run the block
  CUDASIM_LOOP_DONE     // kernel: they have run it; the runtime calls no further thread
};
enum {
  CUDASIM_LOOP_MAX_ORIGIN = 0x7fffffff - 1024
}; // largest place in the grid at which a block of loops may begin: they count in int
extern __thread int cudasim_run_as_loop CUDASIM_BUILT_IN(run_as_loop);
// Block coarsening: the runtime offers so many neighboring blocks of the grid's row, from blockIdx on, to one call. The kernel says how many
// of them it has run; 0: it only runs its own block.
struct cudasim_blocks {
  unsigned int offered, taken;
};
extern __thread struct cudasim_blocks cudasim_coarsened CUDASIM_BUILT_IN(coarsened);
void cudasim_passed(const char *file, int line, int votes);
// What loops tell that are looked at (core/inspect/runtime/loops.c).
int cudasim_inspect_run_as_loop(unsigned int origin) __attribute__((nothrow));
void cudasim_inspect_on_fibers(void); // the block starts again, thread by thread
int cudasim_inspect_backwards(void) __attribute__((nothrow));
void cudasim_inspect_runs(int thread, unsigned int x, unsigned int y, unsigned int z) __attribute__((nothrow));
void cudasim_inspect_rests(void) __attribute__((nothrow));
void cudasim_inspect_met(int first, int lanes) __attribute__((nothrow));
CUDASIM_END_C

#ifdef __cplusplus
namespace cudasim {

enum { MOST_THREADS = 1024 }; // of a block

// threadIdx within a loop over the threads.
struct place {
  unsigned int x, y, z;
  __forceinline__ operator uint3(void) const {
    return {x, y, z};
  }
  __forceinline__ operator dim3(void) const {
    return dim3(x, y, z);
  }
};

// The loops count from `origin`, in int. Whether they are to run; then they do.
#ifndef CUDASIM_INSPECT
static __forceinline__ bool whole_block(unsigned int origin) {
  if (!CUDASIM_SPLIT || cudasim_run_as_loop != CUDASIM_LOOP_OFFERED || origin > CUDASIM_LOOP_MAX_ORIGIN)
    return false;
  cudasim_run_as_loop = CUDASIM_LOOP_RUNS;
  return true;
}
static __forceinline__ void run_on_fibers(void) {
  cudasim_run_as_loop = CUDASIM_LOOP_NO;
}
#else
static __forceinline__ bool whole_block(unsigned int origin) {
  return cudasim_inspect_run_as_loop(origin);
}
static __forceinline__ void run_on_fibers(void) {
  cudasim_inspect_on_fibers();
}
// A block's threads take turns in descending order.
static __forceinline__ bool backwards(void) {
  return cudasim_inspect_backwards();
}
// As long as there is one this thread of the block runs; between two turns none does.
struct running {
  __forceinline__ running(int thread, const place &at) {
    cudasim_inspect_runs(thread, at.x, at.y, at.z);
  }
  __forceinline__ ~running() {
    cudasim_inspect_rests();
  }
};
// The lanes of the warp that begins with thread `first` have come to a warp function.
static __forceinline__ void met(int first, int lanes) {
  cudasim_inspect_met(first, lanes);
}
#endif

// The same for a kernel whose blocks can be coarsened into one wide block, where blockIdx.x * width is a block's first place.
static __forceinline__ bool whole_block(unsigned int origin, unsigned int width) {
  if (!whole_block(origin))
    return false;
  cudasim_coarsened.taken = width == blockDim.x ? cudasim_coarsened.offered : 1;
  return true;
}

// A barrier between two loops: all threads have come to it.
static __forceinline__ void passed(const char *file = __builtin_FILE(), int line = __builtin_LINE()) {
  cudasim_passed(file, line, 0);
}

// One that takes votes, which have been taken.
static __forceinline__ void voted(const char *file = __builtin_FILE(), int line = __builtin_LINE()) {
  cudasim_passed(file, line, 1);
}

// The first of the threads from `low` to `high` that does as the last one, where the first does not.
template <class On> __forceinline__ int find_change(const On &on, int low, int high) {
  const bool at_low = on(low);
  while (high - low > 1) {
    const int middle = low + (high - low) / 2;
    if (on(middle) == at_low)
      low = middle;
    else
      high = middle;
  }
  return high;
}

// The threads of a row for which a condition holds that holds for neighbors: from `from` to before `to`.
template <class On> __forceinline__ void find_run(const On &on, int first, int end, int &from, int &to) {
  from = first;
  to = end;
  const bool at_first = on(first), at_last = on(end - 1);
  if (at_first && at_last)
    return;
  if (at_first || at_last) {
    (at_first ? to : from) = find_change(on, first, end - 1);
    return;
  }
  int one = first + (end - first) / 2; // most likely one that passes, in a wide row
  for (from = one = on(one) ? one : first; one < end && !on(one);)
    from = ++one;
  to = from;
  if (from == end)
    return;
  from = from > first ? find_change(on, first, from) : from;
  to = find_change(on, one, end - 1);
}

// ---- warps ----

enum { WARP = 32 };

// Warps of whole rows of the block, or of parts of one: their lanes are neighbors in x.
static __forceinline__ bool whole_rows(void) {
  return blockDim.x % WARP == 0 || blockDim.y * blockDim.z == 1;
}

// What has to be the same for the lanes of each warp is; otherwise the threads run one by one.
static __forceinline__ bool agreed(bool is_so) {
  if (!is_so)
    run_on_fibers();
  return is_so;
}

static __forceinline__ unsigned int lane_bits(int lanes) {
  return lanes < WARP ? (1u << lanes) - 1 : 0xffffffffu;
}

// What the lanes of a warp bring to a shuffle.
struct warp_room {
  alignas(64) char bytes[WARP * 32];

  template <class T> __forceinline__ void put(int lane, const T &value) {
    static_assert(sizeof(T) <= 32, "a shuffle of more than 32 bytes");
    __builtin_memcpy(bytes + lane * (int)sizeof(T), &value, sizeof(T));
  }
  template <class T> __forceinline__ T get(int lane) const {
    T value;
    __builtin_memcpy(&value, bytes + lane * (int)sizeof(T), sizeof(T));
    return value;
  }
  // Of a lane that is not there, the own value: undefined on a GPU. Where an inspector looks it is to be seen (cudasim_warp.h).
  template <class T> __forceinline__ T get(int from, int self, int lanes) const {
#ifdef CUDASIM_INSPECT
    if (static_cast<unsigned int>(from) >= static_cast<unsigned int>(lanes)) {
      T strange;
      __builtin_memset(&strange, self & 1 ? 0xda : 0x5a, sizeof strange);
      return strange;
    }
#endif
    return get<T>(static_cast<unsigned int>(from) < static_cast<unsigned int>(lanes) ? from : self);
  }
};

template <class T>
__forceinline__ auto cudasim_warp_shfl(const warp_room &r, int self, int lanes, int source, int width = 32) {
  return r.get<std::decay_t<T>>((self & ~(width - 1)) + (source & (width - 1)), self, lanes);
}
template <class T>
__forceinline__ auto cudasim_warp_shfl_up(const warp_room &r, int self, int lanes, int delta, int width = 32) {
  return r.get<std::decay_t<T>>(self - delta < (self & ~(width - 1)) ? self : self - delta, self, lanes);
}
template <class T>
__forceinline__ auto cudasim_warp_shfl_down(const warp_room &r, int self, int lanes, int delta, int width = 32) {
  return r.get<std::decay_t<T>>(self + delta >= (self & ~(width - 1)) + width ? self : self + delta, self, lanes);
}
template <class T>
__forceinline__ auto cudasim_warp_shfl_xor(const warp_room &r, int self, int lanes, int bits, int width = 32) {
  return r.get<std::decay_t<T>>((self ^ bits) >= (self & ~(width - 1)) + width ? self : self ^ bits, self, lanes);
}

// The loop over threads that the kernel was called from ends when it sees that cudasim_thread has changed.
static __forceinline__ void whole_done(void) {
  cudasim_run_as_loop = CUDASIM_LOOP_DONE;
  cudasim_thread = nullptr;
}

} // namespace cudasim
#endif

#endif
