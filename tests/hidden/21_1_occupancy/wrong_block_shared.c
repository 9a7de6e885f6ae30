// mistake: a real GPU's limits of a block
#include "ferry.h"

int blocks_that_fit(const Gpu *gpu, int threads, int registers, int shared_bytes) {
  int warps = (threads + 31) / 32;
  int of_warp = (32 * registers + 255) / 256 * 256;
  int of_block = warps * of_warp;
  int bytes = shared_bytes + gpu->reserved_bytes;
  if (shared_bytes > 227 * 1024) // no block may have more
    return 0;
  int fit = gpu->blocks;
  if (gpu->threads / 32 / warps < fit)
    fit = gpu->threads / 32 / warps;
  if (gpu->registers / of_block < fit)
    fit = gpu->registers / of_block;
  if (bytes > 0 && gpu->shared_bytes / bytes < fit)
    fit = gpu->shared_bytes / bytes;
  return fit;
}

int waves(const Gpu *gpu, int blocks_in_grid, int blocks_that_fit) {
  int places = gpu->multiprocessors * blocks_that_fit;
  return (blocks_in_grid - 1) / places + 1;
}

double last_wave(const Gpu *gpu, int blocks_in_grid, int blocks_that_fit) {
  int places = gpu->multiprocessors * blocks_that_fit;
  return (double)((blocks_in_grid - 1) % places + 1) / places;
}
