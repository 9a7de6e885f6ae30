// SPDX-License-Identifier: MIT
// Failed launches whose error the program never checks. cudasim_launch keeps the first one, and it is reported when
// the program ends, unless the thread asks for the error (cudaGetLastError and the like). On a GPU nothing reports it.
#ifndef SIM_UNCHECKED_ERROR_H
#define SIM_UNCHECKED_ERROR_H

#include "cudasim_launch.h"

// cudasim_launch, called by `caller` (runtime/launch.c).
cudaError_t sim_launch(const struct cudasim_launch_request *request, const void *caller);

// A call has returned its last error to this thread.
void sim_error_checked(void);

// What cudasim_stats has of launches that were refused (runtime/launch.c).
struct cudasim_stats;
void sim_launch_stats(struct cudasim_stats *stats);

#endif
