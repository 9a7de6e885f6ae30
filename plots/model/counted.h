// SPDX-License-Identifier: MIT
// What counting a kernel by hand begins with.
#ifndef PLOTS_MODEL_COUNTED_H
#define PLOTS_MODEL_COUNTED_H

#include "kernels.h"

#include <stdbool.h>
#include <string.h>

typedef struct model_counts Counts;

static inline Modeled of(const struct model_gpu *gpu, Counts counts, double bytes, double flops) {
  const struct model_time time = model_kernel(gpu, &counts);
  return (Modeled){time.seconds, bytes, flops, time.limit};
}

static inline bool is(const char *a, const char *b) {
  return strcmp(a, b) == 0;
}

// Loads and stores of `warps` warps, each reading so many and writing so many rows of 32 floats in order.
static inline Counts rows(double warps, double threads, double reads, double writes) {
  const double r = warps * reads, w = warps * writes;
  return (Counts){.blocks = warps * 32 / threads,
                  .threads = threads,
                  .loads = r,
                  .load_sectors = 4 * r,
                  .load_lines = r,
                  .l1_misses = 4 * r,
                  .stores = w,
                  .store_sectors = 4 * w,
                  .store_lines = w,
                  .dram_reads = 128 * r,
                  .dram_writes = 128 * w,
                  .integer = 8 * warps + 2 * (r + w),
                  .ways = 1};
}

#endif
