// What the compiler has put into the kernels: g++ -fsanitize=thread calls a function before each access, and
// -fsanitize-coverage=trace-pc at each basic block. The names are the thread sanitizer's; its library is not linked. Code of the
// host in the same file makes the same calls: `inspect_now` is NULL there, and in blocks that are not looked at.
#include <stdio.h>
#include <string.h>

#include "inspect/shadow/access.h"
#include "inspect/runtime/host.h"
#include "inspect/simt/lane.h"
#include "inspect/shadow/memory.h"
#include "inspect/shadow/order.h"
#include "inspect/runtime/program.h"

__thread struct look *inspect_now;
__thread struct tail inspect_tail;
__thread uint64_t inspect_calls;

#define CALLER __builtin_return_address(0)

static inline uint32_t key_of(const void *caller, unsigned kind) {
  return program_place(caller) << KIND_BITS | kind;
}

static inline unsigned size_step(size_t bytes) {
  return (unsigned)__builtin_ctzl(bytes);
}

// ---- plain accesses ----------------------------------------------------------------------------------------------------------

static __attribute__((noinline)) void misaligned(struct look *l, uint64_t address, unsigned bytes, uint32_t key) {
  struct memory *memory;
  size_t offset;
  if (memory_space(l, address, &memory, &offset) != SPACE_NONE)
    finding_add(FIND_MISALIGNED, l->launch->kernel, (struct place){.first = key_place(key)},
                "%u bytes at an address that %u does not divide (rest %u): thread %d of block %u", bytes, bytes,
                (unsigned)(address % bytes), l->thread, block_of(l->launch, l->run));
  lane_access(l, address, bytes, key);
}

static __attribute__((noinline)) void access_slowly(uint64_t address, unsigned bytes, uint32_t key, bool aligned) {
  struct look *l = inspect_now;
  if (l == NULL) {
    inspect_calls++;
    host_access(address, bytes, key_place(key), is_write(key));
  } else if (l->rests) {
    return;
  } else if (aligned && address % bytes) {
    misaligned(l, address, bytes, key);
  } else {
    lane_access(l, address, bytes, key);
  }
}

ACCESS_INLINE void access_at(uint64_t address, unsigned bytes, uint32_t key, bool aligned) {
  if (access_is_slow())
    access_slowly(address, bytes, key, aligned);
  else if (aligned && address % bytes)
    misaligned(inspect_now, address, bytes, key);
  else
    access_memory(inspect_now, address, bytes, key, aligned);
}

// Volatile or atomic, and in no block that is looked at.
static __attribute__((noinline)) void strong_elsewhere(uint64_t address, unsigned bytes, uint32_t place, bool writes) {
  inspect_calls++;
  host_access_strong(address, bytes, place, writes);
}

// Of memory that other blocks see, volatile accesses are no race with each other, and what a fence lies before is known to who reads
// what was written behind it: so do programs without atomics hand on what they have done.
static __attribute__((noinline)) void volatile_access(uint64_t address, unsigned bytes, uint32_t key) {
  struct look *l = inspect_now;
  struct memory *memory;
  size_t offset;
  if (l == NULL) {
    strong_elsewhere(address, bytes, key_place(key), is_write(key));
    return;
  }
  program_has_volatile(key_place(key));
  access_at(address, bytes, key, false);
  const enum space space = memory_space(l, address, &memory, &offset);
  if (space == SPACE_GLOBAL || space == SPACE_VARIABLE)
    order_volatile(l, address, is_read(key));
}

#define ACCESS(address, bytes, event)                                                                                  \
  access_at((uint64_t)(uintptr_t)(address), bytes, key_of(CALLER, (event) + size_step(bytes)), false)
#define ALIGNED_ACCESS(address, bytes, event)                                                                          \
  access_at((uint64_t)(uintptr_t)(address), bytes, key_of(CALLER, (event) + size_step(bytes)), true)

