// SPDX-License-Identifier: MIT
// Products of bfloat16 matrices by one of two units:
//
// - AMX: registers that are tiles of 16 rows of 64 bytes, and an instruction that adds the product of two of them to a third, 8192
//   multiplications at a time;
// - AVX-512's vdpbf16ps: adds the products of 16 pairs of numbers with 16 other pairs to 16 sums.
//
// Both take B's rows in pairs, and flush subnormal inputs and sums to zero.
//
//   C (16, 16) float32  +=  A (16, 32) bfloat16  times  B (32, 16) bfloat16, whose rows lie in pairs: (16, 16, 2)
//
// Both matrices are packed first: cut into panels of 16 rows of A or 16 columns of B, and each panel into tiles that lie one
// after the other, with zeros where the matrix ends. Four tiles of C are summed at a time from two panels of A and two of B,
// so that each tile that is loaded is used twice. A thread's task is a block of C; its sums are kept in float32 until the whole
// of K is done, then the bias is added, ReLU taken, and the result rounded, once. The order of a sum depends on K alone.
//
// oneDNN has kernels for the tiles too, which take the longer the further a matrix is from what they like best, and a millisecond
// or more to make for every new size.
//
// A is packed beforehand, for all tasks. So is B where several tasks need the same columns; else each packs its own, which then are
// still in the cache.
#include "op/product/matmul_bfloat16.h"
#include "op/kernel/dnn.h"

#if defined(__x86_64__) && defined(__linux__)
#include "base/threads.h"
#include "op/copy/transpose.h"
#include "op/elementwise/pointwise_math.h"
#include "tensor/half.h"
#include <immintrin.h>

enum {
  TILE = 16,               // rows of a tile, and columns of one of C
  DEPTH = 32,              // of K, that one instruction adds up
  ELEMENTS = TILE * DEPTH, // of a tile of A or B
  ROWS = 256,              // of a task's block of C, at most
  COLUMNS = 128,
  CHUNK = 2048,    // of K, whose packed panels stay in the second-level cache
  VECTOR_ROWS = 8, // of a tile, whose sums vdpbf16ps keeps in registers
};

// Sums (32, 32), rows `stride` apart, of `steps` tiles of two panels of A and two of B, which lie `panel_a` and `panel_b` apart;
// added to what is there unless `first`. The sums of rows from `rows` on may be left out.
typedef void Multiply(const uint16_t *a, int64_t panel_a, const uint16_t *b, int64_t panel_b, int64_t steps,
                      int64_t rows, bool first, float *sums, int64_t stride);

typedef struct Unit {
  void (*begin)(void), (*end)(void); // of its use by a thread
  Multiply *multiply;
} Unit;

typedef struct Job {
  const FyMatmulPlan *p;
  const Unit *unit;
  const uint16_t *a, *b, *bias;
  uint16_t *c;
  bool relu;
  int64_t steps;                                // of DEPTH in K, the last one filled up
  int64_t block_m, block_n, blocks_m, blocks_n; // rows and columns of a block, and their numbers
  uint16_t *packed_a, *packed_b;                // whole; B's only where several rows of blocks share it
  char *slots;                                  // of each thread: sums, then B's panels
  size_t slot_bytes;
} Job;

// ---- packing -------------------------------------------------------------------------------------------------------------

// One tile, element by element: element (i, k) of the matrix is at [i * stride_i + k * stride_k]; A's rows or B's columns are i < n.
static void pack_edge(uint16_t *tile, const uint16_t *from, int64_t stride_i, int64_t stride_k, int64_t n,
                      int64_t depth, bool pairs) {
  for (int64_t i = 0; i < TILE; i++)
    for (int64_t k = 0; k < DEPTH; k++) {
      uint16_t value = i < n && k < depth ? from[i * stride_i + k * stride_k] : 0;
      tile[pairs ? (k / 2 * TILE + i) * 2 + k % 2 : i * DEPTH + k] = value;
    }
}

static void pack_tile_of_a(uint16_t *tile, const uint16_t *from, bool trans, int64_t ld) {
  if (trans) {
    fy_transpose_tile(sizeof *tile, tile, DEPTH, from, ld, TILE, DEPTH, false);
    return;
  }
  for (int64_t i = 0; i < TILE; i++)
    memcpy(tile + i * DEPTH, from + i * ld, DEPTH * sizeof *tile);
}

