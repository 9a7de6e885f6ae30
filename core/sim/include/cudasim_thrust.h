// SPDX-License-Identifier: MIT
// What thrust allocates for a device is managed memory, so that its algorithms, which run on the host here, and kernels both may
// use it. Those algorithms know no streams: with them in a program, each call of the runtime does its work before it returns.
#ifndef CUDASIM_THRUST_H
#define CUDASIM_THRUST_H

#include "cuda_runtime.h"
#include <iostream> // which thrust for a GPU brings along
#include <new>
#include <stdlib.h>

namespace cudasim {

static const int thrust_needs_order = (cudasim_host_computes(), setenv("FERRY_SIM_MODE", "sync", 0));

inline void *thrust_allocate(size_t bytes) {
  void *pointer = nullptr;
  return cudaMallocManaged(&pointer, bytes ? bytes : 1) == cudaSuccess ? pointer : nullptr;
}

} // namespace cudasim

#endif
