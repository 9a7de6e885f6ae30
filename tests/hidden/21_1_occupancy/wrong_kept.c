// mistake: another GPU's numbers
#include "ferry.h"

#ifndef ANSWER_H // the tests declare it all before they compile your file; here it is for you and your editor
typedef struct Gpu {
  int multiprocessors, threads, blocks, registers, shared_bytes, reserved_bytes;
} Gpu;
#endif

int blocks_that_fit(const Gpu *gpu, int threads, int registers, int shared_bytes) {
  int warps = (threads + 31) / 32;
  int fit = gpu->blocks;
  int by_threads = gpu->threads / (warps * 32);
  if (by_threads < fit)
    fit = by_threads;
  int each_warp = (32 * registers + 255) / 256 * 256;
  int by_registers = gpu->registers / (each_warp * warps);
  if (by_registers < fit)
    fit = by_registers;
  int bytes = shared_bytes + gpu->reserved_bytes;
  if (bytes > 0 && gpu->shared_bytes / bytes < fit)
    fit = gpu->shared_bytes / bytes;
  return fit;
}

int waves(const Gpu *gpu, int blocks_in_grid, int blocks_that_fit) {
  static const Gpu *known;
  static int multiprocessors;
  if (gpu != known) {
    known = gpu;
    multiprocessors = gpu->multiprocessors;
  }
  int64_t places = (int64_t)multiprocessors * blocks_that_fit;
  return (int)((blocks_in_grid + places - 1) / places);
}

double last_wave(const Gpu *gpu, int blocks_in_grid, int blocks_that_fit) {
  int64_t places = (int64_t)gpu->multiprocessors * blocks_that_fit;
  int64_t rest = blocks_in_grid % places;
  return rest == 0 ? 1 : (double)rest / (double)places;
}
