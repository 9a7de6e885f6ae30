// SPDX-License-Identifier: MIT
// Exercise 21.1: occupancy and waves, as arithmetic.
#include "exercise.h"
#include <limits.h>
#include <string.h>

#define ROOM "docs/21_the_machine.md#occupancy"
#define WAVES "docs/21_the_machine.md#waves-and-tails"

static const Mistake BLOCKS_LIMIT = {"a real GPU's limits of a block",
                                     "What a single block may have is no limit here: registers and shared memory are "
                                     "limits by what a multiprocessor has.",
                                     "docs/21_the_machine.md#occupancy"};
static const Mistake WARPS = {"threads not rounded up to whole warps",
                              "A block of 33 threads takes two warps: the room of 64 threads, and the registers of 64.",
                              ROOM};
static const Mistake PORTIONS = {
    "registers not rounded up",
    "A warp's registers are given out 256 at a time: 33 a thread are 1056, which takes 1280.", ROOM};
static const Mistake RESERVED = {"the reserved bytes forgotten",
                                 "Each block takes reserved_bytes of shared memory besides its own.", ROOM};
static const Mistake MOST_BLOCKS = {"the limit of blocks forgotten",
                                    "A multiprocessor holds at most so many blocks, however small they are.", ROOM};
static const Mistake NO_REGISTERS = {"registers left out",
                                     "Registers are the fourth limit, beside threads, blocks and shared memory.", ROOM};
static const Mistake ONE_SM = {"one multiprocessor for the whole GPU",
                               "A wave is what all multiprocessors hold together: blocks that fit, times their number.",
                               WAVES};
static const Mistake DOWN = {"waves rounded down", "A wave that is not full is a wave, too: round up.", WAVES};
static const Mistake FULL_IS_ZERO = {"a full last wave taken for an empty one",
                                     "Where the blocks divide evenly the last wave is full: 1, not 0.", WAVES};

static const Mistake KEPT = {"another GPU's numbers",
                             "The functions were called for another GPU before, in the same memory: read what is in "
                             "it in each call.",
                             WAVES};

// BEFORE: the multiprocessors of the GPU that the driver asks about first.
enum { CASES = 40, FIELDS = 5, BEFORE = 3 };
typedef struct Gpu {
  int64_t multiprocessors, threads, blocks, registers, shared, reserved;
} Gpu;
static const Mistake PORTIONS_OF_BLOCKS = {
    "a block's registers rounded up in place of a warp's",
    "Each warp takes whole portions of 256 registers: round up those of a warp, then multiply by the warps.", ROOM};
static const Mistake RESERVED_ONCE = {"the reserved bytes taken off once",
                                      "Each block takes the reserved bytes besides its own.", ROOM};
static const Mistake TOO_LARGE = {
    "more than an int holds",
    "A grid has up to 2147483647 blocks along x: what is added to that before it is divided no int holds. "
    "Divide, and look at the rest.",
    ROOM};

typedef enum Slip {
  NONE,
  NO_WARPS,
  NO_WARPS_FOR_THREADS, // registers go by whole warps, the room for threads does not
  NO_PORTIONS,
  NO_RESERVE,
  NO_LIMIT,
  NO_REGISTER_ROOM,
  BLOCK_PORTIONS,
  ONE_RESERVE,
  RESERVE_OF_SOME,      // of blocks that have shared memory of their own
  REGISTERS_OF_A_BLOCK, // at most 65536
  BYTES_OF_A_BLOCK,     // at most 227 KiB
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
  const int64_t warps = up(want[0], 32), portion = slip == NO_PORTIONS ? 1 : 256;
  const int64_t threads = slip == NO_WARPS || slip == NO_WARPS_FOR_THREADS ? want[0] : 32 * warps;
  const int64_t registers = slip == NO_WARPS         ? want[0] * want[1]
                            : slip == BLOCK_PORTIONS ? up(32 * want[1] * warps, portion) * portion
                                                     : up(32 * want[1], portion) * portion * warps;
  const bool unreserved = slip == NO_RESERVE || slip == ONE_RESERVE || (slip == RESERVE_OF_SOME && want[2] == 0);
  const int64_t bytes = want[2] + (unreserved ? 0 : g->reserved);
  int64_t blocks = g->threads / threads;
  if (bytes > 0)
    blocks = least(blocks, (slip == ONE_RESERVE ? g->shared - g->reserved : g->shared) / bytes);
  if (slip != NO_REGISTER_ROOM)
    blocks = least(blocks, g->registers / registers);
  if ((slip == REGISTERS_OF_A_BLOCK && registers > 65536) || (slip == BYTES_OF_A_BLOCK && want[2] > 227 << 10))
    return 0;
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
              : i % 4 == 2 ? gpu[0] * want[4] * (i == 2 ? 0 : draw_int(c, 0, 5)) + 1 // a block alone in its wave
                           : draw_int(c, 1, 9000);
    if (i % 8 == 5) { // an eighth of the shared memory: what is reserved decides, once or for each block
      want[0] = 32;
      want[1] = 16;
      want[2] = gpu[4] / 8;
    }
    if (i % 8 == 6 && kind == 0) { // portions of a warp's registers, of a block's and none: three numbers
      want[0] = 96;
      want[1] = 34;
      want[2] = 0;
    }
    if (i % 8 == 6 && kind == 4) { // to a byte as many as fit, and a byte more
      want[0] = 32;
      want[1] = 16;
      want[2] = gpu[4] / draw_int(c, 3, 9) - gpu[5] + i / 8 % 2;
    }
    if (i % 8 == 7 && kind < 2) { // more would fit than may be
      want[0] = kind == 1 ? 32 : draw_int(c, 1, 32);
      want[1] = 16;
      want[2] = 0;
    }
    if (i % 8 == 4 && kind == 4) { // more of both than a block of a real GPU may have
      want[0] = draw_int(c, 993, 1024);
      want[1] = draw_int(c, 100, 255);
      want[2] = draw_int(c, 230, 400) * 1024;
    }
    if (i % 8 == 2 && kind == 2) // no room for one: with what is reserved, or without it
      want[2] = gpu[4] - draw_int(c, -1, 1) * 512;
    if (i % 8 == 3) // as many as a grid may have
      want[3] = INT_MAX - draw_int(c, 0, 9);
  }
  give_array(c, "gpu", g, (Give){.device = "cpu"});
  give_array(c, "cases", cases, (Give){.device = "cpu"});
}

