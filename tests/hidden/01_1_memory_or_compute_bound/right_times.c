// By the time that the arithmetic and the memory traffic take.
#include "ferry.h"
#include <math.h>

double elementwise_intensity(int inputs, int operations, int element_bytes) {
  return operations / (double)element_bytes / (1 + inputs);
}

double product_intensity(int m, int k, int n, int element_bytes) {
  return 2 / (element_bytes * (1.0 / n + 1.0 / m + 1.0 / k));
}

double best_flops(const Machine *machine, double intensity) {
  double arithmetic = 1 / machine->flops, memory = 1 / (intensity * machine->bandwidth); // seconds an operation
  return 1 / fmax(arithmetic, memory);
}

bool waits_for_memory(const Machine *machine, double intensity) {
  return !(intensity * machine->bandwidth >= machine->flops);
}
