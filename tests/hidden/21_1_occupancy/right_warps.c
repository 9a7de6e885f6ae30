// Counts everything in warps, and in doubles.
#include "ferry.h"
#include <math.h>

int blocks_that_fit(const Gpu *gpu, int threads, int registers, int shared_bytes) {
  double warps = ceil(threads / 32.0);
  double by_threads = floor(gpu->threads / 32 / warps);
  double warps_by_registers = floor(gpu->registers / (ceil(32.0 * registers / 256) * 256));
  double fit = fmin(fmin(gpu->blocks, by_threads), floor(warps_by_registers / warps));
  if (shared_bytes + gpu->reserved_bytes != 0)
    fit = fmin(fit, gpu->shared_bytes / (shared_bytes + gpu->reserved_bytes));
  return (int)fit;
}

int waves(const Gpu *gpu, int blocks_in_grid, int blocks_that_fit) {
  return (int)ceil((double)blocks_in_grid / (gpu->multiprocessors * blocks_that_fit));
}

double last_wave(const Gpu *gpu, int blocks_in_grid, int blocks_that_fit) {
  int wave = gpu->multiprocessors * blocks_that_fit;
  return ((blocks_in_grid - 1) % wave + 1) / (double)wave;
}
