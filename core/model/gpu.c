// SPDX-License-Identifier: MIT
// Finding a GPU of the table.
#include "model/gpu.h"

#include <stdio.h>
#include <string.h>

const struct model_gpu *model_gpu_named(const char *id) {
  for (int i = 0; i < model_gpu_count; i++)
    if (strcmp(model_gpus[i].id, id) == 0)
      return &model_gpus[i];
  return NULL;
}

int model_gpu_can_be_simulated(const struct model_gpu *gpu) {
  return gpu->architecture->major >= 7;
}

void model_label(const struct model_gpu *gpu, char *label, size_t bytes) {
  snprintf(label, bytes, "modeled, not measured: computed from counts and the data sheet of %s", gpu->name);
}
