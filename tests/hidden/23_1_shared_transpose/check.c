// SPDX-License-Identifier: MIT
// Exercise 23.1: a transpose through shared memory, judged by its values and by its requests to memory.
#include "exercise.h"
#include <string.h>

#define LESSON "docs/23_shared_memory.md"
#define STEPS LESSON "#matrix-transpose-step-by-step"

static const Mistake UNCOALESCED = {
    "uncoalesced access",
    "Neighboring threads access elements that are a whole row apart. Stage a tile in shared memory: read it along rows "
    "of in, and write it along rows of out. In both steps, let threadIdx.x select the position within a row.",
    STEPS};
static const Mistake BANKS = {"bank conflicts",
                              "All elements of a tile column are in the same bank, so they are accessed one after "
                              "another. Make each row of the tile one word longer (padding).",
                              LESSON "#banks-and-bank-conflicts"};
static const Mistake NO_BARRIER = {
    "missing barrier",
    "A thread reads elements of the tile before other threads have written them. Put a __syncthreads() between the "
    "writes and the reads. If a block handles several tiles, put another one before it writes the next tile.",
    LESSON "#shared-memory-and-barriers"};
static const Mistake DIVERGENT = {
    "divergent barrier",
    "Threads without an element of the matrix returned before __syncthreads(), or skipped it in a branch. Put the "
    "bounds check around the accesses, not around the barrier.",
    LESSON "#shared-memory-and-barriers"};
static const Mistake TILE_IN_PLACE = {"tiles not exchanged",
                                      "Each tile is transposed but not moved. The tile in tile row y and tile column x "
                                      "of in belongs in tile row x and tile column y of out.",
                                      STEPS};
static const Mistake TILE_AS_READ = {
    "elements not transposed within the tile",
    "Each tile is at the correct position, but its elements are not transposed. Write tile[y][x], and read tile[x][y].",
    STEPS};
static const Mistake ROUNDED_DOWN = {"grid size rounded down",
                                     "columns / TILE rounds down, so the last rows or columns have no block. Round up: "
                                     "(columns + TILE - 1) / TILE.",
                                     STEPS};
static const Mistake SWAPPED_CHECK = {"bounds check not swapped",
                                      "out has `columns` rows and `rows` columns. Before you write to out, compare the "
                                      "row index with columns and the column index with rows.",
                                      STEPS};
static const Mistake OUTSIDE = {
    "out-of-bounds access",
    "A thread of a block at the edge accesses an element outside of in or out. Check the bounds before each access. "
    "For out, compare the row index with columns and the column index with rows; out[r][c] is out[r * rows + c].",
    STEPS};

static const Mistake SHARED_INDEX = {"out-of-bounds shared memory access",
                                     "A thread uses an index outside of the shared array. Compare the array's size "
                                     "with the largest indices that your threads use.",
                                     LESSON "#shared-memory-and-barriers"};

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
}
// More tiles down than across, and more in all than a fixed grid may have blocks.
static void ask_large(Case *c) {
  ask(c, draw_odd(c, 1057, 1199), draw_odd(c, 243, 255));
}
// Each has more elements in one direction than a grid has blocks along y.
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

// ---- known results -----------------------------------------------------------------------------------------------------

// Does out hold, wherever both sizes allow a whole tile, each tile of in, transposed or not, at its own position or exchanged?
static bool tiles_are(const Case *c, int64_t tile, bool transposed, bool exchanged) {
  const Array *in = given(c, "in"), *out = got_out(c);
  int64_t rows = rows_of(c), columns = columns_of(c), whole = (rows < columns ? rows : columns) / tile * tile, seen = 0;
  for (int64_t r = 0; out && r < whole; r++)
    for (int64_t k = 0; k < whole; k++) {
      int64_t y = exchanged ? k - k % tile : r - r % tile, x = exchanged ? r - r % tile : k - k % tile;
      int64_t to = (y + (transposed ? k : r) % tile) * rows + x + (transposed ? r : k) % tile;
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
    suspect_that(c, tiles_are(c, tile, false, true), &TILE_AS_READ);
  }
}

// All elements of out are right but those of whole rows or columns past the first `rows` x `columns`, which are unwritten.
static bool is_right_up_to(const Case *c, const Array *want, int64_t rows, int64_t columns) {
  const Array *out = got_out(c);
  bool holds = out && rows > 0 && columns > 0 && (rows < columns_of(c) || columns < rows_of(c));
  for (int64_t i = 0; holds && i < want->count; i++) {
    const bool inside = i / rows_of(c) < rows && i % rows_of(c) < columns;
    holds = inside ? out->f32[i] == want->f32[i] : array_is_filling(out, i);
  }
  return holds;
}

