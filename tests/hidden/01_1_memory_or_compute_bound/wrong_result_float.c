// mistake: output counted as float32
#include "ferry.h"
#include <math.h>

#ifndef ANSWER_H // the tests declare it all before they compile your file; here it is for you and your editor
typedef struct Machine {
  double flops;     // operations per second, at most
  double bandwidth; // bytes per second, at most
} Machine;
#endif

double elementwise_intensity(int inputs, int operations, int element_bytes) {
  double bytes = (inputs + 1.0) * element_bytes;
  return operations / bytes;
}

double product_intensity(int m, int k, int n, int element_bytes) {
  int result_bytes = element_bytes < 4 ? 4 : element_bytes; // sums are kept in float32
  double bytes = ((double)m * k + (double)k * n) * element_bytes + (double)m * n * result_bytes;
  return 2 * ((double)m * k * n) / bytes;
}

double best_flops(const Machine *machine, double intensity) {
  return fmin(machine->flops, machine->bandwidth * intensity);
}

bool waits_for_memory(const Machine *machine, double intensity) {
  return machine->bandwidth * intensity < machine->flops;
}
