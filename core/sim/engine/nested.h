// SPDX-License-Identifier: MIT
// Dynamic parallelism: launches by kernels.
#ifndef SIM_NESTED_H
#define SIM_NESTED_H

#include "cudasim_launch.h"

// Called by a running block. The grid runs when the block has ended, or before the block calls a function that waits for
// it. Copies the request and its closure.
cudaError_t sim_nested_launch(const struct cudasim_launch_request *request);

// Called by a running block: what it has launched so far runs to its end before this returns.
void sim_nested_finish(void);

// Called on a thread whose block has ended with `error`. Runs the grids that the block has launched, and those that they
// launch; after an error, discards them. Returns the first error.
cudaError_t sim_nested_run(cudaError_t error);

#endif
