// SPDX-License-Identifier: MIT
// Exercise 21.1: occupancy and waves, as arithmetic.
#include "exercise.h"
#include <string.h>

#define OCCUPANCY "docs/21_the_machine.md#occupancy"
#define WAVES "docs/21_the_machine.md#waves-and-tails"

static const Mistake WARPS = {"threads not rounded up to whole warps",
                              "A block of 33 threads has two warps, so it takes up the threads and registers of 64. "
                              "Round the number of threads up to whole warps.",
                              OCCUPANCY};
static const Mistake UNITS = {"register allocation unit ignored",
                              "Registers are allocated to each warp in units of 256. With 33 registers per thread, a "
                              "warp needs 1056 and gets 1280. Round the registers of a warp up to a multiple of 256.",
                              OCCUPANCY};
static const Mistake BLOCK_UNITS = {"registers rounded up per block instead of per warp",
                                    "Round up the registers of one warp to a multiple of 256, then multiply by the "
                                    "number of warps.",
                                    OCCUPANCY};
static const Mistake RESERVED = {"reserved shared memory ignored",
                                 "Each block takes up reserved_bytes of shared memory in addition to its own, even if "
                                 "it uses none. Add them to shared_bytes.",
                                 OCCUPANCY};
static const Mistake RESERVED_ONCE = {"reserved shared memory subtracted once",
                                      "Each block takes up reserved_bytes of shared memory. Add them to shared_bytes "
                                      "instead of subtracting them once from the limit.",
                                      OCCUPANCY};
static const Mistake MOST_BLOCKS = {
    "block limit ignored", "A multiprocessor holds at most gpu->blocks blocks, however small they are.", OCCUPANCY};
static const Mistake NO_REGISTERS = {
    "register limit ignored",
    "Registers also limit the number of blocks. Divide gpu->registers by the registers that a block takes up.",
    OCCUPANCY};
static const Mistake ONE_SM = {
    "number of multiprocessors ignored",
    "A wave fills all multiprocessors: it has gpu->multiprocessors * blocks_that_fit blocks.", WAVES};
static const Mistake DOWN = {"waves rounded down", "A partial wave counts as a wave, so round up.", WAVES};
static const Mistake FULL_IS_ZERO = {"full last wave counted as empty",
                                     "If the blocks divide evenly into waves, the last wave is full: return 1.", WAVES};

enum { CASES = 40, FIELDS = 5 };
typedef struct Gpu {
  int64_t multiprocessors, threads, blocks, registers, shared, reserved;
} Gpu;

typedef enum Slip {
  NONE,
  NO_WARPS,
  NO_WARPS_FOR_THREADS, // registers are rounded up to whole warps, threads are not
  NO_UNITS,
  NO_RESERVE,
  NO_LIMIT,
  NO_REGISTER_LIMIT,
  BLOCK_UNIT,
  ONE_RESERVE,
  RESERVE_OF_SOME, // only of blocks that use shared memory
  SLIPS
} Slip;

static Gpu gpu_of(const Case *c) {
  const int64_t *g = given(c, "gpu")->i64;
  return (Gpu){g[0], g[1], g[2], g[3], g[4], g[5]};
}

static int64_t up(int64_t a, int64_t b) {
  return (a + b - 1) / b;
}
static int64_t least(int64_t a, int64_t b) {
  return a < b ? a : b;
}

static int64_t fit(const Gpu *g, const int64_t *want, Slip slip) {
  const int64_t warps = up(want[0], 32), unit = slip == NO_UNITS ? 1 : 256;
  const int64_t threads = slip == NO_WARPS || slip == NO_WARPS_FOR_THREADS ? want[0] : 32 * warps;
  const int64_t registers = slip == NO_WARPS     ? want[0] * want[1]
                            : slip == BLOCK_UNIT ? up(32 * want[1] * warps, unit) * unit
                                                 : up(32 * want[1], unit) * unit * warps;
  const bool unreserved = slip == NO_RESERVE || slip == ONE_RESERVE || (slip == RESERVE_OF_SOME && want[2] == 0);
  const int64_t bytes = want[2] + (unreserved ? 0 : g->reserved);
  int64_t blocks = g->threads / threads;
  if (bytes > 0)
    blocks = least(blocks, (slip == ONE_RESERVE ? g->shared - g->reserved : g->shared) / bytes);
  if (slip != NO_REGISTER_LIMIT)
    blocks = least(blocks, g->registers / registers);
  return slip == NO_LIMIT ? blocks : least(blocks, g->blocks);
}

