// Exercise 1.1: Memory-bound or compute-bound         lesson 1 · easy · 15 min
//
// Task      Predict whether an operation is memory-bound or compute-bound. The
//           roofline model predicts this from the operation's arithmetic
//           intensity (FLOP per byte of memory traffic).
// Example   elementwise_intensity(2, 1, 4) = 1 / 12 (a + b in float32)
//           product_intensity(6, 6, 6, 4) = 432 / 432 = 1
//           100e9 FLOP/s, 20e9 byte/s, 2 FLOP/byte: 40e9 FLOP/s, memory-bound
// Write     elementwise_intensity, product_intensity, best_flops and
//           waits_for_memory (true if the operation is memory-bound)
// Inputs    inputs         number of input tensors, at least 1; one output
//           operations     FLOP per output element, may be 0
//           m, k, n        1 to 100,000; (m, k) @ (k, n) has 2 FLOP per term
//           element_bytes  2, 4 or 8, the same for every tensor
//           machine        peak FLOP/s and bandwidth, both positive
//           intensity      FLOP per byte, positive
// Required  - count one read or write per element; results correct to 5 digits
//           - best_flops returns the highest FLOP/s possible at that intensity
//           - waits_for_memory returns false if both limits are equal
#include "ferry.h"

#ifndef ANSWER_H // the tests declare this type
typedef struct Machine {
  double flops;     // peak FLOP/s
  double bandwidth; // peak bytes per second
} Machine;
#endif

double elementwise_intensity(int inputs, int operations, int element_bytes) {
  // [answer]
  return (double)operations / ((inputs + 1) * element_bytes);
  // [stub]
  //| return 0;
  // [end]
}

double product_intensity(int m, int k, int n, int element_bytes) {
  // [answer]
  double operations = 2.0 * m * k * n; // an int would overflow
  double elements = (double)m * k + (double)k * n + (double)m * n;
  return operations / (elements * element_bytes);
  // [stub]
  //| return 0;
  // [end]
}

double best_flops(const Machine *machine, double intensity) {
  // [answer]
  double memory_roof = machine->bandwidth * intensity;
  return memory_roof < machine->flops ? memory_roof : machine->flops;
  // [stub]
  //| return 0;
  // [end]
}

bool waits_for_memory(const Machine *machine, double intensity) {
  // [answer]
  return intensity < machine->flops / machine->bandwidth; // the ridge point
  // [stub]
  //| return false;
  // [end]
}