#define VOLATILE_ACCESS(address, bytes, event)                                                                         \
  volatile_access((uint64_t)(uintptr_t)(address), bytes, key_of(CALLER, (event) + size_step(bytes)))

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

// Structs: a GPU takes them in pieces, the largest power of two that divides their size.
static void range(const void *p, size_t bytes, const void *caller, unsigned event) {
  if (bytes == 0)
    return;
  if (inspect_now == NULL) {
    host_access((uintptr_t)p, bytes, program_place(caller), event == EVENT_WRITE);
    return;
  }
  size_t piece = bytes & -bytes;
  piece = piece > 16 ? 16 : piece;
  uint32_t key = key_of(caller, event + size_step(piece));
  inspect_calls -= bytes / piece; // lane_access counts them
  for (size_t i = 0; i < bytes; i += piece)
    lane_access(inspect_now, (uint64_t)(uintptr_t)p + i, (unsigned)piece, key);
}

void __tsan_read_range(const void *p, size_t bytes);
void __tsan_write_range(const void *p, size_t bytes);
void __tsan_read_range(const void *p, size_t bytes) {
  range(p, bytes, CALLER, EVENT_READ);
}
void __tsan_write_range(const void *p, size_t bytes) {
  range(p, bytes, CALLER, EVENT_WRITE);
}

// In the kernels' object file these take the place of the C library's.
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

// ---- atomics, which these functions have to do themselves ----------------------------------------------------------------------

// cudasim_atomic.h says so before an atomic function that has _block in its name: the next access is for its block alone.
static _Thread_local bool of_block;
void cudasim_inspect_atomic_of_block(void);
void cudasim_inspect_atomic_of_block(void) {
  of_block = inspect_now != NULL;
}

static unsigned atomic_kind(unsigned bytes) {
  const unsigned kind = (of_block ? EVENT_ATOMIC_OF_BLOCK : EVENT_ATOMIC) + size_step(bytes);
  of_block = false;
  return kind;
}

#define ATOMIC_ACCESS(address, bytes)                                                                                  \
  do {                                                                                                                 \
    struct look *l = inspect_now;                                                                                      \
    if (__builtin_expect(l != NULL, 1))                                                                                \
      lane_access(l, (uint64_t)(uintptr_t)(address), bytes, key_of(CALLER, atomic_kind(bytes)));                       \
    else                                                                                                               \
      strong_elsewhere((uint64_t)(uintptr_t)(address), bytes, program_place(CALLER), true);                            \
  } while (0)
// Of what takes a loop here, and on a GPU none: cudasim_atomic.h says so once.
void cudasim_inspect_atomic(const void *address, size_t bytes);
void cudasim_inspect_atomic(const void *address, size_t bytes) {
  ATOMIC_ACCESS(address, (unsigned)bytes);
}

#define ATOMIC_UPDATE(bits, T, name, builtin)                                                                          \
  T __tsan_atomic##bits##_##name(volatile T *p, T value, int order);                                                   \
  T __tsan_atomic##bits##_##name(volatile T *p, T value, int order) {                                                  \
    (void)order;                                                                                                       \
    ATOMIC_ACCESS(p, bits / 8);                                                                                        \
    return builtin(p, value, __ATOMIC_SEQ_CST);                                                                        \
  }
#define ATOMIC_COMPARE(bits, T, name)                                                                                  \
  int __tsan_atomic##bits##_compare_exchange_##name(volatile T *p, T *expected, T value, int order, int failure);      \
  int __tsan_atomic##bits##_compare_exchange_##name(volatile T *p, T *expected, T value, int order, int failure) {     \
    (void)order;                                                                                                       \
    (void)failure;                                                                                                     \
    ATOMIC_ACCESS(p, bits / 8);                                                                                        \
    return __atomic_compare_exchange_n(p, expected, value, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);                     \
  }
