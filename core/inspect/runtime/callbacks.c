// SPDX-License-Identifier: MIT
// What instrumented kernels call: with g++ -fsanitize=thread a function before each access, with
// -fsanitize-coverage=trace-pc one at each basic block. The names are the thread sanitizer's, whose library is not
// linked. Host code of the same file makes the same calls: `inspect_current` is NULL there, and in uninstrumented
// blocks.
#include <stdio.h>
#include <string.h>

#include "inspect/runtime/access.h"
#include "inspect/shadow/host.h"
#include "inspect/runtime/lane.h"
#include "inspect/shadow/memory.h"
#include "inspect/shadow/strong.h"
#include "inspect/shadow/sync.h"
#include "inspect/program.h"

__thread struct block_state *inspect_current;
__thread struct tail inspect_tail;
__thread uint64_t inspect_calls;

void cudasim_pause(void); // the simulator's

#define CALLER __builtin_return_address(0)

static inline uint32_t event_at(const void *caller, unsigned kind) {
  return program_pc(caller) << KIND_BITS | kind;
}

static inline unsigned size_step(size_t bytes) {
  return (unsigned)__builtin_ctzl(bytes);
}

// ---- plain accesses ----------------------------------------------------------------------------------------------------------

static __attribute__((noinline)) void misaligned(struct block_state *bs, uint64_t address, unsigned bytes,
                                                 uint32_t event) {
  struct memory *memory;
  size_t offset;
  if (memory_space(bs, address, &memory, &offset) != SPACE_NONE)
    finding_add(FIND_MISALIGNED, bs->launch->kernel, (struct location){.first = event_pc(event)},
                "%u bytes at an address that is not a multiple of %u (remainder %u): thread %d of block %u", bytes,
                bytes, (unsigned)(address % bytes), bs->thread, block_of(bs->launch, bs->instance));
  lane_access(bs, address, bytes, event);
}

static __attribute__((noinline)) void access_slowly(uint64_t address, unsigned bytes, uint32_t event, bool aligned) {
  struct block_state *bs = inspect_current;
  if (bs == NULL) {
    inspect_calls++;
    host_access(address, bytes, event_pc(event), is_write(event));
  } else if (bs->idle) {
    return;
  } else if (aligned && address % bytes) {
    misaligned(bs, address, bytes, event);
  } else {
    lane_access(bs, address, bytes, event);
  }
}

ACCESS_INLINE void access_at(uint64_t address, unsigned bytes, uint32_t event, bool aligned) {
  if (access_is_slow())
    access_slowly(address, bytes, event, aligned);
  else if (aligned && address % bytes)
    misaligned(inspect_current, address, bytes, event);
  else
    access_memory(inspect_current, address, bytes, event, aligned);
}

// A volatile or atomic access outside of instrumented blocks.
static __attribute__((noinline)) void strong_elsewhere(uint64_t address, unsigned bytes, uint32_t pc, bool writes) {
  inspect_calls++;
  host_access_strong(address, bytes, pc, writes);
}

// A loop that polls a word: now and then lets the other threads and blocks run.
static void poll(struct block_state *bs, uint64_t address, uint32_t event) {
  enum { READS = 64 };
  const bool again = bs->poll.address == address && bs->poll.event == event && bs->poll.thread == bs->thread;
  bs->poll.address = address;
  bs->poll.event = event;
  bs->poll.thread = bs->thread;
  bs->poll.reads = again ? bs->poll.reads + 1 : 0;
  if (bs->poll.reads % READS == READS - 1)
    cudasim_pause();
}

// Volatile accesses to memory that other blocks see synchronize like atomics: a volatile write after a fence releases,
// a volatile read acquires.
static __attribute__((noinline)) void volatile_access(uint64_t address, unsigned bytes, uint32_t event) {
  struct block_state *bs = inspect_current;
  struct memory *memory;
  size_t offset;
  if (bs == NULL) {
    strong_elsewhere(address, bytes, event_pc(event), is_write(event));
    return;
  }
  program_has_volatile(event_pc(event));
  if (is_read(event) && !bs->idle)
    poll(bs, address, event);
  access_at(address, bytes, event, false);
  const enum space space = memory_space(bs, address, &memory, &offset);
  if (space == SPACE_GLOBAL || space == SPACE_VARIABLE)
    strong_synchronize(bs, memory_shadow_word(memory, offset), event, address, is_read(event));
}

