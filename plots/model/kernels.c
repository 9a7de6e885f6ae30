// SPDX-License-Identifier: MIT
// What the kernels of published tables do. Every function counts warp requests as an inspector would, from the kernel's source:
// sectors of 32 bytes, passes through the banks, instructions. `integer` is the weakest of them: addresses and loops are
// counted as they stand, which a compiler may shorten.
#include "counted.h"
#include "products.h"

#include "model/schedule.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

// ---- transposition: tiles of 32 x 32, blocks of 32 x 8 ------------------------------------------------------------------------

static Modeled transpose(const struct model_gpu *gpu, const char *kind, double n) {
  Counts c = rows(n * n / 128, 256, 4, 4);
  const double requests = n * n / 32;
  if (is(kind, "naive")) {
    c.store_sectors = c.store_lines = c.store_waves = 32 * requests;
    c.store_bytes = 128 * requests;
  } else if (!is(kind, "copy")) {
    c.shared_bytes = is(kind, "padded") ? 32 * 33 * 4 : 32 * 32 * 4;
    c.shared = 2 * requests;
    const double column = is(gpu->id, "k20c") ? 16 : 32; // Kepler's banks are 8 bytes wide
    c.shared_waves = is(kind, "coalesced") ? (column + 1) * requests : 2 * requests;
    c.barriers = requests / 4;
  }
  return of(gpu, c, 8 * n * n, 0);
}

// ---- sums: Harris's seven kernels ------------------------------------------------------------------------------------------------

// One pass of blocks of `threads` over n numbers.
static Counts sum_pass(double n, double threads, int kind) {
  const double each = kind < 4 ? 1 : kind < 7 ? 2 : ceil(n / (1024 * threads));
  const double blocks = kind == 7 ? fmin(1024, ceil(n / threads / 2)) : ceil(n / threads / each);
  const double warps = threads / 32;
  double active = 0, waves = 0, barriers = 1, integer = 0, divisions = 0, branches = 0;
  for (double width = threads / 2; width >= 1; width /= 2) { // pairs that are left in a step
    const double stride = threads / 2 / width;
    double busy = ceil(width / 32), conflicts = 1;
    if (kind == 1)
      busy = stride < 32 ? warps : ceil(warps * 32 / (2 * stride));
    if (kind == 2) // words 2 * stride apart
      conflicts = fmin(fmin(2 * stride, 32), fmin(width, 32));
    const bool last_warp = kind >= 5 && width <= 32;
    active += busy;
    waves += 3 * busy * conflicts;
    if (last_warp)
      continue;
    barriers++;
    divisions += kind == 1 ? warps : 0;
    integer += kind >= 6 ? warps : (kind == 2 ? 5 : 4) * warps;
    branches += (kind >= 6 ? 1 : 2) * warps;
  }
  const double loads = blocks * warps * each;
  return (Counts){.blocks = blocks,
                  .threads = threads,
                  .shared_bytes = 4 * threads,
                  .loads = loads,
                  .load_sectors = 4 * loads,
                  .load_lines = loads,
                  .l1_misses = 4 * loads,
                  .stores = blocks,
                  .store_sectors = blocks,
                  .store_lines = blocks,
                  .store_bytes = 4 * blocks,
                  .dram_reads = 128 * loads,
                  .dram_writes = 4 * blocks,
                  .shared = blocks * (warps + 3 * active),
                  .shared_waves = blocks * (warps + waves),
                  .integer = blocks * (10 * warps + integer) + loads,
                  .fp32 = blocks * active + loads,
                  .divisions = blocks * divisions,
                  .branches = blocks * (branches + warps),
                  .barriers = blocks * barriers * warps,
                  .ways = kind == 7 ? each / 4 : 1};
}

// The sums of blocks are summed again, but in the table of V100, which has the first pass alone.
static Modeled sum(const struct model_gpu *gpu, int kind, double n, double threads) {
  Modeled all = {.bytes = 4 * n};
  const bool first_only = is(gpu->id, "v100");
  const double launch = (is(gpu->id, "g80") ? 5e-6 : gpu->launch.value * 1e-6);
  for (double left = n; left > 1;) {
    const Counts c = sum_pass(left, threads, kind);
    const Modeled pass = of(gpu, c, 0, 0);
    all.seconds += pass.seconds;
    if (left == n)
      all.limit = pass.limit;
    if (first_only)
      break;
    all.seconds += launch;
    left = c.blocks;
  }
  return all;
}

// ---- streams and pictures --------------------------------------------------------------------------------------------------------

