// SPDX-License-Identifier: MIT
// Access to the members of struct model_counts by name.
#include "model/count_names.h"

#include <string.h>

const char *const model_count_names[MODEL_COUNTS] = {
    "blocks",       "threads",       "shared_bytes",  "registers",     "loads",          "load_sectors",   "load_lines",
    "load_waves",   "stores",        "store_sectors", "store_lines",   "store_waves",    "l1_misses",      "dram_reads",
    "dram_writes",  "store_bytes",   "atomics",       "atomic_passes", "atomic_sectors", "atomic_hottest", "shared",
    "shared_waves", "shared_passes", "fp32",          "fp64",          "integer",        "divisions",      "special",
    "branches",     "barriers",      "ways",
};

double *model_count_named(struct model_counts *counts, const char *name) {
  for (int i = 0; i < MODEL_COUNTS; i++)
    if (strcmp(model_count_names[i], name) == 0)
      return (double *)counts + i;
  return NULL;
}
