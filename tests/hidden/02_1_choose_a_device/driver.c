// SPDX-License-Identifier: MIT
#include "driver.h"
#include "answer.h"
#include <stdio.h>

// Of all memory, so far: choosing takes none.
static int64_t allocations(void) {
  int64_t all = fy_memory_stats(FY_CPU_DEVICE).allocations;
  for (int i = 0; i < fy_cuda_device_count(); i++)
    all += fy_memory_stats(fy_cuda_device(i)).allocations;
  return all;
}

// The requests that the check numbered. A request to this machine (no number of devices) also creates a tensor on the device.
void drive(Driver *d) {
  char name[32];
  bool tried = false;
  for (int i = 0; i < (int)driver_number(d, "requests"); i++) {
    snprintf(name, sizeof name, "request %d", i);
    const char *wish = driver_text(d, name);
    snprintf(name, sizeof name, "cuda devices %d", i);
    bool imagined = driver_has(d, name);
    int count = imagined ? (int)driver_number(d, name) : 0;
    snprintf(name, sizeof name, "mps %d", i);
    int64_t before = allocations();
    FyDevice device = imagined ? choose_device(wish, count, driver_number(d, name) != 0) : device_here(wish);
    if (imagined && allocations() > before)
      tried = true;
    snprintf(name, sizeof name, "device %d", i);
    driver_put_text(d, name, fy_device_name_of(device));
    if (!imagined) {
      snprintf(name, sizeof name, "tensor %d", i);
      driver_put(d, name, fy_ones(fy_shape(3), .device = device));
    }
  }
  driver_put_number(d, "tried", tried);
}