static void ask(Case *c, const int64_t *gpu, int kind) {
  Array *g = new_array(c, FY_INT64, shape(6)), *cases = new_array(c, FY_INT64, shape(CASES, FIELDS));
  for (int i = 0; i < 6; i++)
    g->i64[i] = gpu[i];
  for (int i = 0; i < CASES; i++) {
    int64_t *want = cases->i64 + (ptrdiff_t)i * FIELDS;
    want[0] = kind == 3 ? draw_int(c, 1, 96) : kind == 1 ? 32 * draw_int(c, 1, 32) : draw_int(c, 1, 1024);
    want[1] = draw_int(c, 16, 64);
    if (i % 8 == 1) { // more registers than there are
      want[0] = kind == 1 ? 1024 : draw_int(c, 993, 1024);
      want[1] = draw_int(c, 65, 255);
    }
    want[2] = kind == 3   ? i % 2 * draw_int(c, 1, 9) * 100
              : kind == 2 ? draw_int(c, 1, 48) * 1024
                          : draw_int(c, 0, 3) * 2000;
    want[4] = draw_int(c, 1, 16);
    want[3] = i % 4 == 0   ? gpu[0] * want[4] * draw_int(c, 1, 5)
              : i % 4 == 2 ? gpu[0] * want[4] * (i == 2 ? 0 : draw_int(c, 0, 5)) + 1 // a last wave of one block
                           : draw_int(c, 1, 9000);
    if (i % 8 == 5) { // an eighth of the shared memory: the reserved bytes decide, once or per block
      want[0] = 32;
      want[1] = 16;
      want[2] = gpu[4] / 8;
    }
    if (i % 8 == 6 && kind == 0) { // units per warp, per block and none: three results
      want[0] = 96;
      want[1] = 34;
      want[2] = 0;
    }
    if (i % 8 == 7 && kind < 2) { // the block limit decides
      want[0] = kind == 1 ? 32 : draw_int(c, 1, 32);
      want[1] = 16;
      want[2] = 0;
    }
    if (i % 8 == 0 && kind == 3) { // no shared memory, and the reserved bytes decide
      want[0] = 32;
      want[1] = 16;
      want[2] = 0;
    }
    if (i % 8 == 2 && kind == 2) // none fits: with the reserved bytes, or without them
      want[2] = gpu[4] - draw_int(c, -1, 1) * 512;
  }
  give_array(c, "gpu", g, (Give){.device = "cpu"});
  give_array(c, "cases", cases, (Give){.device = "cpu"});
}

// The last one is not sold: it has few registers, and so little shared memory that the reserved bytes are a limit.
static const int64_t GPUS[4][6] = {{108, 2048, 32, 65536, 167936, 1024},
                                   {40, 1024, 16, 65536, 65536, 0},
                                   {84, 1536, 16, 65536, 102400, 1024},
                                   {6, 2048, 32, 32768, 16384, 1024}};
static void ask_a100(Case *c) {
  ask(c, GPUS[0], 0);
}
static void ask_t4(Case *c) {
  ask(c, GPUS[1], 1);
}
static void ask_a6000(Case *c) {
  ask(c, GPUS[2], 0);
}
static void ask_small(Case *c) {
  ask(c, GPUS[3], 3);
}
static void ask_shared(Case *c) {
  ask(c, GPUS[0], 2);
}

static Array *fits(Case *c, Slip slip) {
  const Gpu g = gpu_of(c);
  Array *all = new_array(c, FY_INT64, shape(CASES));
  for (int i = 0; i < CASES; i++)
    all->i64[i] = fit(&g, given(c, "cases")->i64 + (ptrdiff_t)i * FIELDS, slip);
  return all;
}

