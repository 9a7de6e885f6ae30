// SPDX-License-Identifier: MIT
// The state of the running block, as the simulator reports it (block_state.c).
#ifndef INSPECT_BLOCK_STATE_H
#define INSPECT_BLOCK_STATE_H

#include "inspect/inspect.h"

// This thread of the block runs next: in another warp, or while something is pending. The other cases have a faster
// path (block_state.c).
void block_state_switch_thread(struct block_state *bs, int thread);
void block_state_warp_synced(struct block_state *bs, int warp,
                             unsigned int lanes); // these lanes of the warp have synchronized in a warp function

#endif
