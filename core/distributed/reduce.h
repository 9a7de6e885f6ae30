// SPDX-License-Identifier: MIT
// Reductions on the host: what MPI has no type for, and what is so short that the ranks send it whole. For core/distributed.
#ifndef FERRY_DISTRIBUTED_REDUCE_H
#define FERRY_DISTRIBUTED_REDUCE_H

#include "distributed/distributed.h"

// into[i] = op(into[i], from[i]) for `count` elements of the dtype. An average is a sum here; the least and the greatest
// pass over a NaN. None of these raises.
void fy_reduce_two(void *into, const void *from, size_t count, int dtype, FyReduceOp op);

// The sum becomes the average of `ranks`: integers are cut off towards zero, as NCCL does it.
void fy_reduce_divide(void *data, size_t count, int dtype, int ranks);

#endif