static void suspect_edges(Case *c, const Array *want) {
  const int64_t *s = launch_shape(c, 0);
  if (!s || counts(c)->launches != 1 || case_schedule(c) != SCHEDULE_IN_ORDER)
    return;
  suspect_that(c, is_right_up_to(c, want, rows_of(c), columns_of(c)), &SWAPPED_CHECK);
  for (int64_t tile = 8; tile <= 32; tile *= 2) {
    const int64_t down = rows_of(c) / tile, across = columns_of(c) / tile;
    suspect_that(c, s[0] * s[1] * s[2] == down * across && is_right_up_to(c, want, across * tile, down * tile),
                 &ROUNDED_DOWN);
  }
}

static bool is_outside(const Case *c) {
  const Array *out = got_out(c);
  return has_finding(c, "bounds-global") || strstr(got_error(c), ": it reads ") ||
         strstr(got_error(c), ": it writes ") || (out && out->flags & ARRAY_GUARD_BROKEN);
}

// A race within a block may also be one of out, where an index is wrong: that is seen by what is outside.
static bool lacks_barrier(const Case *c) {
  const CaseSchedule schedule = case_schedule(c);
  const bool races = has_finding(c, "race-block") || has_finding(c, "race-warp");
  const bool by_order = schedule == SCHEDULE_THREADS_DOWN || schedule == SCHEDULE_WITHIN_BLOCKS;
  return !*got_error(c) && !is_outside(c) && !has_finding(c, "bounds") && (races || by_order);
}

// ---- judging -----------------------------------------------------------------------------------------------------------

static bool judge_values(Case *c) {
  const Array *want = transposed(c);
  suspect_that(c, counts(c)->launches == 0, &NO_KERNEL);
  suspect_sure(c, refused_empty_grid(c), &ROUNDED_DOWN);
  suspect_error(c, "divergent", &DIVERGENT);
  suspect_finding(c, "divergent", &DIVERGENT);
  suspect_sure(c, is_outside(c), &OUTSIDE);
  suspect_finding(c, "bounds-array", &SHARED_INDEX);
  suspect_finding(c, "bounds-dynamic", &SHARED_INDEX);
  suspect_error(c, "outside of the shared array", &SHARED_INDEX);
  suspect_tiles(c);
  suspect_edges(c, want);
  suspect_that(c, lacks_barrier(c), &NO_BARRIER);
  return expect_array(c, "out", want, 0) && expect_by_kernel(c) && expect_no_finding(c);
}

static void judge(Case *c) {
  judge_values(c);
}

// Of sizes that are multiples of 32: elsewhere a row begins in the middle of a sector, and a request takes one more.
static void judge_traffic(Case *c) {
  if (!judge_values(c))
    return;
  expect_sectors(c, 1.5, &UNCOALESCED);
  expect_wavefronts(c, 2, &BANKS);
}

EXERCISE = {
    .id = "23_1_shared_transpose",
    .title = "Transpose through shared memory",
    .after_pass = "A tile in shared memory makes both the loads and the stores coalesced; only shared memory is read "
                  "along columns.",
    .kind = "kernel",
    .chapter = 23,
    .level = LEVEL_MEDIUM,
    .minutes = 30,
    .essential = true,
    .lesson = STEPS,
    .stars = {{"shared memory: at most 2 x the ideal wavefronts per request", {&BANKS}}},
    .hints = {"The kernel has two steps with a barrier between them. First it reads a tile along rows of in and stores "
              "it in shared memory. Then it writes the tile along rows of out.",
              "A block writes its tile to out, starting at row blockIdx.x * TILE and column blockIdx.y * TILE.",
              "In the second step, a thread writes to row blockIdx.x * TILE + threadIdx.y + k of out, so compare this "
              "index with columns. The thread reads tile[threadIdx.x][threadIdx.y + k].",
              "Declare __shared__ float tile[TILE][TILE + 1], and let no thread return before __syncthreads()."},
    .functions = {"transpose_on_device"},
    .tests = {{.name = "whole tiles: values and traffic", .ask = ask_whole, .judge = judge_traffic, .inspect = true},
              {.name = "3 x 7", .ask = ask_small, .judge = judge},
              {.name = "wide and odd", .ask = ask_wide, .judge = judge, .inspect = true},
              {.name = "tall and odd", .ask = ask_tall, .judge = judge},
              {.name = "one row", .ask = ask_row, .judge = judge},
              {.name = "one column", .ask = ask_column, .judge = judge},
              {.name = "large and odd", .ask = ask_large, .judge = judge, .schedules = 3},
              {.name = "very tall", .ask = ask_very_tall, .judge = judge, .schedules = 1},
              {.name = "very wide", .ask = ask_very_wide, .judge = judge, .schedules = 1}},
};