// A load belongs to the loop of a compare-and-exchange, which is what counts (atomicAdd of a float).
#define ATOMICS(bits, T)                                                                                               \
  T __tsan_atomic##bits##_load(const volatile T *p, int order);                                                        \
  T __tsan_atomic##bits##_load(const volatile T *p, int order) {                                                       \
    (void)order;                                                                                                       \
    if (inspect_now == NULL)                                                                                           \
      host_access_strong((uint64_t)(uintptr_t)p, bits / 8, program_place(CALLER), false);                              \
    return __atomic_load_n(p, __ATOMIC_SEQ_CST);                                                                       \
  }                                                                                                                    \
  void __tsan_atomic##bits##_store(volatile T *p, T value, int order);                                                 \
  void __tsan_atomic##bits##_store(volatile T *p, T value, int order) {                                                \
    (void)order;                                                                                                       \
    ATOMIC_ACCESS(p, bits / 8);                                                                                        \
    __atomic_store_n(p, value, __ATOMIC_SEQ_CST);                                                                      \
  }                                                                                                                    \
  ATOMIC_UPDATE(bits, T, exchange, __atomic_exchange_n)                                                                \
  ATOMIC_UPDATE(bits, T, fetch_add, __atomic_fetch_add)                                                                \
  ATOMIC_UPDATE(bits, T, fetch_sub, __atomic_fetch_sub)                                                                \
  ATOMIC_UPDATE(bits, T, fetch_and, __atomic_fetch_and)                                                                \
  ATOMIC_UPDATE(bits, T, fetch_or, __atomic_fetch_or)                                                                  \
  ATOMIC_UPDATE(bits, T, fetch_xor, __atomic_fetch_xor)                                                                \
  ATOMIC_COMPARE(bits, T, strong)                                                                                      \
  ATOMIC_COMPARE(bits, T, weak)
ATOMICS(8, uint8_t)
ATOMICS(16, uint16_t)
ATOMICS(32, uint32_t)
ATOMICS(64, uint64_t)

void __tsan_atomic_thread_fence(int order);
void __tsan_atomic_signal_fence(int order);
void __tsan_atomic_thread_fence(int order) {
  (void)order;
  __atomic_thread_fence(__ATOMIC_SEQ_CST);
}
void __tsan_atomic_signal_fence(int order) {
  (void)order;
}

// ---- the way through the program -----------------------------------------------------------------------------------------------

void __sanitizer_cov_trace_pc(void);
static __attribute__((noinline)) void event_slowly(uint32_t key) {
  struct look *l = inspect_now;
  if (l && !l->rests)
    lane_event(l, key);
  else
    inspect_calls += key_kind(key) == EVENT_BLOCK;
}

ACCESS_INLINE void event(uint32_t key) {
  if (access_is_slow() || __builtin_expect(*inspect_tail.key != key, 0))
    event_slowly(key);
  else
    inspect_tail.key++;
}

// Where core/inspect/instrument/guard.c has put the same into the kernels' code, this is what is left.
void inspect_block(uint32_t key);
void inspect_block(uint32_t key) {
  event_slowly(key);
}

void __sanitizer_cov_trace_pc(void) {
  event(key_of(CALLER, EVENT_BLOCK));
}

void __tsan_func_entry(void *caller);
void __tsan_func_exit(void *caller);
void __tsan_func_entry(void *caller) {
  (void)caller;
  inspect_calls -= inspect_now != NULL; // lane_flush counts it
  event(EVENT_ENTER);
}
void __tsan_func_exit(void *caller) {
  (void)caller;
  inspect_calls -= inspect_now != NULL;
  event(EVENT_LEAVE);
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
  struct look *l = inspect_now;
  if (l == NULL)
    return;
  char column[32] = ""; // loops are written anew, elsewhere in a line
  if (!l->loops)
    snprintf(column, sizeof column, " (column %u)", what->where.column);
  // The type's name comes in quotation marks.
  finding_add(FIND_BOUNDS_ARRAY, l->launch->kernel, (struct place){.first = program_place(CALLER)},
              "index %ld of %s%s: thread %d of block %u", (long)index, what->array->name, column, l->thread,
              block_of(l->launch, l->run));
  l->skip_next = true;
  lane_pend(l);
}
