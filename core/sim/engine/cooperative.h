// SPDX-License-Identifier: MIT
// Blocks that wait for one another: each has an operating-system thread of its own.
#ifndef SIM_COOPERATIVE_H
#define SIM_COOPERATIVE_H

#include "cudasim_launch.h"

enum { SIM_MAX_COOPERATIVE_THREADS = 32768 }; // of a grid: their stacks are mappings, of which a process has 65,530

// Runs all blocks of a cooperative launch at once; the first error of any.
cudaError_t sim_cooperative_run(const struct cudasim_launch_request *request, unsigned int blocks);

#endif