// A step of a panel of B that lies transposed: the pairs of a column are side by side, and are moved as one number; those that
// begin at odd addresses are copied first.
static void pack_tile_of_b(uint16_t *tile, const uint16_t *from, int64_t ld) {
  uint32_t pairs[TILE][TILE];
  if (ld % 2 == 0 && (uintptr_t)from % sizeof pairs[0][0] == 0) {
    fy_transpose_tile(sizeof pairs[0][0], tile, TILE, from, ld / 2, TILE, TILE, false);
    return;
  }
  for (int64_t j = 0; j < TILE; j++)
    memcpy(pairs[j], from + j * ld, sizeof pairs[j]);
  fy_transpose_tile(sizeof pairs[0][0], tile, TILE, pairs, TILE, TILE, TILE, false);
}

// A step of several panels of B, `panel` elements apart: its rows are read in their whole length.
static void pack_rows_of_b(uint16_t *tiles, int64_t panel, int64_t panels, const uint16_t *from, int64_t ld) {
  for (int64_t k = 0; k < DEPTH; k += 2) {
    const uint16_t *restrict upper = from + k * ld, *restrict lower = upper + ld;
    for (int64_t j = 0; j < panels; j++) {
      uint32_t pair[TILE];
      for (int64_t i = 0; i < TILE; i++)
        pair[i] = (uint32_t)upper[j * TILE + i] | (uint32_t)lower[j * TILE + i] << 16;
      memcpy(tiles + j * panel + k * TILE, pair, sizeof pair);
    }
  }
}

// `panels` panels, each of `steps` tiles from step `from` on, of A's rows or B's columns, from panel `first` on. They lie `panel`
// elements apart.
static void pack_panels(const Job *job, int64_t batch, bool of_b, int64_t first, int64_t panels, int64_t from,
                        int64_t steps, uint16_t *packed, int64_t panel) {
  const FyMatmulPlan *p = job->p;
  const FyMatrix *matrix = of_b ? &p->b : &p->a;
  const bool along_k = of_b == matrix->trans; // elements side by side are those of neighboring k
  const int64_t stride_i = along_k ? matrix->ld : 1, stride_k = along_k ? 1 : matrix->ld;
  const int64_t whole = (of_b ? p->n : p->m) / TILE - first; // panels, from the first one on, that are no edge
  int64_t a, b;
  fy_matmul_plan_offsets(p, batch, &a, &b);
  const uint16_t *data = (of_b ? job->b + b : job->a + a) + first * TILE * stride_i;
  for (int64_t step = from; step < from + steps; step++, packed += ELEMENTS) {
    const int64_t k = step * DEPTH, depth = p->k - k;
    const int64_t full = depth < DEPTH ? 0 : whole < panels ? whole : panels;
    const uint16_t *at = data + k * stride_k;
    if (of_b && !matrix->trans && full > 0)
      pack_rows_of_b(packed, panel, full, at, matrix->ld);
    for (int64_t j = 0; j < full && of_b && matrix->trans; j++)
      pack_tile_of_b(packed + j * panel, at + j * TILE * stride_i, matrix->ld);
    for (int64_t j = 0; j < full && !of_b; j++)
      pack_tile_of_a(packed + j * panel, at + j * TILE * stride_i, matrix->trans, matrix->ld);
    for (int64_t j = full > 0 ? full : 0; j < panels; j++)
      pack_edge(packed + j * panel, at + j * TILE * stride_i, stride_i, stride_k,
                (of_b ? p->n : p->m) - (first + j) * TILE, depth, of_b);
  }
}

static int64_t panels_of(int64_t size) {
  return (size + 2 * TILE - 1) / (2 * TILE) * 2; // they are taken in twos
}

static void pack_all_of_a(int64_t begin, int64_t end, void *context) {
  const Job *job = context;
  const int64_t panel = job->steps * ELEMENTS, panels = panels_of(job->p->m);
  for (int64_t i = begin; i < end; i++)
    pack_panels(job, i / panels, false, i % panels, 1, 0, job->steps, job->packed_a + i * panel, panel);
}

enum { TOGETHER = 8 }; // panels of B

static int64_t groups_of(int64_t panels) {
  return (panels + TOGETHER - 1) / TOGETHER;
}

