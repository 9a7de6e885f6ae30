// mistake: compute roof missing
#include "ferry.h"

double elementwise_intensity(int inputs, int operations, int element_bytes) {
  return (double)operations / ((inputs + 1) * element_bytes);
}

double product_intensity(int m, int k, int n, int element_bytes) {
  double operations = 2.0 * m * k * n; // in double: 100000 cubed is no int
  double elements = (double)m * k + (double)k * n + (double)m * n;
  return operations / (elements * element_bytes);
}

double best_flops(const Machine *machine, double intensity) {
  double fed = machine->bandwidth * intensity; // as many as the bytes that arrive can keep busy
  return fed;
}

bool waits_for_memory(const Machine *machine, double intensity) {
  return intensity < machine->flops / machine->bandwidth; // the machine's balance
}
