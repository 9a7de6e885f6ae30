// SPDX-License-Identifier: MIT
// Exercise 23.1: a transpose through shared memory, judged by its values and by what its warps ask of the memory.
#include "exercise.h"
#include <string.h>
#include <math.h>

static const Mistake NO_TILE = {
    "no shared tile",
    "The elements went straight from global memory to global memory, so either the reading or the writing runs down "
    "columns, a sector of its own for every thread. Turn a tile in __shared__ memory.",
    "docs/23_shared_memory.md#a-transpose-step-by-step"};
static const Mistake DOWN_COLUMNS = {"global memory read or written down columns",
                                     "There is a tile, but neighbouring threads still touch global memory a whole row "
                                     "apart. Both times threadIdx.x has to "
                                     "run along a row; the tile is what is read the other way round.",
                                     "docs/23_shared_memory.md#a-transpose-step-by-step"};
static const Mistake BANKS = {"bank conflicts",
                              "A column of the tile lies in one bank (or in few), so that its elements are served one "
                              "after another. Make the rows of "
                              "the tile one word longer.",
                              "docs/23_shared_memory.md#banks"};
static const Mistake NO_BARRIER = {
    "no barrier",
    "A thread reads elements of the tile that other threads write, and they may not have done so yet. __syncthreads() "
    "belongs between the writing and the reading.",
    "docs/23_shared_memory.md#a-blocks-own-memory"};
static const Mistake DIVERGENT_BARRIER = {
    "a barrier that some threads do not reach",
    "Threads beyond the edge returned before __syncthreads(), or skipped it in a "
    "branch. Every thread of the block must reach it: guard the accesses instead.",
    "docs/23_shared_memory.md#a-blocks-own-memory"};
static const Mistake TILE_IN_PLACE = {"tiles turned, but left in their places",
                                      "Each tile is turned, but written where it came from: the tile in column x and "
                                      "row y belongs in column y and row x.",
                                      "docs/23_shared_memory.md#a-transpose-step-by-step"};
static const Mistake TILE_NOT_TURNED = {
    "tiles moved, but not turned",
    "The tiles are in the right places, but their elements are as before. Write along the tile's rows, read down its "
    "columns: tile[y][x] here, tile[x][y] there.",
    "docs/23_shared_memory.md#a-transpose-step-by-step"};
static const Mistake EDGES = {"tiles at the edge",
                              "Whole tiles are right, those cut off by an edge are not. Round the number of tiles up, "
                              "and mind that after the turn the "
                              "row of out is compared with columns and its column with rows.",
                              "docs/23_shared_memory.md#a-transpose-step-by-step"};
static const Mistake NOT_COUNTED = {"accesses past load and store",
                                    "The kernel has to read and write memory, global and shared, through load and "
                                    "store, because they are what is counted.",
                                    "docs/23_shared_memory.md#a-transpose-step-by-step"};
static const Mistake IN_VAIN = {"elements read in vain",
                                "More elements of `in` were read than it has. A tile that an edge cuts off ends where "
                                "the row does: compare the column "
                                "with columns, though what follows is memory, too.",
                                "docs/23_shared_memory.md#a-transpose-step-by-step"};
static const Mistake SEVERAL = {"more than one launch", "One launch has a block for every tile.",
                                "docs/23_shared_memory.md#a-transpose-step-by-step"};

static void ask(Case *c, int64_t rows, int64_t columns) {
  give_array(c, "in", draw_array(c, FY_FLOAT32, shape(rows, columns), -90, 90), (Give){.device = "cuda:0"});
}
static void ask_wide(Case *c) {
  ask(c, draw_odd(c, 67, 89), draw_odd(c, 131, 159));
}
static void ask_tall(Case *c) {
  ask(c, draw_odd(c, 131, 159), draw_odd(c, 67, 89));
}
static void ask_small(Case *c) {
  ask(c, 3, 7);
}
static void ask_row(Case *c) {
  ask(c, 1, draw_odd(c, 301, 399));
}
static void ask_column(Case *c) {
  ask(c, draw_odd(c, 301, 399), 1);
}
static void ask_whole(Case *c) {
  ask(c, 32 * draw_int(c, 2, 3), 128);
  give_number(c, "traffic", 1); // sectors and passes are counted
}
// More tiles down, and as many in all, as somebody may have given blocks; very wide matrices have more of them across.
static void ask_large(Case *c) {
  ask(c, draw_odd(c, 1057, 1199), draw_odd(c, 243, 255));
}

// Either way more than a grid has blocks along y.
static void ask_very_tall(Case *c) {
  ask(c, draw_odd(c, 70001, 79999), 3);
}
static void ask_very_wide(Case *c) {
  ask(c, 3, draw_odd(c, 70001, 79999));
}

