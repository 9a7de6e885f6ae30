// Exercise 21.1: blocks that fit                                                     (chapter 21, docs/21_the_machine.md)
//
// Write three functions that do by arithmetic what cudaOccupancyMaxActiveBlocksPerMultiprocessor and a look at the grid
// tell:
//
//   blocks_that_fit   how many blocks a multiprocessor holds at a time, of so many threads, so many registers for each
//                     thread and so many bytes of shared memory; 0 where not one fits
//   waves             in how many waves a grid runs, where so many blocks fit on each multiprocessor
//   last_wave         the share of the places that the last wave fills: more than 0, and 1 where it is full
//
// Given:
//
//   typedef struct Gpu {
//     int multiprocessors;
//     int threads, blocks; // room of one multiprocessor: threads in whole warps of 32, and a limit of blocks
//     int registers;       // of one multiprocessor. A warp's are given out in portions of 256: 32 threads of 33
//                          // registers are 1056, and take 1280
//     int shared_bytes;    // of one multiprocessor
//     int reserved_bytes;  // of that, what each block takes besides its own
//   } Gpu;
//
// Nothing else is a limit here: not what a single block may have (1024 threads), nor that real GPUs give registers
// out to several warps together. A grid has up to 2147483647 blocks, all along x; all else is small: a multiprocessor has room for at
// most 64 blocks and has at most 2^20 registers and bytes, and a block asks for at most 1024 threads of 255 registers
// and for 2^20 bytes. All sizes of blocks and grids and all counts of registers are above 0, and so are the blocks that
// waves and last_wave are given; shared_bytes + reserved_bytes of a block may be 0, and then sets no limit.
//
//   PyTorch asks the same before it launches many of its kernels: cudaOccupancyMaxActiveBlocksPerMultiprocessor.
#include "ferry.h"

#ifndef ANSWER_H // the tests declare it all before they compile your file; here it is for you and your editor
typedef struct Gpu {
  int multiprocessors, threads, blocks, registers, shared_bytes, reserved_bytes;
} Gpu;
#endif

int blocks_that_fit(const Gpu *gpu, int threads, int registers, int shared_bytes) {
  (void)gpu;
  (void)threads;
  (void)registers;
  (void)shared_bytes;
  return 0;
}

int waves(const Gpu *gpu, int blocks_in_grid, int blocks_that_fit) {
  (void)gpu;
  (void)blocks_in_grid;
  (void)blocks_that_fit;
  return 0;
}

double last_wave(const Gpu *gpu, int blocks_in_grid, int blocks_that_fit) {
  (void)gpu;
  (void)blocks_in_grid;
  (void)blocks_that_fit;
  return 0;
}
