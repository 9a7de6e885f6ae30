// Shared arrays of kernels that are judged (cudasim_judged.h): filled before each block, with guard bytes on both sides that are
// checked whenever a thread stops. Dynamic shared memory is treated in the same way.
#ifndef SIM_SHARED_H
#define SIM_SHARED_H

#include <stdbool.h>

struct sim_executor;

void sim_shared_block_begin(struct sim_executor *e);
// Has a guard been written over? Then a message says so, the block's error is set, and the guard is as it was.
bool sim_shared_is_broken(struct sim_executor *e);
// The same question, and nothing else.
bool sim_shared_is_written_outside(const struct sim_executor *e);

#endif
