// SPDX-License-Identifier: MIT
// The generators for kernels; all in cudasim_random.h.
#include "cuda_runtime.h"
#include "cudasim_random.h"
#include "curand.h"
