// SPDX-License-Identifier: MIT
// Shared arrays of kernels that are judged (cudasim_judged.h): filled before each block, with guard bytes on both sides that are
// checked whenever a thread stops. Dynamic shared memory is treated in the same way.
#ifndef SIM_SHARED_H
#define SIM_SHARED_H

#include <stdbool.h>

struct sim_executor;

void sim_shared_block_begin(struct sim_executor *e);
// True if a guard has been overwritten: reports it, sets the block's error and restores the guard.
bool sim_shared_is_broken(struct sim_executor *e);
// The same without the report.
bool sim_shared_is_written_outside(const struct sim_executor *e);

#endif
