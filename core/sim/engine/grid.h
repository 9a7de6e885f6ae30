// SPDX-License-Identifier: MIT
// A launch, while it runs.
#ifndef SIM_GRID_H
#define SIM_GRID_H

#include "cudasim_launch.h"
#include "sim/base/work.h"

// Runs all blocks of the launch on this thread and on workers that have nothing else to do; the first error of any
// block. The request belongs to `owner`, which is retained as long as a worker uses it.
cudaError_t sim_grid_run(const struct cudasim_launch_request *request, int device, struct sim_work *owner);

// The block that runs on this thread has polled for long, perhaps for one that has not begun: starts threads for further blocks.
void sim_grid_spread(void);

#endif
