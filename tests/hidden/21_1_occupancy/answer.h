// What an answer to exercise 21.1 defines.
#ifndef ANSWER_H
#define ANSWER_H
#include "ferry.h"

// What a multiprocessor has room for, and the GPU's number of them.
typedef struct Gpu {
  int multiprocessors;
  int threads, blocks; // on one multiprocessor at a time
  int registers;       // of a multiprocessor, given to a warp in portions of 256
  int shared_bytes;    // of a multiprocessor
  int reserved_bytes;  // of that, what each block takes besides its own
} Gpu;

int blocks_that_fit(const Gpu *gpu, int threads, int registers, int shared_bytes);
int waves(const Gpu *gpu, int blocks_in_grid, int blocks_that_fit);
double last_wave(const Gpu *gpu, int blocks_in_grid, int blocks_that_fit);

#endif
