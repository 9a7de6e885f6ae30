// SPDX-License-Identifier: MIT
// The bookkeeping of memory: a device's heap, and sets of address ranges. No locks: the callers hold sim.lock.
#ifndef SIM_HEAP_H
#define SIM_HEAP_H

#include <stdbool.h>
#include <stddef.h>

// A piece of a heap: what was asked for, and what it takes up with its red zone, of which `wide` bytes are an inspector's.
// What the caller has begins `offset` bytes after the piece (FERRY_SIM_GUARD_PAGE; else 0).
struct sim_piece {
  char *address;
  size_t size, asked, offset, wide;
  bool used;
};

struct sim_heap {
  char *base;
  size_t capacity;          // bytes that may be in use
  size_t used;              // bytes in use, red zones included
  size_t reach;             // bytes from base that were ever handed out
  struct sim_piece *pieces; // by address, without gaps up to `reach`
  size_t count, room;
};

// At least `bytes` bytes, aligned to 256; NULL when there are none. *grown: `reach` has moved.
char *sim_heap_take(struct sim_heap *heap, size_t bytes, bool *grown);

// Gives a piece back; 0 when `address` is not the start of a piece in use, else its size.
size_t sim_heap_give(struct sim_heap *heap, char *address);

// The last piece, just taken, is to be known by the address `offset` bytes after its beginning, with `asked` bytes from there.
void sim_heap_shift(struct sim_heap *heap, char *address, size_t offset, size_t asked);

// The piece in which an address lies, in use or not; NULL beyond `reach`.
const struct sim_piece *sim_heap_find(const struct sim_heap *heap, const void *address);

struct sim_range {
  char *address;
  size_t size;
  bool owned;   // allocated by cudaHostAlloc, not registered by the user
  bool managed; // the host's and the device's: cudaMallocManaged, or a __device__ variable whose address was asked for
};

struct sim_ranges {
  struct sim_range *items; // by address
  size_t count, room;
};

// False when it overlaps one that is there.
bool sim_ranges_add(struct sim_ranges *ranges, struct sim_range range);
bool sim_ranges_remove(struct sim_ranges *ranges, const void *address, struct sim_range *removed);
const struct sim_range *sim_ranges_find(const struct sim_ranges *ranges, const void *address);

// From the start of the caller's bytes; of an address before them, larger than any size.
static inline size_t sim_piece_offset(const struct sim_piece *piece, const void *address) {
  return (size_t)((const char *)address - (piece->address + piece->offset));
}

#endif
