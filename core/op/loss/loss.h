// SPDX-License-Identifier: MIT
// What the loss kernels of the CPU and of CUDA agree on. Plain C.
#ifndef FERRY_OP_LOSS_H
#define FERRY_OP_LOSS_H

#include "op/launch.h"

// FyReduction (ops.h) by value: the CUDA sources do not read ops.h.
enum { FY_LOSS_MEAN = 0, FY_LOSS_SUM = 1, FY_LOSS_NONE = 2 };

typedef struct FyLossParams {
  int reduction;
  int64_t ignore_index; // cross entropy
} FyLossParams;

// cross_entropy: in x (N, C) or (C), target (N) or (), int64.
//   out loss (N), () or (); p, the softmax of x's rows, of its shape; count (): how many targets are not ignored.
// cross_entropy_backward: in grad (as loss), p, target, count; out gradient of x.
// mse_loss: in x, target of one shape; out loss (shape) or ().
// mse_loss_backward: in grad (as loss), x, target; out gradient of x.

#endif
