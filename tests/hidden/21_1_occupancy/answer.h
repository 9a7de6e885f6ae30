// What an answer to exercise 21.1 defines.
#ifndef ANSWER_H
#define ANSWER_H
#include "ferry.h"

// The limits of one multiprocessor, and the number of multiprocessors.
typedef struct Gpu {
  int multiprocessors;
  int threads, blocks; // resident at a time
  int registers;       // allocated to a warp in units of 256
  int shared_bytes;
  int reserved_bytes; // shared memory that each block takes in addition to its own
} Gpu;

int blocks_that_fit(const Gpu *gpu, int threads, int registers, int shared_bytes);
int waves(const Gpu *gpu, int blocks_in_grid, int blocks_that_fit);
double last_wave(const Gpu *gpu, int blocks_in_grid, int blocks_that_fit);

#endif