#define ACCESS(address, bytes, kind)                                                                                   \
  access_at((uint64_t)(uintptr_t)(address), bytes, event_at(CALLER, (kind) + size_step(bytes)), false)
#define ALIGNED_ACCESS(address, bytes, kind)                                                                           \
  access_at((uint64_t)(uintptr_t)(address), bytes, event_at(CALLER, (kind) + size_step(bytes)), true)

#define VOLATILE_ACCESS(address, bytes, kind)                                                                          \
  volatile_access((uint64_t)(uintptr_t)(address), bytes, event_at(CALLER, (kind) + size_step(bytes)))

#define ACCESSES(bytes)                                                                                                \
  void __tsan_read##bytes(const void *p);                                                                              \
  void __tsan_write##bytes(const void *p);                                                                             \
  void __tsan_unaligned_read##bytes(const void *p);                                                                    \
  void __tsan_unaligned_write##bytes(const void *p);                                                                   \
  void __tsan_volatile_read##bytes(const void *p);                                                                     \
  void __tsan_volatile_write##bytes(const void *p);                                                                    \
  void __tsan_read##bytes(const void *p) {                                                                             \
    ALIGNED_ACCESS(p, bytes, EVENT_READ);                                                                              \
  }                                                                                                                    \
  void __tsan_write##bytes(const void *p) {                                                                            \
    ALIGNED_ACCESS(p, bytes, EVENT_WRITE);                                                                             \
  }                                                                                                                    \
  void __tsan_unaligned_read##bytes(const void *p) {                                                                   \
    ACCESS(p, bytes, EVENT_READ);                                                                                      \
  }                                                                                                                    \
  void __tsan_unaligned_write##bytes(const void *p) {                                                                  \
    ACCESS(p, bytes, EVENT_WRITE);                                                                                     \
  }                                                                                                                    \
  void __tsan_volatile_read##bytes(const void *p) {                                                                    \
    VOLATILE_ACCESS(p, bytes, EVENT_READ);                                                                             \
  }                                                                                                                    \
  void __tsan_volatile_write##bytes(const void *p) {                                                                   \
    VOLATILE_ACCESS(p, bytes, EVENT_WRITE);                                                                            \
  }
ACCESSES(1)
ACCESSES(2)
ACCESSES(4)
ACCESSES(8)
ACCESSES(16)

// The read of a vector's member by name, in a file where instrument/members.c has seen it: of `whole` bytes, which a GPU reads in one
// request with the members beside it.
#define MEMBER_READ(bytes, whole)                                                                                      \
  void __tsan_member_read##bytes##_of##whole(const void *p);                                                           \
  void __tsan_member_read##bytes##_of##whole(const void *p) {                                                          \
    if (inspect_current)                                                                                               \
      program_has_member(program_pc(CALLER), whole);                                                                   \
    ALIGNED_ACCESS(p, bytes, EVENT_READ);                                                                              \
  }
MEMBER_READ(1, 2)
MEMBER_READ(1, 4)
MEMBER_READ(2, 4)
MEMBER_READ(2, 8)
MEMBER_READ(4, 8)
MEMBER_READ(4, 16)
MEMBER_READ(8, 16)

// A GPU copies a struct in pieces: of the largest power of two that divides its size, at most 16 bytes.
static void range(const void *p, size_t bytes, const void *caller, unsigned kind) {
  if (bytes == 0)
    return;
  if (inspect_current == NULL) {
    host_access((uintptr_t)p, bytes, program_pc(caller), kind == EVENT_WRITE);
    return;
  }
  size_t piece = bytes & -bytes;
  piece = piece > 16 ? 16 : piece;
  uint32_t event = event_at(caller, kind + size_step(piece));
  inspect_calls -= bytes / piece; // lane_access counts them
  for (size_t i = 0; i < bytes; i += piece)
    lane_access(inspect_current, (uint64_t)(uintptr_t)p + i, (unsigned)piece, event);
}