static Array *wave_numbers(Case *c, bool down, int64_t multiprocessors) {
  Array *all = new_array(c, FY_INT64, shape(CASES));
  for (int i = 0; i < CASES; i++) {
    const int64_t *want = given(c, "cases")->i64 + (ptrdiff_t)i * FIELDS, wave = multiprocessors * want[4];
    all->i64[i] = down ? want[3] / wave : up(want[3], wave);
  }
  return all;
}

static Array *last_shares(Case *c, bool full_is_zero, int64_t multiprocessors) {
  Array *all = new_array(c, FY_FLOAT64, shape(CASES));
  for (int i = 0; i < CASES; i++) {
    const int64_t *want = given(c, "cases")->i64 + (ptrdiff_t)i * FIELDS, wave = multiprocessors * want[4];
    const int64_t rest = want[3] % wave;
    all->f64[i] = rest || full_is_zero ? (double)rest / (double)wave : 1;
  }
  return all;
}

// A slip is named only if no other one gives the same numbers.
static void suspect_slips(Case *c) {
  static const Mistake *const NAMES[SLIPS] = {
      [NO_WARPS] = &WARPS,         [NO_WARPS_FOR_THREADS] = &WARPS, [NO_UNITS] = &UNITS,
      [NO_RESERVE] = &RESERVED,    [NO_LIMIT] = &MOST_BLOCKS,       [NO_REGISTER_LIMIT] = &NO_REGISTERS,
      [BLOCK_UNIT] = &BLOCK_UNITS, [ONE_RESERVE] = &RESERVED_ONCE,  [RESERVE_OF_SOME] = &RESERVED};
  const Array *all[SLIPS];
  for (int i = NONE + 1; i < SLIPS; i++)
    all[i] = fits(c, (Slip)i);
  for (int i = NONE + 1; i < SLIPS; i++) {
    bool unique = true;
    for (int k = NONE + 1; k < SLIPS; k++)
      unique &=
          NAMES[k] == NAMES[i] || memcmp(all[k]->data, all[i]->data, (size_t)all[i]->count * sizeof(int64_t)) != 0;
    if (unique)
      suspect_array(c, "fit", all[i], NAMES[i]);
  }
}

static void judge(Case *c) {
  suspect_slips(c);
  const int64_t own = gpu_of(c).multiprocessors;
  suspect_array(c, "waves", wave_numbers(c, false, 1), &ONE_SM);
  suspect_array(c, "waves", wave_numbers(c, true, own), &DOWN);
  suspect_array(c, "last", last_shares(c, false, 1), &ONE_SM);
  suspect_array(c, "last", last_shares(c, true, own), &FULL_IS_ZERO);
  expect_array(c, "fit", fits(c, NONE), 0);
  expect_array(c, "waves", wave_numbers(c, false, own), 0);
  expect_array(c, "last", last_shares(c, false, own), 1e-12);
}

EXERCISE = {
    .id = "21_1_occupancy",
    .title = "Occupancy",
    .after_pass = "Occupancy is limited by the scarcest of threads, block slots, registers and shared memory.",
    .kind = "write",
    .chapter = 21,
    .level = LEVEL_MEDIUM,
    .minutes = 30,
    .essential = true,
    .lesson = OCCUPANCY,
    .hints = {"Compute four limits on the number of blocks: by threads, registers, shared memory and block slots. The "
              "smallest limit is the result.",
              "Count warps first: (threads + 31) / 32. A warp takes (registers * 32 + 255) / 256 * 256 registers.",
              "wave = multiprocessors * blocks_that_fit is the number of blocks in a full wave. The last wave has "
              "blocks_in_grid - (waves - 1) * wave blocks."},
    .functions = {"blocks_that_fit", "waves", "last_wave"},
    .tests = {{.name = "an A100", .ask = ask_a100, .judge = judge},
              {.name = "a T4, whole warps", .ask = ask_t4, .judge = judge},
              {.name = "an RTX A6000", .ask = ask_a6000, .judge = judge},
              {.name = "a small GPU", .ask = ask_small, .judge = judge},
              {.name = "much shared memory", .ask = ask_shared, .judge = judge}},
};
