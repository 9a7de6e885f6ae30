// What an answer to exercise 1.1 defines.
#ifndef ANSWER_H
#define ANSWER_H
#include "ferry.h"

typedef struct Machine {
  double flops;     // peak FLOP/s
  double bandwidth; // peak bytes per second
} Machine;

double elementwise_intensity(int inputs, int operations, int element_bytes);
double product_intensity(int m, int k, int n, int element_bytes);
double best_flops(const Machine *machine, double intensity);
bool waits_for_memory(const Machine *machine, double intensity);

#endif
