// SPDX-License-Identifier: MIT
// The counts of a launch, for a modeled GPU (counts.c).
#ifndef INSPECT_COUNTS_H
#define INSPECT_COUNTS_H

#include "inspect/inspect.h"
#include "model/counts.h"

// Without a modeled GPU `counts_wanted` is false, and these do nothing. counts_touched: one request touched the
// sectors from `first` to `last`.
void counts_begin_launch(struct launch *launch);
void counts_end_launch(struct launch *launch);
void counts_begin_block(struct launch *launch);
void counts_end_block(void);
struct modeled { // of all launches together
  struct model_counts counts;
  double seconds, term[6], least, resident, share, launches;
  double stored_sectors, stored_bytes;
  // maximum over launches: events in all blocks, divided by the number extrapolated from the instrumented ones
  double uneven;
};
extern bool counts_wanted;
void counts_touched(uint32_t event, uint64_t first, uint64_t last);
// lanes of one request that accessed this address of global memory atomically
void counts_atomic(uint64_t address, unsigned lanes);

#endif
