// Puts one block after another on a multiprocessor until one does not fit; and runs the grid wave by wave.
#include "ferry.h"

static int warp_registers(int registers) {
  int portions = 0;
  while (portions * 256 < registers * 32)
    portions++;
  return portions * 256;
}

int blocks_that_fit(const Gpu *gpu, int threads, int registers, int shared_bytes) {
  int warps = threads / 32 + (threads % 32 != 0), blocks = 0;
  for (;;) {
    int more = blocks + 1;
    if (more > gpu->blocks || more * warps * 32 > gpu->threads ||
        more * (shared_bytes + gpu->reserved_bytes) > gpu->shared_bytes ||
        more * warps * warp_registers(registers) > gpu->registers)
      return blocks;
    blocks = more;
  }
}

int waves(const Gpu *gpu, int blocks_in_grid, int blocks_that_fit) {
  int count = 0;
  for (int left = blocks_in_grid; left > 0; left -= gpu->multiprocessors * blocks_that_fit)
    count++;
  return count;
}

double last_wave(const Gpu *gpu, int blocks_in_grid, int blocks_that_fit) {
  int wave = gpu->multiprocessors * blocks_that_fit, rest = blocks_in_grid % wave;
  return rest == 0 ? 1.0 : (double)rest / wave;
}
