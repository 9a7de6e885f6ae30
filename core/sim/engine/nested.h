// Launches by kernels.
#ifndef SIM_NESTED_H
#define SIM_NESTED_H

#include "cudasim_launch.h"

// Called by a running block: the grid runs once the block has ended, or before it asks for something that waits for it. The request
// and its closure are copied.
cudaError_t sim_nested_launch(const struct cudasim_launch_request *request);

// Called by a running block: what it has launched so far runs to its end before this returns.
void sim_nested_finish(void);

// Called on a thread whose block has ended with `error`: runs what the block has launched, and what that launches; after an error,
// forgets it. Returns the first error.
cudaError_t sim_nested_run(cudaError_t error);

#endif
