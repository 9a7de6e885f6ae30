// mistake: one addition per result not counted
#include "ferry.h"

double elementwise_intensity(int inputs, int operations, int element_bytes) {
  return (double)operations / (inputs + 1) / element_bytes;
}

double product_intensity(int m, int k, int n, int element_bytes) {
  double operations = (double)m * n * k + (double)m * n * (k - 1), crossing = (double)k * (m + n) + (double)m * n;
  return operations / (element_bytes * crossing);
}

double best_flops(const Machine *machine, double intensity) {
  bool slow = intensity * machine->bandwidth < machine->flops;
  return slow ? intensity * machine->bandwidth : machine->flops;
}

bool waits_for_memory(const Machine *machine, double intensity) {
  return intensity < machine->flops / machine->bandwidth;
}
