// SPDX-License-Identifier: MIT
// The trace of each lane, and the slow path of accesses (lane.c).
#ifndef INSPECT_LANE_H
#define INSPECT_LANE_H

#include "inspect/inspect.h"

// Empties the traces of all lanes, for a block of this kernel.
void lanes_begin(struct block_state *bs, const struct kernel *kernel);
void lane_flush(struct block_state *bs);
// Makes `lane` the running lane; also called for the same lane when something becomes pending.
static inline void lane_enter(struct block_state *bs, struct lane *lane) {
  bs->lane = lane;
  bs->longest = NULL;
  inspect_tail = lane->tail;
  if (__builtin_expect(bs->pending, 0))
    inspect_tail.limit = NULL;
}
static inline void lane_leave(struct block_state *bs) {
  bs->lane->tail.next = inspect_tail.next;
}
// The lane's event differs from the common trace: another lane did something else, or the warp is the first to get
// here.
void lane_leave_trace(uint32_t event);
// There must be room for it.
static inline void lane_keep(uint64_t address, uint32_t event) {
  uint32_t *const at = inspect_tail.next;
  *(uint64_t *)(inspect_tail.addresses + 2 * (uintptr_t)at) = address;
  if (__builtin_expect(*at == event, 1))
    inspect_tail.next = at + 1;
  else
    lane_leave_trace(event);
}
// The slow paths of access.h.
void lane_event(struct block_state *bs, uint32_t event);
void lane_access(struct block_state *bs, uint64_t address, unsigned bytes, uint32_t event);
// An access to neither global memory nor static shared memory.
void lane_elsewhere(struct block_state *bs, uint64_t address, unsigned bytes, uint32_t event);
// An access to a word that access.h could not rule out. For shared memory, with the shadow state reserved for the
// word.
void lane_read_global(struct block_state *bs, uint64_t address, struct shadow_word *word, uint32_t event);
void lane_write_global(struct block_state *bs, uint64_t address, struct shadow_word *word, uint32_t event);
void lane_read_shared(struct block_state *bs, uint64_t address, struct shadow_word *word, uint32_t event,
                      struct shadow_state *state);
void lane_write_shared(struct block_state *bs, uint64_t address, struct shadow_word *word, uint32_t event,
                       struct shadow_state *state);
uint32_t lane_last_event(const struct block_state *bs);

#endif
