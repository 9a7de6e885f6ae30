// SPDX-License-Identifier: MIT
// Computes the time of a kernel from counts and a GPU's parameters.
//
// Several resources limit a kernel at the same time. The model computes a time for each: bytes through device memory and the L2
// cache, wavefronts through the L1 cache and shared memory, issued instructions, arithmetic, and the latency that too few warps
// cannot hide. If they overlapped perfectly, the kernel's time would be the longest of them. The norm with exponent OVERLAP lets
// the others add a little. To the norm, the time of the shortest kernel is added, less the start of a block and its first load.
#include "model/kernel.h"

#include <math.h>

// Constants that hold for all GPUs. Fitted, to: the transpositions on M2050 and K20c, the sums on G80 and V100, the SGEMMs on
// RTX 3090 and A6000, and gpu-benches' streams (docs/model.md, "fitted").
static const double OVERLAP = 3;          // exponent of the norm
static const double DIVISION_ISSUES = 20; // instructions of an integer division or remainder
static const double LOADS_UNDER_WAY = 4;  // that a warp has in flight, if `ways` is unknown
static const double ONE_WAY_SHARE = 0.97; // of its peak, that device memory reaches if it is only read, or only written
static const double TAGS_PER_CYCLE = 4;   // cache lines that L1 looks up in a cycle
static const double PARTIAL_STORE = 2.2;  // whole sectors that a partially written sector costs the L2 cache
static const double PARTIAL_BYTES = 16;   // missing bytes of a sector from which on it costs that much
// Cycles of the L2 cache for each lane at one address: about one operation per clock. Fitted to the histogram of zeros on GTX 1650, and
// measured in the multiprocessors' clock, because the cache's clock is not known.
static const double ATOMIC_CYCLES = 0.87;
static const double SHARED_PASS = 2.3; // cycles of an atomic in shared memory for each lane at one address

const char *model_limit_name(enum model_limit limit) {
  static const char *const names[] = {"device memory", "L2 cache",   "L1 cache and shared memory",
                                      "instructions",  "arithmetic", "latency"};
  return names[limit];
}

int model_resident_blocks(const struct model_gpu *gpu, double threads, double shared_bytes, double registers) {
  const struct model_architecture *a = gpu->architecture;
  const double warps = ceil(fmax(threads, 1) / 32);
  double blocks = fmin(floor(a->threads.value / (32 * warps)), a->blocks.value);
  const double reserved = a->major >= 8 ? 1024 : 0;
  if (shared_bytes > 0)
    blocks = fmin(blocks, floor(a->shared.value / (shared_bytes + reserved)));
  if (registers > 0) // allocated to warps, 8 per lane at a time
    blocks = fmin(blocks, floor(a->registers.value / (ceil(registers / 8) * 8 * 32 * warps)));
  return (int)blocks;
}

static double norm(const double *terms, int count) {
  double longest = 0, sum = 0;
  for (int i = 0; i < count; i++)
    longest = fmax(longest, terms[i]);
  if (longest == 0)
    return 0;
  for (int i = 0; i < count; i++)
    sum += pow(terms[i] / longest, OVERLAP);
  return longest * pow(sum, 1 / OVERLAP);
}

// Wave quantization: the multiprocessors with one block more than the others determine the time. Returns this time divided by
// the time of an even distribution. With many blocks, the last ones begin when the first ones end, which evens out half of it.
static double quantization(const struct model_gpu *gpu, double blocks, int resident) {
  const double each = blocks / gpu->sms.value, uneven = ceil(each) / each;
  return each > 8.0 * resident ? 1 + (uneven - 1) / 2 : uneven;
}

// Only reads, or only writes, come near the peak. dram_share is for both, because the memory must switch between them.
static double dram_seconds(const struct model_gpu *gpu, double reads, double writes) {
  const double bytes = reads + writes, mixed = bytes > 0 ? 4 * reads * writes / (bytes * bytes) : 0;
  const double share = ONE_WAY_SHARE + mixed * (fmin(gpu->dram_share.value, ONE_WAY_SHARE) - ONE_WAY_SHARE);
  return bytes / (gpu->dram.value * share * 1e9);
}

