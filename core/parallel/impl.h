// SPDX-License-Identifier: MIT
// What the parts of data parallelism share: for core/ only.
#ifndef FERRY_PARALLEL_IMPL_H
#define FERRY_PARALLEL_IMPL_H

#include "device/backend.h"
#include "parallel/parallel.h"

// Raises FY_RUNTIME_ERROR or FY_VALUE_ERROR unless the ids name 1 to FY_MAX_DEVICES different CUDA devices that exist.
void fy_check_device_ids(const char *function, const int *device_ids, int count);

#endif
