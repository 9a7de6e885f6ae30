// SPDX-License-Identifier: MIT
// Reserving random numbers: for core/ only.
#ifndef FERRY_OP_RANDOM_STATE_H
#define FERRY_OP_RANDOM_STATE_H

#include "op/creation/factory.h"
#include "tensor/tensor.h"

// Takes the next `blocks` Philox blocks (four 32-bit words each) of the process's generator, or of the thread's own: they
// are those of counters offset .. offset + blocks - 1 under the seed returned. Any thread may call it. Never raises.
FyRngState fy_rng_reserve(uint64_t blocks);

// The same for a kernel on `device`, and while its current stream is captured into a CUDA graph counted from where the graph
// begins: a replay has to draw other numbers each time. *base is then the tensor with that place, int64 (2) on the device, seed
// and offset, which belongs to the graph and which each replay sets anew; NULL otherwise. The blocks are those of counters
// base offset + offset under the base's seed. Raises what making the tensor raises.
FyRngState fy_rng_reserve_on(FyDevice device, uint64_t blocks, FyTensor **base);

// A generator of the thread's own. Threads that draw beside each other (the replicas of DataParallel) have one each: drawn
// from the process's generator, their numbers would depend on which comes first.
typedef struct FyThreadRng {
  bool own; // false: the thread draws from the process's generator
  FyRngState state;
} FyThreadRng;
extern _Thread_local FyThreadRng fy_thread_rng;

// The generator of the index-th of several threads, from a block that their starter has reserved for all of them.
FyThreadRng fy_thread_rng_from(FyRngState reserved, int index);

#endif