double model_beyond_l2(const struct model_gpu *gpu, double bytes) {
  const double cache = gpu->l2.value * 1024;
  return cache > 0 ? fmin(1, fmax(0, (bytes / cache - 0.75) / 0.5)) : 1;
}

// Cycles of the L1 cache and shared memory, which share their banks.
static double l1_cycles(const struct model_architecture *a, const struct model_counts *c) {
  const double load_waves = c->load_waves > 0 ? c->load_waves : c->load_lines;
  const double store_waves = c->store_waves > 0 ? c->store_waves : c->store_lines;
  const double lines = c->load_lines + c->store_lines, requests = c->loads + c->stores;
  double global = fmax(load_waves + store_waves, (lines + (TAGS_PER_CYCLE - 1) * requests) / TAGS_PER_CYCLE);
  global = fmax(global, a->request_cycles.value * requests);
  const double accesses = fmax(0, c->shared - c->shared_passes); // of atomics, the passes count
  const double shared = fmax(c->shared_waves * a->shared_cycles.value, accesses * a->request_cycles.value);
  return shared + c->shared_passes * SHARED_PASS + global + c->atomics;
}

// Sectors that stores cost the L2 cache, which merges the bytes of a partially written sector.
static double stored_sectors(const struct model_counts *c) {
  const double missing = c->store_bytes > 0 ? 32 * c->store_sectors - c->store_bytes : 0;
  return c->store_sectors + (PARTIAL_STORE - 1) * fmin(c->store_sectors, missing / PARTIAL_BYTES);
}

static double issued(const struct model_counts *c) {
  return c->loads + c->stores + c->shared + c->atomics + c->fp32 + c->fp64 + c->integer + c->branches + c->barriers +
         c->special + DIVISION_ISSUES * c->divisions;
}

// The units for float64 and for special functions work in parallel with the others, and so do the int32 units if they are not float32
// lanes.
static double arithmetic_cycles(const struct model_architecture *a, const struct model_counts *c) {
  const double integer = c->integer / a->int_lanes.value, beside = a->int_beside.value * integer;
  const double units[] = {c->fp32 / (a->fp32_lanes.value * a->fp32_share.value) + integer - beside, beside,
                          c->fp64 / a->fp64_lanes.value, c->special / a->special_lanes.value};
  return 32 * norm(units, 4);
}

// The cycles of one block, from its begin to its end, if it has the multiprocessor to itself. Its warps wait at the same time, so the
// latency of one warp counts once. If barriers separate the loads from the work on the loaded data, the block's own work is added.
static double block_cycles(const struct model_architecture *a, const struct model_counts *c) {
  const double warps = c->blocks * ceil(c->threads / 32);
  const double loads = (c->loads + c->atomics) / warps;
  const double chain = c->ways > 0 ? c->ways : loads > 0 ? fmax(1, loads / LOADS_UNDER_WAY) : 0;
  const double missing = c->load_sectors > 0 ? c->l1_misses / c->load_sectors : 0;
  const double from_dram = c->l1_misses > 0 ? fmin(1, c->dram_reads / (32 * c->l1_misses)) : 0;
  const double beyond = from_dram * a->dram_latency.value + (1 - from_dram) * a->l2_latency.value;
  const double latency = missing * beyond + (1 - missing) * a->shared_latency.value;
  const double work[] = {l1_cycles(a, c), issued(c) / a->issue.value, arithmetic_cycles(a, c)};
  const double own = c->barriers > 0 ? norm(work, 3) / fmax(c->blocks, 1) : 0;
  return a->block_cycles.value + chain * latency + own + c->barriers / warps * a->barrier_cycles.value;
}

