// Which accesses of one warp and phase its lanes' meetings order (clock.c).
#ifndef INSPECT_CLOCK_H
#define INSPECT_CLOCK_H

#include "inspect/inspect.h"

enum { EPOCHS = 1 << 16 }; // that a mark tells from each other

// A lane's vector at one time: what it knew of each lane. Kept until the launch ends.
struct clock_row {
  uint32_t known[WARP];
  struct clock_row *next;
};

void clock_begin_phase(struct look *l);
void clock_meet(struct look *l, unsigned warp, uint32_t lanes);
void clock_fence(
    struct look *l); // what the running thread does after its fence is of another epoch than what it did before
// Is what this thread of the block did in its epoch `epoch`, in this phase, ordered before what the running thread does next?
bool clock_orders(const struct look *l, unsigned thread, uint32_t epoch);
// The running thread's vector, as far as it says more than the last meeting of all lanes. NULL: it says no more.
const struct clock_row *clock_row(const struct look *l);
void clock_end_launch(struct launch *launch);

#endif
