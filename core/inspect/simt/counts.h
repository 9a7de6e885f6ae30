// All of it as numbers for a modelled GPU (counts.c).
#ifndef INSPECT_COUNTS_H
#define INSPECT_COUNTS_H

#include "inspect/inspect.h"

// What a launch did, for a device that plays a GPU; elsewhere `counts_wanted` is false, and these do nothing. The sectors from the first to the last were
// touched by one request.
void counts_begin_launch(struct launch *launch);
void counts_end_launch(struct launch *launch);
void counts_begin_block(struct launch *launch);
void counts_end_block(void);
struct modelled { // of all launches together
  double seconds, term[6], least, resident, share, launches;
  double stored_sectors, stored_bytes;
  double uneven; // at most of a launch: what its blocks did, over what those that were looked at stand for
};
extern bool counts_wanted;
void counts_touched(uint32_t key, uint64_t first, uint64_t last);
void counts_met(uint64_t address, unsigned lanes); // of one request, atomically, in global memory

#endif
