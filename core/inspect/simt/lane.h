// Each lane's events, kept until the warp is complete (lane.c).
#ifndef INSPECT_LANE_H
#define INSPECT_LANE_H

#include "inspect/inspect.h"

// The lanes of a block of this kernel, which have no events yet.
void lanes_begin(struct look *l, const struct kernel *kernel);
void lane_flush(struct look *l);
// Another lane's events come from here on; or the same one's, where what is pending has changed.
static inline void lane_enter(struct look *l, struct lane *lane) {
  l->lane = lane;
  l->furthest = NULL;
  inspect_tail = lane->tail;
  if (__builtin_expect(l->pending, 0))
    inspect_tail.limit = NULL;
}
static inline void lane_leave(struct look *l) {
  l->lane->tail.key = inspect_tail.key;
}
// Of a lane that does not what stands in the path: another lane did something else, or none of this warp has come so far.
void lane_leave_path(uint32_t key);
// There has to be room.
static inline void lane_keep(uint64_t address, uint32_t key) {
  uint32_t *const at = inspect_tail.key;
  *(uint64_t *)(inspect_tail.addresses + 2 * (uintptr_t)at) = address;
  if (__builtin_expect(*at == key, 1))
    inspect_tail.key = at + 1;
  else
    lane_leave_path(key);
}
static inline void lane_pend(struct look *l) { // the next access goes the slow way
  l->pending = true;
  inspect_tail.limit = NULL;
}
// The slow ways of access.h.
void lane_event(struct look *l, uint32_t key);
void lane_access(struct look *l, uint64_t address, unsigned bytes, uint32_t key);
// Neither global memory nor static shared memory.
void lane_elsewhere(struct look *l, uint64_t address, unsigned bytes, uint32_t key);
// Of a word, of which access.h has not seen that there is nothing to say; of shared memory with the record that is its own, used or not.
void lane_read_global(struct look *l, uint64_t address, struct cell *cell, uint32_t key);
void lane_write_global(struct look *l, uint64_t address, struct cell *cell, uint32_t key);
void lane_read_shared(struct look *l, uint64_t address, struct cell *cell, uint32_t key, struct record *record);
void lane_write_shared(struct look *l, uint64_t address, struct cell *cell, uint32_t key, struct record *record);
uint32_t lane_last_key(const struct look *l);

#endif
