// Reserving random numbers: for core/ only.
#ifndef FERRY_OP_RANDOM_STATE_H
#define FERRY_OP_RANDOM_STATE_H

#include "op/creation/factory.h"

// Takes the next `blocks` Philox blocks (four 32-bit words each) of the process's generator: they are those of counters
// offset .. offset + blocks - 1 under the seed returned. Any thread may call it.
FyRngState fy_rng_reserve(uint64_t blocks);

#endif