// The last two are none that are sold: one of few registers, and so little shared memory that what is reserved is a limit by
// itself; and one that has room for blocks that no GPU takes.
static const int64_t GPUS[5][6] = {{108, 2048, 32, 65536, 167936, 1024},
                                   {40, 1024, 16, 65536, 65536, 0},
                                   {84, 1536, 16, 65536, 102400, 1024},
                                   {6, 2048, 32, 32768, 16384, 1024},
                                   {132, 4096, 64, 1 << 20, 1 << 20, 1024}};
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
static void ask_huge(Case *c) {
  ask(c, GPUS[4], 4);
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

static bool has_negative(const Array *waves) {
  for (int64_t i = 0; waves && waves->dtype == FY_INT64 && i < waves->count; i++)
    if (waves->i64[i] < 0)
      return true;
  return false;
}

// A slip is named where no other one gives the same numbers: else it may be either.
static void suspect_slips(Case *c) {
  static const Mistake *const NAMES[SLIPS] = {[NO_WARPS] = &WARPS,
                                              [NO_WARPS_FOR_THREADS] = &WARPS,
                                              [NO_PORTIONS] = &PORTIONS,
                                              [NO_RESERVE] = &RESERVED,
                                              [NO_LIMIT] = &MOST_BLOCKS,
                                              [NO_REGISTER_ROOM] = &NO_REGISTERS,
                                              [BLOCK_PORTIONS] = &PORTIONS_OF_BLOCKS,
                                              [ONE_RESERVE] = &RESERVED_ONCE,
                                              [RESERVE_OF_SOME] = &RESERVED,
                                              [REGISTERS_OF_A_BLOCK] = &BLOCKS_LIMIT,
                                              [BYTES_OF_A_BLOCK] = &BLOCKS_LIMIT};
  const Array *all[SLIPS];
  for (int i = NONE + 1; i < SLIPS; i++)
    all[i] = fits(c, (Slip)i);
  for (int i = NONE + 1; i < SLIPS; i++) {
    bool alone = true;
    for (int k = NONE + 1; k < SLIPS; k++)
      alone &= NAMES[k] == NAMES[i] || memcmp(all[k]->data, all[i]->data, (size_t)all[i]->count * sizeof(int64_t)) != 0;
    if (alone)
      suspect_array(c, "fit", all[i], NAMES[i]);
  }
}

static void judge(Case *c) {
  suspect_slips(c);
  suspect_that(c, has_negative(got(c, "waves")), &TOO_LARGE);
  const int64_t own = gpu_of(c).multiprocessors;
  suspect_array(c, "waves", wave_numbers(c, false, 1), &ONE_SM);
  suspect_array(c, "waves", wave_numbers(c, false, BEFORE), &KEPT);
  suspect_array(c, "waves", wave_numbers(c, true, own), &DOWN);
  suspect_array(c, "last", last_shares(c, false, 1), &ONE_SM);
  suspect_array(c, "last", last_shares(c, false, BEFORE), &KEPT);
  suspect_array(c, "last", last_shares(c, true, own), &FULL_IS_ZERO);
  expect_array(c, "fit", fits(c, NONE), 0);
  expect_array(c, "waves", wave_numbers(c, false, own), 0);
  expect_array(c, "last", last_shares(c, false, own), 1e-12);
}

EXERCISE = {
    .id = "21_1_occupancy",
    .title = "Occupancy",
    .after_pass = "Threads, registers, shared memory and block slots: the scarcest decides how many blocks fit.",
    .kind = "write",
    .chapter = 21,
    .level = LEVEL_MEDIUM,
    .minutes = 30,
    .essential = true,
    .lesson = ROOM,
    .hints = {"Four numbers, of which the least counts: by threads, by registers, by shared memory, and the most "
              "blocks there may be.",
              "Count warps first: (threads + 31) / 32. A warp takes (registers * 32 + 255) / 256 * 256 registers.",
              "blocks_in_grid - (waves - 1) * (a wave's blocks) are left for the last wave."},
    .functions = {"blocks_that_fit", "waves", "last_wave"},
    .tests = {{.name = "an A100", .ask = ask_a100, .judge = judge},
              {.name = "a T4, whole warps", .ask = ask_t4, .judge = judge},
              {.name = "an RTX A6000", .ask = ask_a6000, .judge = judge},
              {.name = "a small one of other proportions", .ask = ask_small, .judge = judge},
              {.name = "room for the largest blocks", .ask = ask_huge, .judge = judge},
              {.name = "much shared memory", .ask = ask_shared, .judge = judge}},
};
