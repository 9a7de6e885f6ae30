// A launch that failed, and whose error the program never asks for: on a GPU nothing says so.
#ifndef SIM_UNASKED_H
#define SIM_UNASKED_H

#include "cudasim_launch.h"

// k<<<...>>>() at `caller` has failed. The first such launch is reported when the program ends, unless this thread asks for the error.
void sim_launch_failed(const struct cudasim_launch_request *request, cudaError_t error, const void *caller);

// The calling thread has been told its last error.
void sim_error_asked(void);

#endif
