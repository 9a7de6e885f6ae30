// Exercise 21.1: Occupancy                          lesson 21 · medium · 30 min
//
// Task      Compute how many blocks of a kernel fit on a multiprocessor, and in
//           how many waves a grid runs. A multiprocessor hides latency by
//           switching between its resident warps. CUDA's function for the
//           first number is cudaOccupancyMaxActiveBlocksPerMultiprocessor.
// Example   A100, 256 threads, 64 registers, 0 bytes  ->  blocks_that_fit is 4
//           108 multiprocessors, 4 fit, 500 blocks    ->  waves is 2,
//           last_wave is (500 - 432) / 432
// Write     blocks_that_fit, waves and last_wave.
// Inputs    threads, registers   1 to 1024 per block, 1 to 255 per thread
//           shared_bytes         0 or more per block; reserved_bytes: 0 or more
//           blocks_in_grid       1 to 1,000,000
//           blocks_that_fit      1 to 64 (in waves and last_wave)
// Required  - blocks_that_fit: the number of blocks that all four limits allow
//             (threads, blocks, registers, shared memory); may be 0
//           - threads and registers are allocated to whole warps of 32 threads,
//             a warp's registers in units of 256: 1056 registers take up 1280
//           - each block also takes up reserved_bytes of shared memory
//           - waves: the number of waves, including a partial one
//           - last_wave: the filled fraction of the last wave, 1 if it is full
#include "ferry.h"

#ifndef ANSWER_H // the tests declare this type themselves; this copy is for you and your editor
typedef struct Gpu {
  int multiprocessors;
  int threads, blocks, registers, shared_bytes; // limits of one multiprocessor
  int reserved_bytes;                           // shared memory that each block takes in addition to its own
} Gpu;
#endif

// [answer]
static int divide_up(int a, int b) {
  return (a + b - 1) / b;
}

static int min(int a, int b) {
  return a < b ? a : b;
}

// [stub]
// [end]
int blocks_that_fit(const Gpu *gpu, int threads, int registers, int shared_bytes) {
  // [answer]
  int warps = divide_up(threads, 32);
  int warp_registers = divide_up(registers * 32, 256) * 256;
  int bytes = shared_bytes + gpu->reserved_bytes;
  int blocks = min(gpu->blocks, gpu->threads / (warps * 32));
  blocks = min(blocks, gpu->registers / (warp_registers * warps));
  return bytes > 0 ? min(blocks, gpu->shared_bytes / bytes) : blocks;
  // [stub]
  //| return 0;
  // [end]
}

int waves(const Gpu *gpu, int blocks_in_grid, int blocks_that_fit) {
  // [answer]
  return divide_up(blocks_in_grid, gpu->multiprocessors * blocks_that_fit);
  // [stub]
  //| return 0;
  // [end]
}

double last_wave(const Gpu *gpu, int blocks_in_grid, int blocks_that_fit) {
  // [answer]
  int wave = gpu->multiprocessors * blocks_that_fit;
  int left = blocks_in_grid - (waves(gpu, blocks_in_grid, blocks_that_fit) - 1) * wave;
  return (double)left / wave;
  // [stub]
  //| return 0;
  // [end]
}