// Doubles, one element a thread, two blocks on a multiprocessor.
static Modeled stream(const struct model_gpu *gpu, const char *kind, double n, double threads) {
  const double reads = is(kind, "init") ? 0 : is(kind, "triad") ? 3 : 1, writes = is(kind, "read") ? 0 : 1;
  Counts c = rows(n / 32, threads, 2 * reads, 2 * writes); // doubles: two rows of 128 bytes each
  c.loads /= 2;
  c.stores /= 2;
  c.shared_bytes = floor(gpu->architecture->shared.value / 2) - 1024;
  c.fp64 = n / 32;
  c.ways = reads > 1 ? 2 : 1; // as few threads of triad on V100 say: what one way takes does not suffice
  return of(gpu, c, 8 * n * (reads + writes), 0);
}

// Blocks that read the same so many KB between them, again and again, past the L1 cache: what the L2 cache holds, and what not.
static Modeled shared_reads(const struct model_gpu *gpu, double kilobytes) {
  const double values = 16, bytes = 200000.0 * 1024 * 8 * values; // of float64, for each thread
  Counts c = rows(200000.0 * 32, 1024, 2 * values, 0);
  c.loads /= 2;
  c.dram_reads *= model_beyond_l2(gpu, 1024 * kilobytes);
  c.fp64 = c.loads;
  return of(gpu, c, bytes, 0);
}

// Eight bytes read an element, and its + 1 multiply-adds with them: 0.25 (its + 1) operations a byte, as the table has it.
static Modeled roofline(const struct model_gpu *gpu, double its) {
  const double n = 1 << 27; // which the rate does not depend on
  Counts c = rows(n / 32, 256, 2, 0);
  c.fp32 = n / 32 * (its + 1);
  c.integer = n / 32 * 0.2;
  return of(gpu, c, 8 * n, 2 * n * (its + 1));
}

static Modeled add(const struct model_gpu *gpu, const char *kind, double n) {
  Counts c = rows(n * n / 32, 256, 2, 1); // blocks of 16 x 16: two rows of 64 bytes
  const double requests = n * n / 32;
  c.load_lines = 4 * requests;
  c.store_lines = 2 * requests;
  if (is(kind, "strided")) { // a warp: 16 rows of two floats
    c.load_sectors = c.load_lines = 32 * requests;
    c.load_waves = 32 * requests;
    c.store_sectors = c.store_lines = c.store_waves = 16 * requests;
    c.store_bytes = 128 * requests;
  }
  return of(gpu, c, 12 * n * n, n * n);
}

// Three bytes in, one out: 96 bytes a warp in three loads of three lines at most, two rows of 16 pixels.
static Modeled gray(const struct model_gpu *gpu, double n) {
  const double warps = n * n / 32;
  const Counts c = {.blocks = n * n / 256,
                    .threads = 256,
                    .loads = 3 * warps,
                    .load_sectors = 12 * warps,
                    .load_lines = 6 * warps,
                    .l1_misses = 4 * warps,
                    .stores = warps,
                    .store_sectors = 2 * warps,
                    .store_lines = 2 * warps,
                    .store_bytes = 32 * warps,
                    .dram_reads = 3 * n * n,
                    .dram_writes = n * n,
                    .integer = 20 * warps,
                    .fp32 = 8 * warps,
                    .ways = 1};
  return of(gpu, c, 4 * n * n, 0);
}

// All numbers are 0: every lane meets the others at one bin. 512 bins in shared memory are added to the result at the end.
static Modeled histogram(const struct model_gpu *gpu, const char *kind, double n, double threads) {
  Counts c = rows(n / 32, threads, 1, 0);
  if (is(kind, "global")) {
    c.atomics = n / 32;
    c.atomic_passes = c.atomic_hottest = n;
  } else {
    c.shared_bytes = 2048;
    c.shared = n / 32 + 32 * c.blocks;
    c.shared_waves = 32 * c.blocks;
    c.shared_passes = n;
    c.barriers = 2 * n / 32;
    c.atomics = 16 * c.blocks;
    c.atomic_hottest = c.blocks;
  }
  return of(gpu, c, 4 * n, 0);
}

// ---- convolution, scan ---------------------------------------------------------------------------------------------------------

