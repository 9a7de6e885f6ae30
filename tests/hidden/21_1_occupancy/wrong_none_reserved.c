// mistake: reserved shared memory ignored
#include "ferry.h"

static int up(int a, int b) {
  return a / b + (a % b != 0); // a + b - 1 may be more than an int holds
}

static int least(int a, int b) {
  return a < b ? a : b;
}

int blocks_that_fit(const Gpu *gpu, int threads, int registers, int shared_bytes) {
  int warps = up(threads, 32), bytes = shared_bytes > 0 ? shared_bytes + gpu->reserved_bytes : 0;
  int blocks = least(gpu->blocks, gpu->threads / (warps * 32));
  blocks = least(blocks, gpu->registers / (up(registers * 32, 256) * 256 * warps));
  return bytes > 0 ? least(blocks, gpu->shared_bytes / bytes) : blocks;
}

int waves(const Gpu *gpu, int blocks_in_grid, int blocks_that_fit) {
  return up(blocks_in_grid, gpu->multiprocessors * blocks_that_fit);
}

double last_wave(const Gpu *gpu, int blocks_in_grid, int blocks_that_fit) {
  int wave = gpu->multiprocessors * blocks_that_fit;
  int left = blocks_in_grid - (waves(gpu, blocks_in_grid, blocks_that_fit) - 1) * wave;
  return (double)left / wave;
}
