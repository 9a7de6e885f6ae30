// SPDX-License-Identifier: MIT
// The products of published tables: of matrices, and of a matrix and a vector.
#include "products.h"

#include "counted.h"

#include <math.h>
#include <stdbool.h>

// Of the L2 cache's reads, those that go to device memory: a wave of blocks reads the rows and columns that it covers once.
static double l2_miss_share(const struct model_gpu *gpu, double n, double tile, double threads, double shared) {
  const double all =
      fmin(n / tile * (n / tile),
           gpu->sms.value * fmax(1, model_resident_blocks(gpu, threads, shared, threads > 500 ? 40 : 100)));
  if (12 * n * n <= gpu->l2.value * 1024 / 2)
    return 0.02;
  const double columns = fmin(all, n / tile), rows_covered = ceil(all / columns);
  return fmin(1, (rows_covered + columns) / (2 * all));
}

// Per thread a part of `per_thread` outputs, of which a step of k reads `loads` words of shared memory; the block computes
// tile x tile outputs and copies `depth` steps at a time.
static Modeled tiled(const struct model_gpu *gpu, double n, double tile, double per_thread, double loads, double depth,
                     bool vector, double registers) {
  const double threads = tile * tile / per_thread, blocks = n / tile * (n / tile), warps = blocks * threads / 32;
  const double words = 2 * tile * n * blocks; // copied to shared memory
  const double wide = vector ? 4 : 1, requests = words / 32 / wide, fma = n * n * n / 32;
  const double shared = 2 * tile * depth * 4;
  const double reads = 32 * words / 8;
  Counts c = {.blocks = blocks,
              .threads = threads,
              .shared_bytes = shared,
              .registers = registers,
              .loads = requests,
              .load_sectors = words / 8,
              .load_lines = words / 32,
              .l1_misses = words / 8,
              .stores = n * n / 32,
              .store_sectors = n * n / 8,
              .store_lines = n * n / 32,
              .dram_reads = reads * l2_miss_share(gpu, n, tile, threads, shared),
              .dram_writes = 4 * n * n,
              .shared = requests + n * warps * loads / (vector || per_thread > 1 ? 4 : 1),
              .shared_waves = words / 32 + n * warps * loads,
              .fp32 = fma,
              .integer = requests * 4 + n * warps * 0.5,
              .branches = n / depth * warps,
              .barriers = 2 * n / depth * warps,
              .ways = n / depth};
  return of(gpu, c, 12 * n * n, 2 * n * n * n);
}

// One output a thread, from device memory; `sectors` and `waves` of the two loads of a step.
static Modeled untiled(const struct model_gpu *gpu, double n, double block, double sectors, double waves) {
  const double warps = n * n / 32, blocks = n * n / (block * block), steps = n * warps;
  const double unique = blocks * 2 * block * n / 8;
  Counts c = {.blocks = blocks,
              .threads = block * block,
              .loads = 2 * steps,
              .load_sectors = sectors * steps,
              .load_lines = waves * steps,
              .load_waves = waves * steps,
              .l1_misses = unique,
              .stores = warps,
              .store_sectors = 4 * warps,
              .store_lines = warps,
              .dram_reads = 32 * unique * l2_miss_share(gpu, n, block, block * block, 0),
              .dram_writes = 4 * n * n,
              .fp32 = steps,
              .integer = steps,
              .branches = steps / 4,
              .ways = n / 4};
  return of(gpu, c, 12 * n * n, 2 * n * n * n);
}

Modeled sgemm_modeled(const struct model_gpu *gpu, const char *kind, double n) {
  if (is(kind, "naive"))
    return untiled(gpu, n, 32, 33, 33);
  if (is(kind, "coalesced"))
    return untiled(gpu, n, 32, 5, 2);
  if (is(kind, "shared")) // four steps load a word of B each, and 16 bytes of A at once, as nvcc's code does
    return tiled(gpu, n, 32, 1, 1.25, 32, false, 37);
  if (is(kind, "tile4x1"))
    return tiled(gpu, n, 32, 4, 5, 32, false, 40);
  if (is(kind, "tile4x4"))
    return tiled(gpu, n, 64, 16, 8, 16, true, 64);
  if (is(kind, "tile1d"))
    return tiled(gpu, n, 64, 8, 9, 8, false, 44);
  if (is(kind, "tile2d"))
    return tiled(gpu, n, 128, 64, 16, 8, false, 128);
  if (is(kind, "vector"))
    return tiled(gpu, n, 128, 64, 16, 8, true, 128);
  const struct model_time time = model_product(gpu, n, n, n, 1, MODEL_PRODUCT_FP32);
  return (Modeled){time.seconds, 12 * n * n, 2 * n * n * n, time.limit};
}

// Integers: a multiply-add is one on the integer lanes.
Modeled integer_product_modeled(const struct model_gpu *gpu, const char *kind, double n, double block) {
  const double warps = n * n / 32, steps = n * warps, blocks = n * n / (block * block);
  const double rows_of_warp = fmax(1, 32 / block), wide = fmin(block, 32) / 8;
  const double unique = blocks * 2 * block * n / 8, miss = l2_miss_share(gpu, n, block, block * block, 0);
  Counts c = {.blocks = blocks, .threads = block * block, .stores = warps, .store_sectors = 4 * warps};
  c.store_lines = rows_of_warp * warps;
  c.l1_misses = unique;
  c.dram_reads = 32 * unique * miss;
  c.dram_writes = 4 * n * n;
  c.integer = is(kind, "simple") ? 4 * steps : 6 * steps; // the tile's width is no constant: nothing is unrolled
  c.branches = steps / 4;
  if (is(kind, "simple")) {
    c.loads = 2 * steps;
    c.load_sectors = (rows_of_warp + wide) * steps;
    c.load_lines = c.load_waves = (rows_of_warp + 1) * steps;
    c.ways = n / 4;
  } else {
    c.shared_bytes = 8 * block * block;
    c.loads = 2 * steps / block;
    c.load_sectors = unique;
    c.load_lines = 2 * rows_of_warp * steps / block;
    c.shared = c.shared_waves = 2 * steps + 2 * steps / block;
    c.barriers = 2 * steps / block;
    c.ways = n / block;
  }
  return of(gpu, c, 12 * n * n, 2 * n * n * n);
}

// ---- of a matrix and a vector ----------------------------------------------------------------------------------------------------

// A thread for each row: each lane reads along a row of its own, 32 lines for a request, of which the next seven find their
// sectors in the L1 cache where it holds a line for each thread of the multiprocessor.
Modeled matrix_vector_modeled(const struct model_gpu *gpu, double n, double threads) {
  const double warps = n / 32, steps = n * warps;
  Counts c = {.blocks = n / threads,
              .threads = threads,
              .loads = 2 * steps,
              .load_sectors = 33 * steps,
              .load_lines = 33 * steps,
              .load_waves = 33 * steps,
              .l1_misses = n * n / 8,
              .stores = warps,
              .store_sectors = 4 * warps,
              .store_lines = warps,
              .dram_reads = 4 * n * n,
              .dram_writes = 4 * n,
              .integer = 2 * steps,
              .branches = steps / 4,
              .ways = n / 4};
  return of(gpu, c, 4 * n * n, 2 * n * n);
}
