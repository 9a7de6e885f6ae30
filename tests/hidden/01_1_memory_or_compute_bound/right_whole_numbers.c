// Counted in 64-bit integers.
#include "ferry.h"

double elementwise_intensity(int inputs, int operations, int element_bytes) {
  int64_t bytes = 0;
  for (int tensor = 0; tensor <= inputs; tensor++)
    bytes += element_bytes;
  return (double)operations / (double)bytes;
}

double product_intensity(int m, int k, int n, int element_bytes) {
  int64_t a = (int64_t)m * k, b = (int64_t)k * n, result = (int64_t)m * n;
  return (double)(2 * result * k) / (double)((a + b + result) * element_bytes);
}

bool waits_for_memory(const Machine *machine, double intensity) {
  return machine->bandwidth * intensity < machine->flops;
}

double best_flops(const Machine *machine, double intensity) {
  return waits_for_memory(machine, intensity) ? machine->bandwidth * intensity : machine->flops;
}
