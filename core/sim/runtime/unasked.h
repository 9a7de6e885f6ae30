// A launch that failed, and whose error the program never asks for: on a GPU nothing says so. cudasim_launch keeps the first such launch,
// and it is reported when the program ends, unless the thread asks for the error.
#ifndef SIM_UNASKED_H
#define SIM_UNASKED_H

#include "cudasim_launch.h"

// cudasim_launch, which `caller` has called (launch.c).
cudaError_t sim_launch(const struct cudasim_launch_request *request, const void *caller);

// The calling thread has been told its last error.
void sim_error_asked(void);

#endif