void __tsan_read_range(const void *p, size_t bytes);
void __tsan_write_range(const void *p, size_t bytes);
void __tsan_read_range(const void *p, size_t bytes) {
  range(p, bytes, CALLER, EVENT_READ);
}
void __tsan_write_range(const void *p, size_t bytes) {
  range(p, bytes, CALLER, EVENT_WRITE);
}

// In a kernel's object file, objcopy renames the C library's functions to these.
void *inspect_memcpy(void *to, const void *from, size_t bytes);
void *inspect_memmove(void *to, const void *from, size_t bytes);
void *inspect_memset(void *to, int value, size_t bytes);
void *inspect_memcpy(void *to, const void *from, size_t bytes) {
  range(from, bytes, CALLER, EVENT_READ);
  range(to, bytes, CALLER, EVENT_WRITE);
  return memcpy(to, from, bytes);
}
void *inspect_memmove(void *to, const void *from, size_t bytes) {
  range(from, bytes, CALLER, EVENT_READ);
  range(to, bytes, CALLER, EVENT_WRITE);
  return memmove(to, from, bytes);
}
void *inspect_memset(void *to, int value, size_t bytes) {
  range(to, bytes, CALLER, EVENT_WRITE);
  return memset(to, value, bytes);
}

// ---- atomics, which these functions must perform themselves -----------------------------------------------------------

// cudasim_atomic.h calls this before an atomic function with _block in its name: the next access has block scope.
static _Thread_local bool of_block;
void cudasim_inspect_atomic_of_block(void);
void cudasim_inspect_atomic_of_block(void) {
  of_block = inspect_current != NULL;
}

static unsigned atomic_kind(unsigned bytes) {
  const unsigned kind = (of_block ? EVENT_ATOMIC_OF_BLOCK : EVENT_ATOMIC) + size_step(bytes);
  of_block = false;
  return kind;
}

#define ATOMIC_ACCESS(address, bytes)                                                                                  \
  do {                                                                                                                 \
    struct block_state *access_bs = inspect_current;                                                                   \
    if (__builtin_expect(access_bs != NULL, 1))                                                                        \
      lane_access(access_bs, (uint64_t)(uintptr_t)(address), bytes, event_at(CALLER, atomic_kind(bytes)));             \
    else                                                                                                               \
      strong_elsewhere((uint64_t)(uintptr_t)(address), bytes, program_pc(CALLER), true);                               \
  } while (0)
// An atomic that is a loop here, but one instruction on a GPU: cudasim_atomic.h reports it once.
void cudasim_inspect_atomic(const void *address, size_t bytes);
void cudasim_inspect_atomic(const void *address, size_t bytes) {
  ATOMIC_ACCESS(address, (unsigned)bytes);
}

// The memory order of cuda::atomic, as the compiler passes it on. CUDA's own atomic functions are relaxed.
static bool acquires(int order) {
  return order != __ATOMIC_RELAXED && order != __ATOMIC_RELEASE;
}

static bool releases(int order) {
  return order == __ATOMIC_RELEASE || order == __ATOMIC_ACQ_REL || order == __ATOMIC_SEQ_CST;
}

static void fence_if(bool wanted) {
  struct block_state *bs = inspect_current;
  if (wanted && bs && !bs->idle)
    sync_fence(bs, false);
}

// An acquire or release is a relaxed access with a fence after or before it.
#define ORDERED_ACCESS(address, bytes, order)                                                                          \
  do {                                                                                                                 \
    fence_if(releases(order));                                                                                         \
    ATOMIC_ACCESS(address, bytes);                                                                                     \
    fence_if(acquires(order));                                                                                         \
  } while (0)