// In one dimension; `kind` ends in the mask's width. Its result is clamped between double constants: two conversions and two
// comparisons of float64 for each element. Where elements lie between sectors a load touches one more, and two lines.
// Instructions are counted in what nvcc 12 makes of the source for sm_75. It takes four steps of the loop over the mask together,
// whose loads are under way at the same time, and what is left of the width one by one, each with a wait of its own: a
// mask of 5 has to wait twice, one of 3 three times. In `way` are the instructions of both loops, loads apart.
static Modeled convolution(const struct model_gpu *gpu, const char *kind, double n, double threads) {
  static const struct way {
    const char *kind;
    double outside;                                         // the loops, branches included
    double four, one, four_branches, one_branches, of_mask; // of_mask: loads of the mask through the L1 cache
  } ways[] = {{"basic", 40, 19, 12, 1, 1, 1},
              {"constant", 36, 22, 10, 1, 1, 0},
              {"tiled", 78, 8, 5, 1, 1, 0},
              {"caching", 44, 35, 13, 17, 5, 0}};
  const size_t name = strcspn(kind, "0123456789");
  const struct way *way = ways;
  while (strncmp(kind, way->kind, name) != 0)
    way++;
  const double width = atof(kind + name), warps = n / 32, fours = floor(width / 4), ones = width - 4 * fours;
  Counts c = rows(warps, threads, 1, 1);
  c.fp64 = 4 * warps;
  c.fp32 = width * warps;
  c.integer = (way->outside + way->four * fours + way->one * ones) * warps;
  c.branches = (way->four_branches * fours + way->one_branches * ones) * warps;
  if (is(way->kind, "tiled") || is(way->kind, "caching")) {
    const bool tiled = is(way->kind, "tiled");
    const double edges = (tiled ? 2 : width - 1) * c.blocks; // loads by the warps at a block's ends
    c.shared_bytes = 4 * (threads + (tiled ? width - 1 : 0));
    c.shared = c.shared_waves = (1 + width) * warps;
    c.barriers = warps;
    c.loads += edges;
    c.load_sectors += edges;
    c.load_lines += edges;
    c.l1_misses += 2 * c.blocks;
    c.ways = 2;
  } else {
    const double each = width * (1 + way->of_mask);
    c.loads = each * warps;
    c.load_sectors = (5 * width - 1 + width * way->of_mask) * warps; // the mask: a sector for all lanes
    c.load_lines = (2 * width - 1 + width * way->of_mask) * warps;
    c.ways = fours + ones;
  }
  return of(gpu, c, 8 * n, 2 * width * n);
}

// One block's scan of `section` elements: the counts of a warp, `steps` of `busy` warps' accesses, in a block of 512 threads.
static Counts scan_sections(double n, const char *kind) {
  const double threads = 512, warps = 16;
  const double section = is(kind, "koggestone") ? 512 : is(kind, "brentkung") ? 1024 : 4096;
  const double each = section / threads;
  Counts c = rows(ceil(n / section) * warps, threads, each, each);
  const double blocks = c.blocks;
  double shared = 2 * section / 32, waves = shared, barriers = 0, adds = 0;
  if (is(kind, "brentkung")) {
    for (double stride = 1; stride < section; stride *= 2) { // up, and down again
      const double pairs = section / (2 * stride), busy = ceil(pairs / 32);
      shared += 2 * 3 * busy;
      waves += 2 * 3 * busy * fmin(2 * stride, fmin(32, pairs));
      barriers += 2;
      adds += 2 * busy;
    }
  } else { // 512 sums in nine steps, from one half of the memory to the other
    shared += 9 * 3 * warps;
    waves += 9 * 3 * warps;
    adds += 9 * warps;
    barriers += 9;
  }
  if (is(kind, "threephase")) { // a thread's own eight, which lie eight words apart; then the sum before them is added
    shared += (3 * each + 3 * each) * warps;
    waves += (3 * each + 3 * each) * warps * each;
    adds += 2 * each * warps;
    barriers += 2;
  }
  c.stores += blocks;
  c.store_sectors += blocks;
  c.store_lines += blocks;
  c.shared_bytes = is(kind, "koggestone") ? 4096 : 4 * section;
  c.shared = blocks * shared;
  c.shared_waves = blocks * waves;
  c.barriers = blocks * barriers * warps;
  c.integer += blocks * (adds + 4 * barriers * warps);
  c.branches = blocks * barriers * warps;
  return c;
}

// The sections, the scan of their sums, and a kernel that adds them. Memory for the sums is allocated and freed in between, which
// is not counted.
static Modeled scan(const struct model_gpu *gpu, const char *kind, double n) {
  const Counts c = scan_sections(n, kind);
  Modeled all = of(gpu, c, 8 * n, n);
  if (c.blocks > 1) {
    const Counts add = rows(n / 32, 512, 1, 1);
    all.seconds += scan(gpu, kind, c.blocks).seconds + of(gpu, add, 0, 0).seconds;
  }
  return all;
}

// ---- the clock -------------------------------------------------------------------------------------------------------------------

// A kernel of so many seconds, again and again: the host's pace, or the kernels' with what lies between two of them.
static double again(const struct model_gpu *gpu, double seconds, bool graph) {
  if (graph)
    return seconds + gpu->graph_gap.value * 1e-6;
  return fmax(gpu->launch.value * 1e-6, seconds + gpu->gap.value * 1e-6);
}