struct model_time model_kernel(const struct model_gpu *gpu, const struct model_counts *c) {
  const struct model_architecture *a = gpu->architecture;
  struct model_time t = {.resident =
                             (int)fmax(1, model_resident_blocks(gpu, c->threads, c->shared_bytes, c->registers))};
  const double clock = gpu->clock.value * 1e6, all = gpu->sms.value * clock;
  const double blocks = fmax(c->blocks, 1), uneven = quantization(gpu, blocks, t.resident);
  t.share = fmin(1, blocks / (gpu->sms.value * t.resident));
  t.term[MODEL_DRAM] = dram_seconds(gpu, c->dram_reads, c->dram_writes);
  t.term[MODEL_L2] =
      32 * (c->l1_misses + stored_sectors(c) + fmax(c->atomics, c->atomic_sectors)) / (gpu->l2_rate.value * 1e9) +
      c->atomic_hottest * ATOMIC_CYCLES / clock;
  t.term[MODEL_L1] = uneven * l1_cycles(a, c) / all;
  t.term[MODEL_ISSUE] = uneven * issued(c) / a->issue.value / all;
  t.term[MODEL_ARITHMETIC] = uneven * arithmetic_cycles(a, c) / all;
  t.term[MODEL_LATENCY] = fmax(1, blocks / (gpu->sms.value * t.resident)) * block_cycles(a, c) / clock;
  for (int i = 1; i < MODEL_LIMITS; i++)
    if (t.term[i] > t.term[t.limit])
      t.limit = (enum model_limit)i;
  // The time of the shortest kernel includes the begin of a block and its first load.
  const double first = (a->block_cycles.value + a->l2_latency.value) / clock;
  t.seconds = gpu->least.value * 1e-6 + fmax(0, norm(t.term, MODEL_LIMITS) - first);
  return t;
}

// ---- kernels of a library ------------------------------------------------------------------------------------------------

enum { STREAM_THREADS = 256, STREAM_BYTES = 16 }; // a thread's 16 bytes at a time

struct model_time model_streaming(const struct model_gpu *gpu, double bytes_read, double bytes_written, double flops) {
  return model_streaming_in(gpu, 0, bytes_read, bytes_written, flops);
}

struct model_time model_streaming_in(const struct model_gpu *gpu, double blocks, double bytes_read,
                                     double bytes_written, double flops) {
  const double bytes = bytes_read + bytes_written;
  const double requests = ceil(bytes / (32 * STREAM_BYTES)), sectors = ceil(bytes / 32);
  const double read = bytes > 0 ? bytes_read / bytes : 0;
  const double beyond = model_beyond_l2(gpu, bytes);
  const double turns = fmax(1, ceil(fmax(bytes_read, bytes_written) / (STREAM_THREADS * STREAM_BYTES)));
  const double launched = blocks > 0 ? fmin(blocks, turns) : turns;
  const struct model_counts counts = {
      .blocks = launched,
      .threads = STREAM_THREADS,
      .loads = read * requests,
      .load_sectors = read * sectors,
      .load_lines = read * sectors / 4,
      .l1_misses = read * sectors,
      .stores = (1 - read) * requests,
      .store_sectors = (1 - read) * sectors,
      .store_lines = (1 - read) * sectors / 4,
      .dram_reads = beyond * bytes_read,
      .dram_writes = beyond * bytes_written,
      .fp32 = flops / 32,
      .integer = 2 * requests,
      .ways = turns / launched,
  };
  return model_kernel(gpu, &counts);
}

// ---- products ------------------------------------------------------------------------------------------------------------

// Tiles that libraries compute C in, and the share of the peak that one reaches when the GPU is full of them.
// Fitted to cuBLAS on RTX 2080 Super (256 to 6144) and RTX 3090.
static const struct {
  double m, n, efficiency;
} tiles[] = {{128, 128, 0.93}, {128, 64, 0.86}, {64, 64, 0.75}, {32, 32, 0.45}, {16, 32, 0.28}};
enum { TILES = sizeof tiles / sizeof *tiles };

