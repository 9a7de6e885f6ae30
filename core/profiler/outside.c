// SPDX-License-Identifier: MIT
// Ranges of the program for tools that watch it from outside (NVTX: nsys, ncu), by way of a real GPU's backend.
#include "profiler/impl.h"

enum { MOST_OPEN = 255 };

static _Thread_local int open_ranges;

int fy_outside_ranges(void) {
  return open_ranges;
}

void fy_outside_enter(const char *name) {
  if (open_ranges < MOST_OPEN && fy_device_range_push(name))
    open_ranges++;
}

void fy_outside_close(int depth) {
  for (; open_ranges > depth; open_ranges--)
    fy_device_range_pop();
}