static Modeled repeated(const struct model_gpu *gpu, double n, bool graph) {
  const struct model_time t = model_streaming(gpu, 8 * n, 8 * n, n);
  return (Modeled){again(gpu, t.seconds, graph), 16 * n, n, t.limit};
}

static Modeled short_kernels(const struct model_gpu *gpu, const char *how) {
  const double kernel = 2.9e-6;
  if (is(how, "wait"))
    return (Modeled){.seconds = gpu->launch.value * 1e-6 + kernel + gpu->wait.value * 1e-6};
  return (Modeled){.seconds = again(gpu, kernel, is(how, "graph"))};
}

// n floats in, sqrt(sin^2 + cos^2) of each, out; in so many streams, in turn or all copies first.
static Modeled overlap(const struct model_gpu *gpu, const char *how, double n, int streams) {
  struct model_schedule *s = model_schedule_new((int)gpu->copy_engines.value, NULL);
  const int parts = is(how, "none") ? 1 : streams;
  const double copy = model_copy_seconds(gpu, 4 * n / parts, 0), launch = gpu->launch.value * 1e-6;
  Counts c = rows(n / 32 / parts, 256, 1, 1);
  c.special = 3 * n / 32 / parts;
  c.fp32 = 40 * n / 32 / parts; // sin and cos in software
  const struct model_time kernel = model_kernel(gpu, &c);
  struct model_task *task[3][8];
  double host = 0;
  for (int i = 0; i < 3 * parts; i++) {
    const int part = is(how, "batches") ? i % parts : i / 3, step = is(how, "batches") ? i / parts : i % 3;
    struct model_task *t = task[step][part] = model_task_new();
    t->engine = step == 0 ? MODEL_COPY_IN : step == 1 ? MODEL_KERNELS : MODEL_COPY_OUT;
    t->seconds = step == 1 ? kernel.seconds : copy;
    t->share = kernel.share;
    t->gap = step == 1 ? gpu->gap.value * 1e-6 : 0;
    if (step > 0)
      model_task_after(t, task[step - 1][part]);
    model_task_submit(s, t, host += launch);
  }
  double end = 0;
  for (int part = 0; part < parts; part++) {
    model_schedule_settle(s, task[2][part]);
    end = fmax(end, task[2][part]->finish);
  }
  for (int i = 0; i < 3 * parts; i++)
    model_task_release(task[i / parts][i % parts]);
  model_schedule_free(s);
  return (Modeled){.seconds = end};
}

// ---- by name ---------------------------------------------------------------------------------------------------------------------

// What stands behind `family` in the name; NULL: it is another.
static const char *kind_of(const char *kernel, const char *family) {
  const size_t length = strlen(family);
  return strncmp(kernel, family, length) == 0 ? kernel + length : NULL;
}

Modeled modeled_kernel(const struct model_gpu *gpu, const char *kernel, double size, double block) {
  const char *kind;
  if ((kind = kind_of(kernel, "transpose_")))
    return transpose(gpu, kind, size);
  if ((kind = kind_of(kernel, "sum_")))
    return sum(gpu, *kind - '0', size, block);
  if ((kind = kind_of(kernel, "sgemm_")))
    return sgemm_modeled(gpu, kind, size);
  if ((kind = kind_of(kernel, "product_")))
    return integer_product_modeled(gpu, kind, size, block);
  if ((kind = kind_of(kernel, "stream_")))
    return stream(gpu, kind, size, block);
  if ((kind = kind_of(kernel, "add_")))
    return add(gpu, kind, size);
  if ((kind = kind_of(kernel, "histogram_")))
    return histogram(gpu, kind, size, block);
  if ((kind = kind_of(kernel, "convolution_")))
    return convolution(gpu, kind, size, block);
  if ((kind = kind_of(kernel, "scan_")))
    return scan(gpu, kind, size);
  if ((kind = kind_of(kernel, "repeat_")))
    return repeated(gpu, size, is(kind, "graph"));
  if ((kind = kind_of(kernel, "launch_")))
    return short_kernels(gpu, kind);
  if ((kind = kind_of(kernel, "overlap_")))
    return overlap(gpu, kind, size, (int)block);
  if (is(kernel, "roofline"))
    return roofline(gpu, size);
  if (is(kernel, "shared_reads"))
    return shared_reads(gpu, size);
  if (is(kernel, "matrix_vector"))
    return matrix_vector_modeled(gpu, size, block);
  if (is(kernel, "gray"))
    return gray(gpu, size);
  if (is(kernel, "copy_in")) // waited for
    return (Modeled){.seconds = (gpu->launch.value + gpu->wait.value) * 1e-6 + model_copy_seconds(gpu, size, 0),
                     .bytes = size};
  return (Modeled){.seconds = -1};
}
