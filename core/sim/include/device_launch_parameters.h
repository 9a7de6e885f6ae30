// SPDX-License-Identifier: MIT
// threadIdx, blockIdx, blockDim and gridDim: all in cuda_runtime.h.
#include "cuda_runtime.h"
