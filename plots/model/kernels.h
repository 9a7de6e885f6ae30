// SPDX-License-Identifier: MIT
// What the kernels of published tables do, counted by hand from their sources: for the check of the model.
#ifndef PLOTS_MODEL_KERNELS_H
#define PLOTS_MODEL_KERNELS_H

#include "model/kernel.h"

// Of one row of a table. `flops` and `bytes` are what the publisher divided by the time.
typedef struct Modeled {
  double seconds; // below 0: there is no such kernel
  double bytes, flops;
  enum model_limit limit;
} Modeled;

// `kernel` is the table's name of it ("sum_3"), `size` and `block` its columns.
Modeled modeled_kernel(const struct model_gpu *gpu, const char *kernel, double size, double block);

#endif
