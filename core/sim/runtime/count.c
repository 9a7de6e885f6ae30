// SPDX-License-Identifier: MIT
// FERRY_SIM_COUNT=1: when the program ends, what it asked of its devices, on stderr.
#include "sim/runtime/count.h"

#include <stdio.h>
#include <stdlib.h>

#include "sim/runtime/memory.h"
#include "sim/base/sim.h"

static void print_copies(const char *way, enum cudaMemcpyKind kind) {
  const unsigned long long copies = sim.counters.copies[kind], bytes = sim.counters.bytes[kind];
  if (copies > 0)
    fprintf(stderr, "  copies %-17s %8llu, %llu bytes\n", way, copies, bytes);
}

static void print_counts(void) {
  size_t left = 0;
  sim_lock();
  for (int i = 0; i < sim.config.devices; i++)
    left += sim.device[i].heap.used;
  sim_unlock();
  left -= sim_graph_freed_bytes();
  fprintf(stderr, "cudasim: counted in this run\n");
  fprintf(stderr, "  kernel launches          %8llu\n", (unsigned long long)sim.counters.launches);
  if (sim.counters.matrix_products > 0)
    fprintf(stderr, "  cuBLAS calls             %8llu\n", (unsigned long long)sim.counters.matrix_products);
  if (sim.counters.fills > 0)
    fprintf(stderr, "  fills                    %8llu\n", (unsigned long long)sim.counters.fills);
  print_copies("host to device", cudaMemcpyHostToDevice);
  print_copies("device to host", cudaMemcpyDeviceToHost);
  print_copies("device to device", cudaMemcpyDeviceToDevice);
  print_copies("host to host", cudaMemcpyHostToHost);
  fprintf(stderr, "  host synchronizations    %8llu\n", (unsigned long long)sim.counters.synchronizations);
  fprintf(stderr, "  allocations, frees       %8llu, %llu\n", (unsigned long long)sim.counters.allocations,
          (unsigned long long)sim.counters.frees);
  fprintf(stderr, "  device memory left over  %8zu bytes\n", left);
}

void sim_count_start(void) {
  if (sim.config.count)
    atexit(print_counts);
}
