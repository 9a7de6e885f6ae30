// SPDX-License-Identifier: MIT
// Linked into a program that `ferry play` runs: at its end it says what the library has counted, or where it crashed.
#include "ferry.h"
#include "sim/engine/crash.h"
#include <stdio.h>
#include <stdlib.h>

static void say_counted(void) {
  FyCounters n = fy_counters();
  fflush(stdout);
  fprintf(stderr, "\ncounted by the library:\n");
  fprintf(stderr, "  %-26s %12lld\n", "kernels launched", (long long)n.launches);
  if (n.graph_launches)
    fprintf(stderr, "  %-26s %12lld (of %lld operations)\n", "graphs replayed", (long long)n.graph_launches,
            (long long)n.graph_nodes);
  fprintf(stderr, "  %-26s %12lld (%lld bytes)\n", "copies to a device", (long long)n.host_to_device,
          (long long)n.host_to_device_bytes);
  fprintf(stderr, "  %-26s %12lld (%lld bytes)\n", "copies to the host", (long long)n.device_to_host,
          (long long)n.device_to_host_bytes);
  if (n.device_to_device)
    fprintf(stderr, "  %-26s %12lld (%lld bytes)\n", "copies between devices", (long long)n.device_to_device,
            (long long)n.device_to_device_bytes);
  fprintf(stderr, "  %-26s %12lld\n", "host synchronizations", (long long)n.synchronizations);
}

__attribute__((constructor)) static void at_the_end(void) {
  sim_crash_init();
  atexit(say_counted);
}
