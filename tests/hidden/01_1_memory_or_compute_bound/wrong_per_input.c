// mistake: operations counted per input
#include "ferry.h"
#include <math.h>

#ifndef ANSWER_H // the tests declare it all before they compile your file; here it is for you and your editor
typedef struct Machine {
  double flops;     // operations per second, at most
  double bandwidth; // bytes per second, at most
} Machine;
#endif

double elementwise_intensity(int inputs, int operations, int element_bytes) {
  double work = (double)operations * inputs, crossed = (double)element_bytes * inputs + element_bytes;
  return work / crossed;
}

double product_intensity(int m, int k, int n, int element_bytes) {
  double rows = m, inner = k, columns = n;
  double elements = rows * inner + inner * columns + rows * columns;
  return 2 * rows * inner * columns / (elements * element_bytes);
}

double best_flops(const Machine *machine, double intensity) {
  return fmin(machine->flops, machine->bandwidth * intensity);
}

bool waits_for_memory(const Machine *machine, double intensity) {
  return machine->bandwidth * intensity < machine->flops;
}
