// SPDX-License-Identifier: MIT
// cudaProfilerStart and cudaProfilerStop.
#include "cuda_runtime_api.h"
