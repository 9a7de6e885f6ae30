// SPDX-License-Identifier: MIT
// Kernels of the CPU for several levels of instructions in one library, as packages have them (core/op/rules.mk). A program chooses when
// it starts: the highest level that its processor has, at most the one that the environment's FERRY_CPU names.
#ifndef FERRY_OP_LEVELS_H
#define FERRY_OP_LEVELS_H

#include "op/op.h"

// All ops by id, with the kernels of the chosen level. Of other records only the kernel counts: an op is the record of op.h.
extern const FyOp *const *fy_cpu_ops;

// An op of a program's own is in no table.
static inline FyKernel *fy_cpu_kernel(const FyOp *op) {
  const bool listed = op->id >= 0 && op->id < FY_OP_COUNT && fy_ops[op->id] == op;
  return listed ? fy_cpu_ops[op->id]->cpu : op->cpu;
}

// The level in use, as -march spells it; NULL: the one that the whole library is compiled for.
const char *fy_cpu_level(void);

#endif
