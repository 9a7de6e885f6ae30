// SPDX-License-Identifier: MIT
// The CPU kernels of the random ops, and what the factories need of them.
#ifndef FERRY_OP_RANDOM_CPU_H
#define FERRY_OP_RANDOM_CPU_H

#include "op/launch.h"
#include "tensor/tensor.h"

int fy_cpu_uniform(FyLaunch *l);
int fy_cpu_normal(FyLaunch *l);
int fy_cpu_randint(FyLaunch *l);
int fy_cpu_dropout(FyLaunch *l);

// tensor.random_(low, high): integers in [low, high), of a's dtype.
FyTensor *fy_random_fill(FyTensor *a, int64_t low, int64_t high);

#endif