#define ATOMIC_OF_KIND(address, bytes, order, kind, expected, value)                                                   \
  do {                                                                                                                 \
    may_poll((uint64_t)(uintptr_t)(address), event_at(CALLER, EVENT_ATOMIC), kind);                                    \
    atomic_is(kind, expected, value);                                                                                  \
    ORDERED_ACCESS(address, bytes, order);                                                                             \
    atomic_is(ATOMIC_UPDATES, 0, 0);                                                                                   \
  } while (0)
static void atomic_is(enum atomic_kind kind, uint64_t expected, uint64_t value) {
  struct block_state *bs = inspect_current;
  if (bs == NULL)
    return;
  bs->atomic.kind = kind;
  bs->atomic.expected = expected;
  bs->atomic.value = value;
}

static void may_poll(uint64_t address, uint32_t event, enum atomic_kind kind) {
  struct block_state *bs = inspect_current;
  if (bs && !bs->idle && kind != ATOMIC_UPDATES)
    poll(bs, address, event);
}

#define ATOMIC_UPDATE(bits, T, name, builtin, neutral)                                                                 \
  T __tsan_atomic##bits##_##name(volatile T *p, T value, int order);                                                   \
  T __tsan_atomic##bits##_##name(volatile T *p, T value, int order) {                                                  \
    ATOMIC_OF_KIND(p, bits / 8, order, value == (T)(neutral) ? ATOMIC_ADDS_NOTHING : ATOMIC_UPDATES, 0, 0);            \
    return builtin(p, value, __ATOMIC_SEQ_CST);                                                                        \
  }
// Whether the program uses the old value is unknown, so uninitialized memory is not reported.
#define ATOMIC_EXCHANGE(bits, T)                                                                                       \
  T __tsan_atomic##bits##_exchange(volatile T *p, T value, int order);                                                 \
  T __tsan_atomic##bits##_exchange(volatile T *p, T value, int order) {                                                \
    ATOMIC_OF_KIND(p, bits / 8, order, ATOMIC_EXCHANGES, 0, value);                                                    \
    return __atomic_exchange_n(p, value, __ATOMIC_SEQ_CST);                                                            \
  }
#define ATOMIC_COMPARE(bits, T, name)                                                                                  \
  int __tsan_atomic##bits##_compare_exchange_##name(volatile T *p, T *expected, T value, int order, int failure);      \
  int __tsan_atomic##bits##_compare_exchange_##name(volatile T *p, T *expected, T value, int order, int failure) {     \
    (void)failure;                                                                                                     \
    ATOMIC_OF_KIND(p, bits / 8, order, ATOMIC_SWAPS, *expected, value);                                                \
    return __atomic_compare_exchange_n(p, expected, value, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);                     \
  }
// A load is no access that could race, but it may poll, and acquire.
static void load_atomically(struct block_state *bs, uint64_t address, uint32_t event, int order) {
  if (bs->idle)
    return;
  poll(bs, address, event);
  if (!acquires(order))
    return;
  sync_access(bs, address, (struct sync_access){.acquires = true});
  fence_if(true);
}

#define ATOMICS(bits, T)                                                                                               \
  T __tsan_atomic##bits##_load(const volatile T *p, int order);                                                        \
  T __tsan_atomic##bits##_load(const volatile T *p, int order) {                                                       \
    if (inspect_current == NULL)                                                                                       \
      host_access_strong((uint64_t)(uintptr_t)p, bits / 8, program_pc(CALLER), false);                                 \
    else                                                                                                               \
      load_atomically(inspect_current, (uint64_t)(uintptr_t)p, event_at(CALLER, EVENT_READ + size_step(bits / 8)),     \
                      order);                                                                                          \
    return __atomic_load_n(p, __ATOMIC_SEQ_CST);                                                                       \
  }                                                                                                                    \
  void __tsan_atomic##bits##_store(volatile T *p, T value, int order);                                                 \
  void __tsan_atomic##bits##_store(volatile T *p, T value, int order) {                                                \
    ORDERED_ACCESS(p, bits / 8, order);                                                                                \
    __atomic_store_n(p, value, __ATOMIC_SEQ_CST);                                                                      \
  }                                                                                                                    \
  ATOMIC_EXCHANGE(bits, T)                                                                                             \
  ATOMIC_UPDATE(bits, T, fetch_add, __atomic_fetch_add, 0)                                                             \
  ATOMIC_UPDATE(bits, T, fetch_sub, __atomic_fetch_sub, 0)                                                             \
  ATOMIC_UPDATE(bits, T, fetch_and, __atomic_fetch_and, ~0ull)                                                         \
  ATOMIC_UPDATE(bits, T, fetch_or, __atomic_fetch_or, 0)                                                               \
  ATOMIC_UPDATE(bits, T, fetch_xor, __atomic_fetch_xor, 0)                                                             \
  ATOMIC_COMPARE(bits, T, strong)                                                                                      \
  ATOMIC_COMPARE(bits, T, weak)