static void pack_all_of_b(int64_t begin, int64_t end, void *context) {
  const Job *job = context;
  const int64_t panel = job->steps * ELEMENTS, panels = panels_of(job->p->n), groups = groups_of(panels);
  for (int64_t i = begin; i < end; i++) {
    const int64_t batch = i / groups, first = i % groups * TOGETHER, left = panels - first;
    pack_panels(job, batch, true, first, left < TOGETHER ? left : TOGETHER, 0, job->steps,
                job->packed_b + (batch * panels + first) * panel, panel);
  }
}

// ---- tiles -----------------------------------------------------------------------------------------------------------------

#define AMX __attribute__((target("amx-tile,amx-bf16")))

// Compilers are not told that the instructions below read memory: what was written has to be there.
#define WRITTEN(pointer) __asm__ volatile("" : : "r"(pointer) : "memory")

typedef struct TileConfig {
  uint8_t palette, start_row, reserved[14];
  uint16_t row_bytes[16];
  uint8_t rows[16];
} TileConfig;

AMX static void configure_tiles(void) {
  TileConfig config = {.palette = 1};
  for (int i = 0; i < 8; i++) {
    config.row_bytes[i] = 64;
    config.rows[i] = TILE;
  }
  WRITTEN(&config);
  _tile_loadconfig(&config);
}

AMX static void release_tiles(void) {
  _tile_release();
}

AMX static void multiply_tiles(const uint16_t *a, int64_t panel_a, const uint16_t *b, int64_t panel_b, int64_t steps,
                               int64_t rows, bool first, float *sums, int64_t stride) {
  const size_t bytes = (size_t)stride * sizeof *sums;
  const uint16_t *a1 = a + panel_a, *b1 = b + panel_b;
  float *lower = sums + TILE * stride;
  (void)rows;
  WRITTEN(a);
  if (first) {
    _tile_zero(0);
    _tile_zero(1);
    _tile_zero(2);
    _tile_zero(3);
  } else {
    _tile_loadd(0, sums, bytes);
    _tile_loadd(1, sums + TILE, bytes);
    _tile_loadd(2, lower, bytes);
    _tile_loadd(3, lower + TILE, bytes);
  }
  for (int64_t i = 0; i < steps * ELEMENTS; i += ELEMENTS) {
    _tile_loadd(4, a + i, 64);
    _tile_loadd(6, b + i, 64);
    _tile_loadd(7, b1 + i, 64);
    _tile_loadd(5, a1 + i, 64);
    _tile_dpbf16ps(0, 4, 6);
    _tile_dpbf16ps(1, 4, 7);
    _tile_dpbf16ps(2, 5, 6);
    _tile_dpbf16ps(3, 5, 7);
  }
  _tile_stored(0, sums, bytes);
  _tile_stored(1, sums + TILE, bytes);
  _tile_stored(2, lower, bytes);
  _tile_stored(3, lower + TILE, bytes);
}

// ---- vectors ----------------------------------------------------------------------------------------------------------------

#define AVX512_BF16 __attribute__((target("avx512f,avx512bf16")))

// A pair of numbers, which may lie at any even address, 16 times.
AVX512_BF16 static inline __m512bh pair_of(const uint16_t *at) {
  int32_t pair;
  memcpy(&pair, at, sizeof pair);
  return (__m512bh)_mm512_set1_epi32(pair);
}

// VECTOR_ROWS rows of the sums: the loops over them are unrolled, so that the sums stay in registers.
AVX512_BF16 static void multiply_rows(const uint16_t *a, const uint16_t *b, const uint16_t *b1, int64_t steps,
                                      bool first, float *sums, int64_t stride) {
  __m512 left[VECTOR_ROWS], right[VECTOR_ROWS];
  _Pragma("GCC unroll 16") for (int i = 0; i < VECTOR_ROWS; i++) {
    left[i] = first ? _mm512_setzero_ps() : _mm512_loadu_ps(sums + i * stride);
    right[i] = first ? _mm512_setzero_ps() : _mm512_loadu_ps(sums + i * stride + TILE);
  }
  for (; steps > 0; steps--, a += ELEMENTS, b += ELEMENTS, b1 += ELEMENTS)
    for (int k = 0; k < DEPTH; k += 2) {
      const __m512bh x = (__m512bh)_mm512_loadu_si512(b + k * TILE), y = (__m512bh)_mm512_loadu_si512(b1 + k * TILE);
      _Pragma("GCC unroll 16") for (int i = 0; i < VECTOR_ROWS; i++) {
        const __m512bh pair = pair_of(a + i * DEPTH + k);
        left[i] = _mm512_dpbf16_ps(left[i], pair, x);
        right[i] = _mm512_dpbf16_ps(right[i], pair, y);
      }
    }
  _Pragma("GCC unroll 16") for (int i = 0; i < VECTOR_ROWS; i++) {
    _mm512_storeu_ps(sums + i * stride, left[i]);
    _mm512_storeu_ps(sums + i * stride + TILE, right[i]);
  }
}