static double product_rate(const struct model_gpu *gpu, enum model_product type) {
  const struct model_architecture *a = gpu->architecture;
  const double lanes = 2 * gpu->sms.value * gpu->clock.value * 1e6;
  if (type == MODEL_PRODUCT_FP64)
    return lanes * a->fp64_lanes.value;
  if (type == MODEL_PRODUCT_HALF && gpu->tensor.value > 0)
    return gpu->tensor.value * 1e12;
  return lanes * a->fp32_lanes.value * a->fp32_share.value;
}

// In these tiles, k cut into `parts` that are summed afterwards: whole waves of tiles, each multiprocessor at its share of the rate.
static struct model_time tiled(const struct model_gpu *gpu, double m, double n, double k, double batch,
                               enum model_product type, int tile, double parts) {
  static const double sizes[] = {4, 8, 2};
  const double size = sizes[type], depth = ceil(k / parts);
  const double rows = ceil(m / tiles[tile].m), columns = ceil(n / tiles[tile].n);
  const double blocks = rows * columns * batch * parts, waves = ceil(blocks / gpu->sms.value);
  const double each = 2 * tiles[tile].m * tiles[tile].n * depth / (product_rate(gpu, type) / gpu->sms.value);
  const double clock = gpu->clock.value * 1e6,
               start = gpu->architecture->block_cycles.value + gpu->architecture->dram_latency.value;
  const double traffic =
      size * batch * (rows * columns * (tiles[tile].m + tiles[tile].n) * k + m * n * (2 * parts - 1));
  const double unique = size * batch * (m * k + k * n + m * n);
  struct model_time t = {.resident = 2, .share = fmin(1, blocks / gpu->sms.value)};
  t.term[MODEL_ARITHMETIC] = waves * each / tiles[tile].efficiency;
  t.term[MODEL_L2] = traffic / (gpu->l2_rate.value * 1e9);
  t.term[MODEL_DRAM] = model_beyond_l2(gpu, unique) * dram_seconds(gpu, unique, 0);
  // A step of the loop over k waits for the next tiles when there is one block alone to hide it.
  t.term[MODEL_LATENCY] = (start + depth / 8 * 30) / clock + (parts > 1 ? gpu->least.value * 1e-6 : 0);
  for (int i = 1; i < MODEL_LIMITS; i++)
    if (t.term[i] > t.term[t.limit])
      t.limit = (enum model_limit)i;
  t.seconds = fmax(norm(t.term, MODEL_LIMITS), gpu->least.value * 1e-6);
  return t;
}

struct model_time model_product(const struct model_gpu *gpu, double m, double n, double k, double batch,
                                enum model_product type) {
  struct model_time best = {.seconds = 0};
  if (m <= 0 || n <= 0 || batch <= 0)
    return best;
  for (int tile = 0; tile < TILES; tile++)
    for (double parts = 1; parts <= 32 && k / parts >= 128 * (parts > 1); parts *= 2) {
      const struct model_time t = tiled(gpu, m, n, fmax(k, 1), batch, type, tile, parts);
      if (best.seconds == 0 || t.seconds < best.seconds)
        best = t;
    }
  return best;
}

// ---- copies --------------------------------------------------------------------------------------------------------------

double model_copy_seconds(const struct model_gpu *gpu, double bytes, int pageable) {
  const double rate = pageable ? fmin(gpu->pageable.value, gpu->link.value) : gpu->link.value;
  return bytes > 0 ? gpu->copy_start.value * 1e-6 + bytes / (rate * 1e9) : 0;
}

double model_peer_copy_seconds(const struct model_gpu *gpu, double bytes) {
  return bytes > 0 ? gpu->copy_start.value * 1e-6 + bytes / (gpu->peer.value * 1e9) : 0;
}

double model_ring_seconds(const struct model_gpu *gpu, double bytes, int ranks) {
  return 2 * (ranks - 1) * gpu->least.value * 1e-6 + bytes / (gpu->peer.value * 1e9);
}
