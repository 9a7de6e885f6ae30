// mistake: FLOP per element instead of per byte
#include "ferry.h"

double elementwise_intensity(int inputs, int operations, int element_bytes) {
  (void)element_bytes;
  return (double)operations / (inputs + 1);
}

double product_intensity(int m, int k, int n, int element_bytes) {
  (void)element_bytes;
  double operations = 2.0 * m * k * n; // in double: 100000 cubed is no int
  double elements = (double)m * k + (double)k * n + (double)m * n;
  return operations / elements;
}

double best_flops(const Machine *machine, double intensity) {
  double fed = machine->bandwidth * intensity; // as many as the bytes that arrive can keep busy
  return fed < machine->flops ? fed : machine->flops;
}

bool waits_for_memory(const Machine *machine, double intensity) {
  return intensity < machine->flops / machine->bandwidth; // the machine's balance
}
