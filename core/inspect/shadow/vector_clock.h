// SPDX-License-Identifier: MIT
// Happens-before among the lanes of a warp within a phase (vector_clock.c).
#ifndef INSPECT_VECTOR_CLOCK_H
#define INSPECT_VECTOR_CLOCK_H

#include "inspect/inspect.h"

enum { WARP_CLOCKS = 1 << 16 }; // that an epoch can tell apart

// A lane's vector clock, copied: what it knew of each lane. Kept until the launch ends.
struct clock_vector {
  uint32_t known[WARP];
  struct clock_vector *next;
};

void vector_clock_begin_phase(struct block_state *bs);
void vector_clock_sync(struct block_state *bs, unsigned warp, uint32_t lanes);
void vector_clock_fence(struct block_state *bs); // the running thread's later accesses are not ordered by its fence
// Does what this thread of the block did at this warp clock, in this phase, happen before what the running thread
// does next?
bool vector_clock_orders(const struct block_state *bs, unsigned thread, uint32_t warp_clock);
// The running thread's vector, where it says more than the last synchronization of all lanes; NULL: it does not.
const struct clock_vector *clock_vector(const struct block_state *bs);
void vector_clock_end_launch(struct launch *launch);

#endif
