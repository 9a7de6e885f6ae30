// SPDX-License-Identifier: MIT
// Batch normalization on the CPU, for norm.c.
#ifndef FERRY_OP_NORM_CPU_H
#define FERRY_OP_NORM_CPU_H

#include "op/normalization/norm.h"

FyKernel fy_cpu_batch_norm, fy_cpu_batch_norm_backward;

#endif
