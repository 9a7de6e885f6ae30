// SPDX-License-Identifier: MIT
// What fences, atomics, volatile accesses and grid.sync() order between threads (sync.c).
#ifndef INSPECT_SYNC_H
#define INSPECT_SYNC_H

#include "inspect/inspect.h"

void sync_begin_block(struct block_state *bs);
void sync_fence(struct block_state *bs, bool of_block);
void sync_object(struct block_state *bs, uint64_t address, bool releases);
void sync_grid_barrier(struct block_state *bs, unsigned number, bool arrives);
// An atomic or volatile access. `seen`: the last write to the address, if it is another thread's; NULL: not known.
struct sync_access {
  bool acquires, releases, takes_lock, writes;
  const struct access *seen;
};
void sync_access(struct block_state *bs, uint64_t address, struct sync_access access);
bool sync_happens_before(struct block_state *bs, const struct access *before);
enum sync_lack { LACKS_ORDER, LACKS_SCOPE, LACKS_FENCE_OF_LOCK };
enum sync_lack sync_lacks(struct block_state *bs, const struct access *before);
bool sync_has_seen(struct block_state *bs, uint64_t address, const struct access *write);
void sync_end_launch(struct launch *launch);

#endif
