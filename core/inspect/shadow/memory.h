// SPDX-License-Identifier: MIT
// Shadow memory: address spaces, allocation and initialization, shadow words (memory.c).
#ifndef INSPECT_MEMORY_H
#define INSPECT_MEMORY_H

#include "inspect/inspect.h"

struct sim_region;

// VARIABLE: of the program, __device__ or __constant__. NONE: private to a thread, or the host's.
enum space { SPACE_NONE, SPACE_GLOBAL, SPACE_SHARED, SPACE_DYNAMIC, SPACE_VARIABLE };
enum { SIM_MAX_SHARED = 232448 };

// PINNED and MANAGED: host memory that kernels may access.
enum owner { OF_DEVICE, PINNED, MANAGED };

struct allocation {
  uint64_t address;
  size_t bytes;
  enum owner owner;
  uint32_t pc, serial;
  bool freed,
      reset;         // reset: freed by cudaDeviceReset, or released by a graph that keeps the memory. No leak
  uint32_t interval; // older intervals concern an earlier allocation at this address
  char *name;        // of the array in it, if it is known
};

enum { MEMORY_PAGE = 32768, MEMORY_WORD = 4, MEMORY_WRITTEN = 2 };

// A page has a shadow word per memory word until a part of a word is accessed; then one per byte. The page's shadow
// words are then marked INFLATED_PER_BYTE, so that the fast path need not test for this case.
static const uint32_t INFLATED_PER_BYTE = 1u << 31;
struct memory {
  struct shadow_word *words;          // of the whole memory
  struct shadow_word **bytes;         // per page, those of its bytes; NULL: not needed
  struct shadow_state *shadow_states; // of shared memory, one per word; else NULL
};

extern uint8_t *memory_byte_states;               // the state of each byte of device memory
extern uint64_t memory_arena, memory_arena_bytes; // device memory, followed by host memory that kernels may access
extern uint64_t memory_shared_begin, memory_shared_bytes; // only the latter
extern struct memory *memory_global;
extern unsigned memory_paused_blocks;           // instrumented blocks that currently wait for others
extern struct shadow_word *memory_global_words; // its `words`

struct memory *memory_new(size_t bytes, bool shared);
struct shadow_word *memory_shadow_words_slow(struct memory *memory, size_t offset, unsigned bytes, unsigned *count);
const struct shadow_word *memory_shadow_word(const struct memory *memory, size_t offset);
// Of device memory, memory shared with the host, or a variable of the program; NULL: anything else.
struct shadow_word *memory_shadow_words_at(uint64_t address, unsigned bytes, unsigned *count);
bool memory_has(uint64_t address); // the address is in such memory
enum space memory_space_slow(const struct block_state *bs, uint64_t address, struct memory **memory, size_t *offset);
// Reports accesses to unallocated or uninitialized global memory, and marks what is written as initialized.
void memory_check(struct block_state *bs, uint64_t address, unsigned bytes, uint32_t event);

// The shadow words of `bytes` bytes at `offset`; their number in *count.
static inline struct shadow_word *memory_shadow_words(struct memory *memory, size_t offset, unsigned bytes,
                                                      unsigned *count) {
  if (memory->bytes[offset / MEMORY_PAGE] || bytes < MEMORY_WORD || offset % MEMORY_WORD ||
      offset % MEMORY_PAGE + bytes > MEMORY_PAGE)
    return memory_shadow_words_slow(memory, offset, bytes, count);
  *count = bytes / MEMORY_WORD;
  return &memory->words[offset / MEMORY_WORD];
}

static inline enum space memory_space(const struct block_state *bs, uint64_t address, struct memory **memory,
                                      size_t *offset) {
  if ((*offset = address - memory_arena) >= memory_arena_bytes)
    return memory_space_slow(bs, address, memory, offset);
  *memory = memory_global;
  return SPACE_GLOBAL;
}

void memory_resolve_late(struct launch *launch);
void memory_assume_written(void);
void memory_allocated(void *address, size_t bytes, enum owner owner, const void *caller);
void memory_freed(void *address);
void memory_given_back(void *address);
void memory_reset(int device);
// For drivers that place an array within a larger allocation: of the allocation, only these bytes are accessible.
// `unwritten`: they become uninitialized; else their state stays.
void inspect_array(void *address, size_t bytes, const char *name, bool unwritten);
// "byte 12 of out", "byte 12 of 400": into `text`.
const char *memory_owner(enum owner owner); // "device"
void memory_describe(const struct allocation *a, uint64_t address, char *text, size_t bytes);
void memory_wrote(const struct sim_region *region);
// Of memory that kernels share with the host.
void memory_host_writes(uint64_t address, size_t bytes);
bool memory_is_allocated(uint64_t address);
void memory_copied(const struct sim_region *to, const struct sim_region *from);
bool memory_is_newer(uint64_t address, uint32_t interval); // allocated after the interval
// the last one that contains the address, freed or not; NULL: none
const struct allocation *memory_allocation(uint64_t address);
const struct allocation *memory_live(size_t *index); // the next one from *index on that has not been freed

#endif