static int64_t rows_of(const Case *c) {
  return given(c, "in")->shape.size[0];
}
static int64_t columns_of(const Case *c) {
  return given(c, "in")->shape.size[1];
}

static const Array *got_out(const Case *c) {
  return got_shaped(c, "out", shape(columns_of(c), rows_of(c)));
}

static Array *transposed(Case *c) {
  const Array *in = given(c, "in");
  Array *out = new_array(c, FY_FLOAT32, shape(columns_of(c), rows_of(c)));
  for (int64_t i = 0; i < in->count; i++)
    out->f32[i % columns_of(c) * rows_of(c) + i / columns_of(c)] = in->f32[i];
  return out;
}

// ---- what a result looks like ------------------------------------------------------------------------------------------

// Does out hold, wherever both sizes allow a whole tile, each tile of in turned or not, at its own place or at the turned?
static bool tiles_are(const Case *c, int64_t tile, bool turned, bool moved) {
  const Array *in = given(c, "in"), *out = got_out(c);
  int64_t rows = rows_of(c), columns = columns_of(c), whole = (rows < columns ? rows : columns) / tile * tile, seen = 0;
  for (int64_t r = 0; out && r < whole; r++)
    for (int64_t k = 0; k < whole; k++) {
      int64_t y = moved ? k - k % tile : r - r % tile, x = moved ? r - r % tile : k - k % tile;
      int64_t to = (y + (turned ? k : r) % tile) * rows + x + (turned ? r : k) % tile;
      seen++;
      if (out->f32[to] != in->f32[r * columns + k])
        return false;
    }
  return seen > 0;
}

static void suspect_tiles(Case *c) {
  for (int64_t tile = 8; tile <= 32; tile *= 2) {
    bool several = rows_of(c) >= 2 * tile && columns_of(c) >= 2 * tile;
    suspect_that(c, several && tiles_are(c, tile, true, false), &TILE_IN_PLACE);
    suspect_that(c, tiles_are(c, tile, false, true), &TILE_NOT_TURNED);
  }
}

// Most of what lies in whole tiles is right. Not all of it needs to be: columns too many run into the next row.
static bool inside_is_right(const Case *c) {
  const Array *in = given(c, "in"), *out = got_out(c);
  int64_t rows = rows_of(c) / 32 * 32, columns = columns_of(c) / 32 * 32, right = 0;
  for (int64_t i = 0; out && i < rows * columns; i++) {
    int64_t r = i / columns, k = i % columns;
    right += out->f32[k * rows_of(c) + r] == in->f32[r * columns_of(c) + k];
  }
  return 3 * right > 2 * rows * columns;
}

static void suspect_edges(Case *c) {
  bool cut = rows_of(c) % 32 != 0 || columns_of(c) % 32 != 0;
  // Of many tiles a block may have several, and a barrier too few between them: what is wrong then need not be the edges.
  bool few = rows_of(c) * columns_of(c) < 1 << 20;
  const int64_t *s = launch_shape(c, 0);
  few = few && s && s[0] * s[1] >= (rows_of(c) / 32) * (columns_of(c) / 32);
  const Array *out = got_out(c), *want = transposed(c);
  bool wrong = out && memcmp(out->f32, want->f32, (size_t)want->count * sizeof(float)) != 0;
  suspect_that(c, few && cut && wrong && inside_is_right(c), &EDGES);
}

// ---- judging -----------------------------------------------------------------------------------------------------------

static bool counted(const Case *c) {
  return !isnan(got_number(c, "barriers"));
}
static int64_t number(const Case *c, const char *name) {
  return got_count(c, name);
}

static void suspect_barriers(Case *c) {
  if (!counted(c))
    return;
  bool tile = number(c, "shared accesses") > 0;
  CaseSchedule schedule = case_schedule(c);
  suspect_error(c, "divergent", &DIVERGENT_BARRIER);
  suspect_faults(c);
  suspect_that(c, !*got_error(c) && (schedule == SCHEDULE_THREADS_DOWN || schedule == SCHEDULE_WITHIN_BLOCKS),
               &NO_BARRIER);
  suspect_that(c, tile && number(c, "barriers") == 0 && !*got_error(c), &NO_BARRIER);
}

// NaN came out, as those find it who go past load; fresh memory holds another.
static bool reads_past_load(const Case *c) {
  const Array *out = got_out(c);
  int64_t nan = 0;
  for (int64_t i = 0; out && i < out->count; i++)
    nan += isnan(out->f32[i]) && !signbit(out->f32[i]);
  return counted(c) && nan > 0;
}

