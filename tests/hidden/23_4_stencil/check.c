// SPDX-License-Identifier: MIT
// Exercise 23.4: a stencil of radius 2 in two dimensions, with nearest-index boundaries. All sums are exact, in any order.
#include "exercise.h"
#include <math.h>

#define LESSON "docs/23_shared_memory.md"
#define STENCILS LESSON "#stencils-and-halos"

static const Mistake ZERO = {"zero instead of the nearest element",
                             "Your boundary rule uses 0 outside of the matrix. Use the element at the nearest index "
                             "inside: min(max(index, 0), size - 1).",
                             STENCILS};
static const Mistake WRAPPED = {"indices wrapped around",
                                "Your boundary rule continues at the opposite side of the matrix. Use the element at "
                                "the nearest index inside: min(max(index, 0), size - 1).",
                                STENCILS};
static const Mistake MIRRORED = {"indices mirrored",
                                 "Your boundary rule reflects the matrix at its edges. Use the element at the nearest "
                                 "index inside: min(max(index, 0), size - 1).",
                                 STENCILS};
static const Mistake CENTER = {"center instead of the nearest element",
                               "For a neighbor outside of the matrix, you use the element itself. The nearest index "
                               "inside is 0 or size - 1: for row 1 and distance 2, it is row 0.",
                               STENCILS};
static const Mistake OTHER_ROW = {"neighbor in a different row",
                                  "The element before the first one of a row in memory is the last one of the previous "
                                  "row. Limit the column to 0 and columns - 1 before you compute the index.",
                                  STENCILS};
static const Mistake BORDER = {
    "border not written",
    "Elements near the edges are not written. They have neighbors outside of the matrix, and "
    "the boundary rule says which elements to use instead.",
    STENCILS};
static const Mistake NO_HALO = {"halo missing",
                                "The results are wrong at the edges of the tiles. Their neighbors are in other tiles, "
                                "so load a halo of 2 elements on each side of the tile.",
                                STENCILS};
static const Mistake DISTANCE_1 = {"distance 2 missing", "Add the four neighbors at distance 2, multiplied by w2.",
                                   STENCILS};
static const Mistake ROW_LENGTH = {"rows and columns swapped in the index",
                                   "The matrix is row-major: row r starts at index r * columns.",
                                   "docs/22_global_memory.md#sectors-and-coalescing"};
static const Mistake NO_BARRIER = {"missing barrier",
                                   "Threads read elements of the tile that other threads write. Put a __syncthreads() "
                                   "between the writes and the reads, and one before the tile is used again.",
                                   LESSON "#shared-memory-and-barriers"};
static const Mistake DIVERGENT = {"divergent barrier",
                                  "Some threads returned before a barrier or a shuffle, or skipped it in a branch. Put "
                                  "the bounds check around the accesses, not around the barrier.",
                                  LESSON "#shared-memory-and-barriers"};
static const Mistake TOO_SMALL = {"grid size rounded down",
                                  "The last rows or columns have no thread. Round the number of tiles up, in both "
                                  "dimensions.",
                                  "docs/20_the_first_kernel.md#grid-block-guard"};
static const Mistake OUTSIDE = {
    "out-of-bounds access",
    "A tile at the edge may be partly outside of the matrix, and so may its halo. Limit each "
    "index before you read, and compare row and column with the size before you write.",
    STENCILS};
static const Mistake EMPTY_GRID = {"empty grid",
                                   "If rows or columns is 0, the grid has 0 blocks, which is an invalid configuration. "
                                   "Launch nothing.",
                                   "docs/20_the_first_kernel.md#grid-block-guard"};
static const Mistake AGAIN = {
    "elements loaded again",
    "Your kernels load most elements of in several times. Let each block load its tile and the "
    "halo once into shared memory.",
    STENCILS};

static void ask(Case *c, int64_t rows, int64_t columns) {
  give_array(c, "in", draw_steps(c, shape(rows, columns), -9, 9, 0.5), (Give){.device = "cuda:0"});
  give_number(c, "rows", (double)rows);
  give_number(c, "columns", (double)columns);
  give_number(c, "w0", 0.25 * (double)draw_odd(c, 21, 29));
  give_number(c, "w1", 0.25 * (double)draw_odd(c, -9, -3));
  give_number(c, "w2", 0.25 * (double)draw_odd(c, 3, 9));
}
static void ask_whole(Case *c) {
  ask(c, 128, 256);
}
static void ask_odd(Case *c) {
  ask(c, draw_odd(c, 67, 95), draw_odd(c, 101, 125));
}
static void ask_tall(Case *c) {
  ask(c, draw_odd(c, 131, 255), draw_odd(c, 35, 47));
}
static void ask_small(Case *c) {
  ask(c, draw_int(c, 3, 5), draw_int(c, 6, 9));
}
static void ask_row(Case *c) {
  ask(c, 1, draw_odd(c, 131, 399));
}
static void ask_column(Case *c) {
  ask(c, draw_odd(c, 131, 399), 1);
}
static void ask_two(Case *c) {
  ask(c, 2, 2);
}
static void ask_one(Case *c) {
  ask(c, 1, 1);
}
static void ask_large(Case *c) {
  ask(c, 64 * draw_int(c, 4, 7) + 1, 64 * draw_int(c, 8, 12) + 1); // one more than whole tiles have
}
static void ask_very_tall(Case *c) {
  ask(c, draw_odd(c, 66001, 69999), 3);
}
static void ask_empty_first(Case *c) {
  ask(c, 7, 5);
  give_number(c, "empty first", 1);
}