static void multiply_vectors(const uint16_t *a, int64_t panel_a, const uint16_t *b, int64_t panel_b, int64_t steps,
                             int64_t rows, bool first, float *sums, int64_t stride) {
  for (int64_t i = 0; i < rows && i < 2 * TILE; i += VECTOR_ROWS)
    multiply_rows(a + i / TILE * panel_a + i % TILE * DEPTH, b, b + panel_b, steps, first, sums + i * stride, stride);
}

static void do_nothing(void) {
}

static const Unit *unit_of_processor(void) {
  static const Unit tiles = {configure_tiles, release_tiles, multiply_tiles};
  static const Unit vectors = {do_nothing, do_nothing, multiply_vectors};
  return fy_dnn_has_amx() ? &tiles : fy_dnn_has_avx512_bf16() ? &vectors : NULL;
}

// ---- blocks of C -------------------------------------------------------------------------------------------------------------

typedef struct Block {
  int64_t batch, row, column, rows, columns;
} Block;

// B's panels of a chunk of K, `*panel` elements apart: of all, or packed now.
static const uint16_t *panels_of_b(const Job *job, const Block *block, int64_t from, int64_t steps, uint16_t *own,
                                   int64_t *panel) {
  *panel = job->steps * ELEMENTS;
  if (job->packed_b)
    return job->packed_b + (block->batch * panels_of(job->p->n) + block->column / TILE) * *panel + from * ELEMENTS;
  *panel = steps * ELEMENTS;
  pack_panels(job, block->batch, true, block->column / TILE, panels_of(block->columns), from, steps, own, *panel);
  return own;
}

static void store_block(const Job *job, const Block *block, const float *sums) {
  const uint16_t *bias = job->bias ? job->bias + block->column : NULL;
  for (int64_t r = 0; r < block->rows; r++, sums += job->block_n) {
    uint16_t *restrict c = job->c + (block->batch * job->p->m + block->row + r) * job->p->n + block->column;
    if (bias && job->relu)
      for (int64_t j = 0; j < block->columns; j++)
        c[j] = fy_relu_bf16(fy_float_to_bfloat16(sums[j] + fy_bfloat16_to_float(bias[j])));
    else if (bias)
      for (int64_t j = 0; j < block->columns; j++)
        c[j] = fy_float_to_bfloat16(sums[j] + fy_bfloat16_to_float(bias[j]));
    else
      for (int64_t j = 0; j < block->columns; j++)
        c[j] = job->relu ? fy_relu_bf16(fy_float_to_bfloat16(sums[j])) : fy_float_to_bfloat16(sums[j]);
  }
}

static void run_block(const Job *job, const Block *block, float *sums, uint16_t *own) {
  const int64_t panel_a = job->steps * ELEMENTS;
  const uint16_t *a = job->packed_a + (block->batch * panels_of(job->p->m) + block->row / TILE) * panel_a;
  for (int64_t from = 0; from < job->steps; from += CHUNK / DEPTH) {
    const int64_t left = job->steps - from, steps = left < CHUNK / DEPTH ? left : CHUNK / DEPTH;
    int64_t panel_b;
    const uint16_t *b = panels_of_b(job, block, from, steps, own, &panel_b);
    for (int64_t j = 0; j < block->columns; j += 2 * TILE)
      for (int64_t i = 0; i < block->rows; i += 2 * TILE)
        job->unit->multiply(a + i / TILE * panel_a + from * ELEMENTS, panel_a, b + j / TILE * panel_b, panel_b, steps,
                            block->rows - i, from == 0, sums + i * job->block_n + j, job->block_n);
  }
  store_block(job, block, sums);
}