static bool judge_values(Case *c) {
  suspect_that(c, counts(c)->launches == 0, &NO_KERNEL);
  suspect_that(c, refused_shape(c) && !*got_error(c), &EDGES);
  suspect_that(c, counts(c)->device_to_host > 0, &COMPUTED_ON_HOST);
  suspect_that(c, reads_past_load(c), &NOT_COUNTED);
  suspect_barriers(c);
  suspect_tiles(c);
  suspect_edges(c);
  if (!expect_array(c, "out", transposed(c), 0))
    return false;
  if (!expect_by_kernel(c) || !expect_at_most(c, "launches", counts(c)->launches, 1, &SEVERAL))
    return false;
  const int64_t elements = given(c, "in")->count;
  return !counted(c) || (expect_exactly(c, "elements read behind `in`", number(c, "loads behind"), 0, &READ_PAST) &&
                         expect_at_most(c, "elements of `in` that load read", number(c, "loads"), elements, &IN_VAIN) &&
                         expect_at_most(c, "elements of `out` that store wrote", number(c, "stores"), elements, NULL));
}

static void judge(Case *c) {
  judge_values(c);
}

// Sizes are multiples of 32 here: eight elements to a sector, were each used whole.
static void judge_traffic(Case *c) {
  int64_t elements = given(c, "in")->count, least = elements / 8;
  if (!judge_values(c) || !counted(c))
    return;
  if (!expect_at_least(c, "elements of `in` that load read", number(c, "loads"), elements, &NOT_COUNTED) ||
      !expect_at_least(c, "elements of `out` that store wrote", number(c, "stores"), elements, &NOT_COUNTED))
    return;
  bool tile = number(c, "shared accesses") >= 2 * elements;
  if (number(c, "barriers") > 0 && !expect_at_least(c, "accesses to shared memory by load and store",
                                                    number(c, "shared accesses"), 2 * elements, &NOT_COUNTED))
    return;
  const Mistake *strided = tile ? &DOWN_COLUMNS : &NO_TILE;
  expect_at_most(c, "sectors read (twice the least there can be)", number(c, "sectors loaded"), 2 * least, strided);
  expect_at_most(c, "sectors written (twice the least there can be)", number(c, "sectors stored"), 2 * least, strided);
  expect_that(c, tile, &NO_TILE, "accesses to shared memory: expected %lld, counted %lld", (long long)(2 * elements),
              (long long)number(c, "shared accesses"));
  expect_at_most(c, "passes over the banks of shared memory", number(c, "shared passes"),
                 2 * number(c, "shared requests"), &BANKS);
}

// The same seen by the inspector, for each way to memory, with the line that is to blame. At sizes that are no multiples of eight
// a row begins in the middle of a sector, so that a request of 32 elements takes one more than the fewest.
static void judge_inspected(Case *c) {
  suspect_finding(c, "race", &NO_BARRIER);
  suspect_finding(c, "divergent", &DIVERGENT_BARRIER);
  if (!judge_values(c) || !expect_no_finding(c))
    return;
  bool tile = isnan(got_number(c, "barriers")) || number(c, "shared accesses") > 0;
  expect_sectors(c, 1.6, tile ? &DOWN_COLUMNS : &NO_TILE);
  expect_wavefronts(c, 2, &BANKS);
}

EXERCISE = {
    .id = "23_1_shared_transpose",
    .title = "Transpose through shared memory",
    .after_pass = "Shared memory turns a tile, so that both sides of global memory are touched along rows.",
    .kind = "kernel",
    .chapter = 23,
    .level = LEVEL_MEDIUM,
    .minutes = 30,
    .essential = true,
    .lesson = "docs/23_shared_memory.md#a-transpose-step-by-step",
    .hints = {"Two halves with a barrier between: global to tile along rows of in, tile to global along rows of out.",
              "The block at (blockIdx.x, blockIdx.y) writes its tile to the rows that begin at blockIdx.x * TILE.",
              "In the second half the thread's row of out is blockIdx.x * TILE + threadIdx.y, to be compared with "
              "columns. It "
              "reads tile[threadIdx.x][threadIdx.y].",
              "__shared__ float tile[TILE][TILE + 1]; and no thread returns before __syncthreads()."},
    .functions = {"transpose_on_device"},
    .tests = {{.name = "whole tiles: values and traffic", .ask = ask_whole, .judge = judge_traffic},
              {.name = "wide, odd", .ask = ask_wide, .judge = judge},
              {.name = "tall, odd", .ask = ask_tall, .judge = judge},
              {.name = "smaller than a tile", .ask = ask_small, .judge = judge},
              {.name = "one row", .ask = ask_row, .judge = judge},
              {.name = "one column", .ask = ask_column, .judge = judge},
              {.name = "large, odd", .ask = ask_large, .judge = judge, .schedules = 3},
              {.name = "very tall", .ask = ask_very_tall, .judge = judge, .schedules = 1},
              {.name = "very wide", .ask = ask_very_wide, .judge = judge, .schedules = 1},
              {.name = "what its warps ask for", .inspect = true, .ask = ask_wide, .judge = judge_inspected}},
};
