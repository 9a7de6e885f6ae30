// SPDX-License-Identifier: MIT
// Pooling on the CPU, for pool.c.
#ifndef FERRY_OP_POOL_CPU_H
#define FERRY_OP_POOL_CPU_H

#include "op/convolution/pool.h"

FyKernel fy_cpu_max_pool2d, fy_cpu_max_pool2d_backward, fy_cpu_avg_pool2d, fy_cpu_avg_pool2d_backward;

#endif
