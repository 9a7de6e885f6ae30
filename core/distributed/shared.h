// SPDX-License-Identifier: MIT
// Memory that the ranks of a group on one host all see, in which they add up their tensors themselves. For core/distributed only.
//
// Each rank has a segment of its own, which the others map too. A tensor in it is reduced in two steps: when all ranks have
// announced the call, each reduces its share of the elements, reading them from all segments in the order of the ranks and
// writing the result to all; then it waits until the others have done theirs. So all ranks get the same bits, nothing is
// copied, and nobody waits inside of MPI.
#ifndef FERRY_DISTRIBUTED_SHARED_H
#define FERRY_DISTRIBUTED_SHARED_H

#include "distributed/impl.h"

// A segment of this rank, as an object of the scope, for `bytes` of data from fy_shared_data, zeros at first; NULL in every rank
// where one of them cannot: ranks on several hosts, processes that may not see each other's files, no memory, or
// FERRY_DISTRIBUTED_SHARED=OFF. A collective: all ranks of the group call it with the same size. Raises as collectives do.
typedef struct FyShared FyShared;
FyShared *fy_shared_new(FyGroup *group, size_t bytes);
void *fy_shared_data(FyShared *shared);

// Notes in the work where its data lie, for the announcement, if they are in a segment of its group and do not go along with the
// announcement itself.
void fy_shared_note(FyWork *work, const FyTensor *tensor);

void fy_shared_traffic(int64_t *calls, int64_t *bytes); // reductions that this rank has taken part in

// Below: the caller holds the engine's lock, and all have announced the same call.

bool fy_is_shared(const FyWork *work); // of all ranks, at one place: the same answer in each
void fy_shared_reduce(FyWork *work);   // this rank's share
// True when all shares are done, or the work has failed: a rank has died or takes too long. `waiting`: a thread does nothing else
// than wait; until then a quiet work has time, since the others may be computing as this rank is.
bool fy_shared_done(FyWork *work, bool waiting);

#endif