// ---- results ---------------------------------------------------------------------------------------------------------

typedef enum Rule { NEAREST, ZEROS, WRAP, MIRROR, ITSELF, FLAT, IN_TILE, SWAPPED } Rule;

typedef struct Stencil {
  Rule rule;
  int64_t tile_rows, tile_columns; // IN_TILE
  double w2;
} Stencil;

static int64_t limited(int64_t i, int64_t low, int64_t high) { // high: not included
  return i < low ? low : i >= high ? high - 1 : i;
}

// The index by which `rule` replaces i, of `size` in all; -1: none. `tile`: elements in a tile.
static int64_t replaced(int64_t i, int64_t center, int64_t size, int64_t tile, Rule rule) {
  const bool inside = i >= 0 && i < size;
  if (rule == IN_TILE && tile > 0) {
    const int64_t begin = center / tile * tile, end = begin + tile < size ? begin + tile : size;
    return limited(i, begin, end);
  }
  if (inside)
    return i;
  switch (rule) {
  case ZEROS:
    return -1;
  case WRAP:
    return (i + 2 * size) % size;
  case MIRROR:
    return limited(i < 0 ? -i : 2 * (size - 1) - i, 0, size);
  case ITSELF:
    return center;
  default:
    return limited(i, 0, size);
  }
}

static double element(const Array *in, int64_t row, int64_t column, int64_t dr, int64_t dc, const Stencil *s) {
  const int64_t rows = in->shape.size[0], columns = in->shape.size[1], r = row + dr, at = column + dc;
  if (s->rule == FLAT)
    return in->f32[limited(r * columns + at, 0, in->count)];
  const int64_t y = replaced(r, row, rows, s->tile_rows, s->rule);
  const int64_t x = replaced(at, column, columns, s->tile_columns, s->rule);
  if (y < 0 || x < 0)
    return 0;
  const int64_t i = s->rule == SWAPPED ? y * rows + x : y * columns + x;
  return i < in->count ? in->f32[i] : 0;
}

static Array *result(Case *c, Stencil s) {
  const Array *in = given(c, "in");
  const int64_t rows = in->shape.size[0], columns = in->shape.size[1];
  const double weights[3] = {given_number(c, "w0"), given_number(c, "w1"), s.w2};
  Array *out = new_array(c, FY_FLOAT32, in->shape);
  for (int64_t r = 0; r < rows; r++)
    for (int64_t k = 0; k < columns; k++) {
      double sum = weights[0] * element(in, r, k, 0, 0, &s);
      for (int64_t d = 1; d <= 2; d++)
        sum += weights[d] * (element(in, r, k, -d, 0, &s) + element(in, r, k, d, 0, &s) + element(in, r, k, 0, -d, &s) +
                             element(in, r, k, 0, d, &s));
      out->f32[r * columns + k] = (float)sum;
    }
  return out;
}

// Are the elements of some last rows or columns unwritten, and all others right? Or, `border`, those of the first and last two?
static bool is_unwritten(const Case *c, const Array *want, bool border) {
  const Array *out = got_shaped(c, "out", want->shape);
  const int64_t rows = want->shape.size[0], columns = want->shape.size[1];
  int64_t end_row = 0, end_column = 0, missing = 0;
  if (!out || *got_error(c))
    return false;
  for (int64_t i = 0; i < out->count; i++)
    if (!array_is_filling(out, i)) {
      end_row = i / columns + 1 > end_row ? i / columns + 1 : end_row;
      end_column = i % columns + 1 > end_column ? i % columns + 1 : end_column;
    }
  for (int64_t i = 0; i < out->count; i++) {
    const int64_t r = i / columns, k = i % columns;
    const bool at_border = r < 2 || k < 2 || r >= rows - 2 || k >= columns - 2;
    const bool may_miss = border ? at_border : r >= end_row || k >= end_column;
    if (array_is_filling(out, i) ? !may_miss : out->f32[i] != want->f32[i])
      return false;
    missing += array_is_filling(out, i);
  }
  return missing > 0 && missing < out->count && (!border || array_is_filling(out, 0));
}

static bool broken_guard(const Case *c) {
  const Array *a = got(c, "out");
  return a && a->flags & ARRAY_GUARD_BROKEN;
}