ATOMICS(8, uint8_t)
ATOMICS(16, uint16_t)
ATOMICS(32, uint32_t)
ATOMICS(64, uint64_t)

void __tsan_atomic_thread_fence(int order);
void __tsan_atomic_signal_fence(int order);
void __tsan_atomic_thread_fence(int order) {
  fence_if(order != __ATOMIC_RELAXED);
  __atomic_thread_fence(__ATOMIC_SEQ_CST);
}
void __tsan_atomic_signal_fence(int order) {
  (void)order;
}

// ---- basic blocks and calls --------------------------------------------------------------------------------------------

void __sanitizer_cov_trace_pc(void);
static __attribute__((noinline)) void trace_event_slowly(uint32_t event) {
  struct block_state *bs = inspect_current;
  if (bs && !bs->idle)
    lane_event(bs, event);
  else
    inspect_calls += event_kind(event) == EVENT_BLOCK;
}

ACCESS_INLINE void trace_event(uint32_t event) {
  if (access_is_slow() || __builtin_expect(*inspect_tail.next != event, 0))
    trace_event_slowly(event);
  else
    inspect_tail.next++;
}

// The slow path of a basic block whose event instrument/pad_arrays.c has inlined.
void inspect_block(uint32_t event);
void inspect_block(uint32_t event) {
  trace_event_slowly(event);
}

void __sanitizer_cov_trace_pc(void) {
  trace_event(event_at(CALLER, EVENT_BLOCK));
}

void __tsan_func_entry(void *caller);
void __tsan_func_exit(void *caller);
void __tsan_func_entry(void *caller) {
  (void)caller;
  inspect_calls -= inspect_current != NULL; // lane_flush counts it
  trace_event(EVENT_ENTER);
}
void __tsan_func_exit(void *caller) {
  (void)caller;
  inspect_calls -= inspect_current != NULL;
  trace_event(EVENT_LEAVE);
}

void __tsan_init(void);
void __tsan_vptr_update(void **p, void *value);
void __tsan_vptr_read(void **p);
void __tsan_init(void) {
}
void __tsan_vptr_update(void **p, void *value) {
  (void)p;
  (void)value;
}
void __tsan_vptr_read(void **p) {
  (void)p;
}

// ---- arrays whose size is in their type: -fsanitize=bounds -----------------------------------------------------------------------

struct type_name {
  uint16_t kind, info;
  char name[];
};
struct out_of_bounds {
  struct {
    const char *file;
    uint32_t line, column;
  } where;
  const struct type_name *array, *index;
};

void __ubsan_handle_out_of_bounds(const struct out_of_bounds *what, uintptr_t index);
void __ubsan_handle_out_of_bounds(const struct out_of_bounds *what, uintptr_t index) {
  struct block_state *bs = inspect_current;
  if (bs == NULL)
    return;
  char column[32] = ""; // in rewritten loops the column is another one
  if (!bs->loops)
    snprintf(column, sizeof column, " (column %u)", what->where.column);
  // The type's name is already in quotation marks.
  finding_add(FIND_BOUNDS_ARRAY, bs->launch->kernel, (struct location){.first = program_pc(CALLER)},
              "index %ld of %s%s: thread %d of block %u", (long)index, what->array->name, column, bs->thread,
              block_of(bs->launch, bs->instance));
  bs->skip_next = true;
  inspect_pend(bs);
}
