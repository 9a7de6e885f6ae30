// Exercise 1.1: which limit holds                                                   (chapter 1, docs/01_why_a_gpu.md)
//
// An operation needs arithmetic and it needs bytes from memory, and on every machine one of the two is what it waits
// for. Write four functions that say which, before anything runs:
//
//   elementwise_intensity   operations per byte of an elementwise kernel that reads `inputs` tensors, does `operations`
//                           on each element and writes one tensor. Each element of each tensor crosses once.
//   product_intensity       of a matrix product, (m, k) @ (k, n): a multiplication and an addition for each of its
//                           terms, and each element of the two matrices and of the result crosses once
//   best_flops              the most operations per second that a machine can reach at so many operations per byte
//   waits_for_memory        whether memory is what holds it there. Where both limits are equal, it does not. They are
//                           asked for equal, exact in double, and also 7e-9 of them apart, which is not equal
//
// Numbers are compared to nine digits.
//
// Given: the bytes of an element (2, 4 or 8), at least one input, sizes from 1 to 100000 each, which need not be equal,
// and a machine, whose two numbers are at least 1e9:
//
//   typedef struct Machine {
//     double flops;     // operations per second, at most
//     double bandwidth; // bytes per second, at most
//   } Machine;
//
//   PyTorch has no function for it; torch.utils.flop_counter counts the operations of a model.
#include "ferry.h"

#ifndef ANSWER_H // the tests declare it all before they compile your file; here it is for you and your editor
typedef struct Machine {
  double flops;     // operations per second, at most
  double bandwidth; // bytes per second, at most
} Machine;
#endif

double elementwise_intensity(int inputs, int operations, int element_bytes) {
  // [answer]
  return (double)operations / ((inputs + 1) * element_bytes);
  // [stub]
  //| (void)inputs;
  //| (void)operations;
  //| (void)element_bytes;
  //| return 0;
  // [end]
}

double product_intensity(int m, int k, int n, int element_bytes) {
  // [answer]
  double operations = 2.0 * m * k * n; // in double: 100000 cubed is no int
  double elements = (double)m * k + (double)k * n + (double)m * n;
  return operations / (elements * element_bytes);
  // [stub]
  //| (void)m;
  //| (void)k;
  //| (void)n;
  //| (void)element_bytes;
  //| return 0;
  // [end]
}

double best_flops(const Machine *machine, double intensity) {
  // [answer]
  double fed = machine->bandwidth * intensity; // as many as the bytes that arrive can keep busy
  return fed < machine->flops ? fed : machine->flops;
  // [stub]
  //| (void)machine;
  //| (void)intensity;
  //| return 0;
  // [end]
}

bool waits_for_memory(const Machine *machine, double intensity) {
  // [answer]
  return intensity < machine->flops / machine->bandwidth; // the machine's balance
  // [stub]
  //| (void)machine;
  //| (void)intensity;
  //| return false;
  // [end]
}