static void suspect_mistakes(Case *c, const Array *want) {
  suspect_error(c, "invalid configuration", &EMPTY_GRID);
  suspect_that(c, counts(c)->launches == 0 && want->count > 0, &NO_KERNEL);
  suspect_finding(c, "divergent", &DIVERGENT);
  suspect_finding(c, "lanes", &DIVERGENT);
  suspect_finding(c, "bounds-global", &OUTSIDE);
  suspect_sure(c, broken_guard(c), &OUTSIDE);
  suspect_error(c, ": it reads ", &OUTSIDE);
  suspect_error(c, ": it writes ", &OUTSIDE);
  suspect_finding(c, "uninitialized-shared", &NO_HALO);
  suspect_finding(c, "race-block", &NO_BARRIER);
  suspect_that(c, is_unwritten(c, want, true), &BORDER);
  suspect_that(c, is_unwritten(c, want, false), &TOO_SMALL);
}

static void suspect_results(Case *c) {
  static const int64_t tiles[][2] = {{16, 16}, {32, 32}, {8, 32},  {8, 8},  {16, 32},
                                     {4, 64},  {4, 32},  {1, 256}, {1, 128}};
  const double w2 = given_number(c, "w2");
  suspect_array(c, "out", result(c, (Stencil){.rule = ZEROS, .w2 = w2}), &ZERO);
  suspect_array(c, "out", result(c, (Stencil){.rule = WRAP, .w2 = w2}), &WRAPPED);
  suspect_array(c, "out", result(c, (Stencil){.rule = MIRROR, .w2 = w2}), &MIRRORED);
  suspect_array(c, "out", result(c, (Stencil){.rule = ITSELF, .w2 = w2}), &CENTER);
  suspect_array(c, "out", result(c, (Stencil){.rule = FLAT, .w2 = w2}), &OTHER_ROW);
  suspect_array(c, "out", result(c, (Stencil){.rule = NEAREST}), &DISTANCE_1);
  suspect_array(c, "out", result(c, (Stencil){.rule = SWAPPED, .w2 = w2}), &ROW_LENGTH);
  for (size_t i = 0; i < sizeof tiles / sizeof *tiles; i++)
    suspect_array(c, "out", result(c, (Stencil){IN_TILE, tiles[i][0], tiles[i][1], w2}), &NO_HALO);
}

static bool judge_values(Case *c) {
  const Array *want = result(c, (Stencil){.rule = NEAREST, .w2 = given_number(c, "w2")});
  suspect_mistakes(c, want);
  if (!expect_array(c, "out", want, 1e-6)) {
    suspect_results(c);
    return false;
  }
  return expect_by_kernel(c) && expect_no_finding(c);
}

static void judge(Case *c) {
  judge_values(c);
}

static void judge_traffic(Case *c) {
  if (judge_values(c))
    expect_inspected(c, SECTORS_LOADED, (Where){.in_all = true}, 4 * (double)given(c, "in")->count / 8, &AGAIN);
}

EXERCISE = {
    .id = "23_4_stencil",
    .title = "Stencil with a halo",
    .after_pass =
        "Image filters, finite differences and convolutions are stencils. A tile with a halo makes their loads "
        "independent of the number of neighbors.",
    .kind = "kernel",
    .chapter = 23,
    .level = LEVEL_HARD,
    .minutes = 45,
    .lesson = STENCILS,
    .stars = {{"each element is loaded about once per tile: all loads together access at most 4 x the sectors of in",
               {&AGAIN}}},
    .hints =
        {"First let each thread compute one element with loads from global memory. Limit each index by "
         "min(max(index, 0), size - 1). This answer passes, and lacks the star.",
         "Then give each block a tile of 32 x 32 elements. The array in shared memory has 36 x 36 elements, because "
         "the halo has 2 more on each side.",
         "There are more elements in the array than threads in the block. Let all threads loop over the array, and "
         "limit row and column for each element: the halo then follows the boundary rule by itself.",
         "After the barrier, element (y, x) of the tile is at [y + 2][x + 2] of the array. Compare row and column "
         "with the size of the matrix only for the store."},
    .functions = {"stencil_on_device"},
    .tests = {{.name = "whole tiles: values and traffic", .ask = ask_whole, .judge = judge_traffic, .inspect = true},
              {.name = "odd", .ask = ask_odd, .judge = judge, .inspect = true},
              {.name = "tall", .ask = ask_tall, .judge = judge, .inspect = true},
              {.name = "smaller than a tile", .ask = ask_small, .judge = judge, .inspect = true},
              {.name = "one row", .ask = ask_row, .judge = judge, .inspect = true},
              {.name = "one column", .ask = ask_column, .judge = judge, .inspect = true},
              {.name = "2 x 2", .ask = ask_two, .judge = judge},
              {.name = "one element", .ask = ask_one, .judge = judge},
              {.name = "large and odd", .ask = ask_large, .judge = judge},
              {.name = "very tall", .ask = ask_very_tall, .judge = judge, .schedules = 1},
              {.name = "empty, then not", .ask = ask_empty_first, .judge = judge}},
};
