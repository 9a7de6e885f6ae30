// SPDX-License-Identifier: MIT
// What fences, atomics, volatile accesses and grid.sync() order between threads (sync.c).
#ifndef INSPECT_SYNC_H
#define INSPECT_SYNC_H

#include "inspect/inspect.h"

void sync_begin_block(struct block_state *bs);
void sync_fence(struct block_state *bs, bool of_block);
void sync_object(struct block_state *bs, uint64_t address, bool releases);
void sync_grid_barrier(struct block_state *bs, unsigned number, bool arrives);
void sync_atomic(struct block_state *bs, uint64_t address);
void sync_volatile(struct block_state *bs, uint64_t address, bool reads);
bool sync_happens_before(struct block_state *bs, const struct access *before);
void sync_end_launch(struct launch *launch);

#endif