static void run_blocks(int worker, FyTurns *turns, void *context) {
  const Job *job = context;
  const FyMatmulPlan *p = job->p;
  float *sums = (float *)(void *)(job->slots + (size_t)worker * job->slot_bytes);
  uint16_t *own = (uint16_t *)(void *)(sums + job->block_m * job->block_n);
  job->unit->begin();
  for (int64_t task; fy_next_turn(turns, &task);) {
    int64_t blocks = job->blocks_m * job->blocks_n, i = task % blocks;
    Block block = {.batch = task / blocks};
    block.row = i / job->blocks_n * job->block_m;
    block.column = i % job->blocks_n * job->block_n;
    block.rows = p->m - block.row < job->block_m ? p->m - block.row : job->block_m;
    block.columns = p->n - block.column < job->block_n ? p->n - block.column : job->block_n;
    run_block(job, &block, sums, own);
  }
  job->unit->end();
}

// ---- a product -----------------------------------------------------------------------------------------------------------------

// Blocks of at most ROWS rows and COLUMNS columns, in whole pairs of panels; narrower ones where there would be few.
static void cut_into_blocks(Job *job) {
  enum { FEW = 8, LEAST = 64 };
  const int64_t m = panels_of(job->p->m) * TILE, n = panels_of(job->p->n) * TILE;
  job->block_m = m < ROWS ? m : ROWS;
  job->block_n = n < COLUMNS ? n : COLUMNS;
  for (;;) {
    job->blocks_m = (m + job->block_m - 1) / job->block_m;
    job->blocks_n = (n + job->block_n - 1) / job->block_n;
    int64_t *longer = job->block_n >= job->block_m ? &job->block_n : &job->block_m;
    if (job->blocks_m * job->blocks_n * job->p->batches >= FEW || *longer <= LEAST)
      return;
    *longer = (*longer / 2 + 2 * TILE - 1) / (2 * TILE) * (2 * TILE);
  }
}

static bool pack(FyLaunch *l, Job *job) {
  enum { GRAIN = 1 << 15 }; // elements worth a thread
  const int64_t panel = job->steps * ELEMENTS, batches = job->p->batches;
  const int64_t a = batches * panels_of(job->p->m), b = panels_of(job->p->n);
  job->packed_a = l->workspace(l, (size_t)(a * panel) * sizeof *job->packed_a);
  if (job->blocks_m > 1)
    job->packed_b = l->workspace(l, (size_t)(batches * b * panel) * sizeof *job->packed_b);
  if (!job->packed_a || (job->blocks_m > 1 && !job->packed_b))
    return false;
  fy_parallel_for(a, GRAIN / panel + 1, pack_all_of_a, job);
  if (job->packed_b)
    fy_parallel_for(batches * groups_of(b), GRAIN / (TOGETHER * panel) + 1, pack_all_of_b, job);
  return true;
}

int fy_bfloat16_matmul(FyLaunch *l, const FyMatmulPlan *p, const void *a, const void *b, const void *bias, bool relu,
                       void *c) {
  Job job = {.p = p,
             .a = a,
             .b = b,
             .bias = bias,
             .c = c,
             .relu = relu,
             .unit = unit_of_processor(),
             .steps = (p->k + DEPTH - 1) / DEPTH};
  const int64_t chunk = job.steps < CHUNK / DEPTH ? job.steps : CHUNK / DEPTH;
  cut_into_blocks(&job);
  job.slot_bytes = (size_t)(job.block_m * job.block_n) * sizeof(float);
  if (job.blocks_m == 1)
    job.slot_bytes += (size_t)(job.block_n / TILE * chunk * ELEMENTS) * sizeof(uint16_t);
  job.slots = l->workspace(l, job.slot_bytes * (size_t)fy_get_num_threads());
  if (!job.slots || !pack(l, &job))
    return FY_LAUNCH_NO_MEMORY;
  fy_parallel_turns(p->batches * job.blocks_m * job.blocks_n, run_blocks, &job);
  return FY_LAUNCH_OK;
}

bool fy_multiplies_bfloat16(int64_t m, int64_t n, int64_t k) {
  enum { LEAST = 1 << 14 }; // multiplications
  const bool wide =
      n > 1 || fy_dnn_has_amx(); // with vdpbf16ps, packing A for one column takes twice the time of float32's product
  return wide && m * n * k >= LEAST && unit_of_processor();
}

#else

bool fy_multiplies_bfloat16(int64_t m, int64_t n, int64_t k) {
  (void)m, (void)n, (void)k;
  return false;
}

int fy_bfloat16_matmul(FyLaunch *l, const FyMatmulPlan *p, const void *a, const void *b, const void *bias, bool relu,
                       void *c) {
  (void)l, (void)p, (void)a, (void)b, (void)bias, (void)relu, (void)c;
  return FY_LAUNCH_NO_KERNEL;
}

#endif
