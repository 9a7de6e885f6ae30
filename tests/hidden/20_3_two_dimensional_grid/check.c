// SPDX-License-Identifier: MIT
// Exercise 20.3: two-dimensional indices, a bounds check for each, and padded rows.
#include "exercise.h"
#include <math.h>
#include <string.h>

#define LESSON "docs/20_the_first_kernel.md"

static const Mistake MIXED_UP = {
    "rows and columns swapped",
    "x is the column, and y is the row. Check the grid size, the thread's index and the bounds check for both.",
    LESSON "#grid-block-guard"};
static const Mistake NO_PITCH = {"pitch ignored",
                                 "Row r does not start at r * columns, because rows are padded. It starts r * pitch "
                                 "bytes after the start of the image.",
                                 LESSON "#grid-block-guard"};
static const Mistake PITCH_IN_ELEMENTS = {"pitch in elements instead of bytes",
                                          "A pitch is in bytes. If you add it to a float *, it advances four times too "
                                          "far. Cast to char * first, or divide the pitch by sizeof(float).",
                                          LESSON "#grid-block-guard"};
static const Mistake ONE_PITCH = {
    "same pitch for both images",
    "in and out have different pitches. Compute each row's address with the pitch of its image.",
    LESSON "#grid-block-guard"};
static const Mistake PADDING = {"padding overwritten",
                                "Threads past the last column wrote into the padding of their row. Let only threads "
                                "with a column less than `columns` write.",
                                LESSON "#grid-block-guard"};
static const Mistake EDGES = {
    "grid size rounded down",
    "The division by the block size leaves out the last, partial block. Round up in both dimensions.",
    LESSON "#grid-block-guard"};
static const Mistake BLOCK_INDEX = {"block index missing",
                                    "threadIdx starts again at (0, 0) in every block. Add blockIdx.x * blockDim.x to "
                                    "the column and blockIdx.y * blockDim.y to the row.",
                                    LESSON "#grid-block-guard"};
static const Mistake ROW_BY_ROW = {"one launch per row",
                                   "The host launched the kernel for each row. A grid has two dimensions, so one "
                                   "launch is enough for all rows.",
                                   LESSON "#five-versions-of-saxpy"};
static const Mistake GAIN_BY_COLUMN = {"gain indexed by column",
                                       "gain has one element per row, shift has one per column.",
                                       LESSON "#five-versions-of-saxpy"};
static const Mistake PITCHES_EXCHANGED = {"pitches swapped",
                                          "in_pitch is the distance between rows of in, out_pitch between rows of out.",
                                          LESSON "#five-versions-of-saxpy"};
static const Mistake LAST_LEFT_OUT = {"off-by-one error in the bounds check",
                                      "The last row or column is missing. Rows go from 0 to rows - 1, columns from 0 "
                                      "to columns - 1.",
                                      LESSON "#grid-block-guard"};
static const Mistake UNCOALESCED = {
    "uncoalesced access",
    "The lanes of a warp access different rows, so each lane needs its own sector. Let x be the column.",
    "docs/22_global_memory.md#strided-access"};
static const Mistake FEW_THREADS = {
    "too few threads",
    "A few threads with loops leave most of the GPU idle. Use a thread for each pixel, or for a few pixels.",
    LESSON "#grid-block-guard"};
static const Mistake ONE_BLOCK = {"single block",
                                  "A block runs on one multiprocessor, and the others are idle. Use several blocks.",
                                  LESSON "#grid-block-guard"};
static const Mistake TOO_TALL = {
    "grid too large in y",
    "A grid has at most 65535 blocks along y, and the image has more rows. Give each block "
    "several rows, or loop over rows with a stride of gridDim.y blocks.",
    LESSON "#grid-block-guard"};
static const Mistake TERM_LEFT_OUT = {"gain or shift missing",
                                      "Multiply each pixel by its row's gain, and add its column's shift.",
                                      LESSON "#five-versions-of-saxpy"};

static void ask(Case *c, int64_t rows, int64_t columns) {
  int64_t in_padding = draw_int(c, 3, 9), out_padding = in_padding + draw_int(c, 2, 9);
  give_array(c, "in", draw_array(c, FY_FLOAT32, shape(rows, columns + in_padding), -4, 4), (Give){.device = "cuda:0"});
  give_array(c, "gain", draw_array(c, FY_FLOAT32, shape(rows), 1, 4), (Give){.device = "cuda:0"});
  give_array(c, "shift", draw_array(c, FY_FLOAT32, shape(columns), 10, 40), (Give){.device = "cuda:0"});
  give_number(c, "rows", (double)rows);
  give_number(c, "columns", (double)columns);
  give_number(c, "out pitch", (double)(columns + out_padding) * sizeof(float));
}
static void ask_wide(Case *c) {
  ask(c, draw_odd(c, 35, 49), draw_odd(c, 131, 159));
}
static void ask_tall(Case *c) {
  ask(c, draw_odd(c, 131, 159), draw_odd(c, 35, 49));
}
// So few rows that rows four times too far apart still end within guarded memory.
static void ask_few(Case *c) {
  ask(c, draw_odd(c, 7, 9), draw_odd(c, 11, 15));
}
static void ask_small(Case *c) {
  ask(c, 3, 5);
}
static void ask_whole(Case *c) {
  ask(c, 64, 128);
}
static void ask_one_row(Case *c) {
  ask(c, 1, draw_odd(c, 66001, 69999));
}
static void ask_one_column(Case *c) {
  ask(c, draw_odd(c, 1025, 1199), 1);
}
static void ask_large(Case *c) {
  ask(c, draw_odd(c, 401, 499), draw_odd(c, 201, 299));
}
// More blocks along x than along y, and many of either.
static void ask_large_and_wide(Case *c) {
  ask(c, draw_odd(c, 201, 299), draw_odd(c, 601, 699));
}

// More rows than a grid has blocks along y.
static void ask_very_tall(Case *c) {
  ask(c, draw_odd(c, 66001, 69999), draw_odd(c, 3, 5));
}

static int64_t size_of(const Case *c, const char *name) {
  return (int64_t)given_number(c, name);
}
static int64_t out_width(const Case *c) {
  return size_of(c, "out pitch") / (int64_t)sizeof(float);
}

static const Array *got_out(const Case *c) {
  return got_shaped(c, "out", shape(size_of(c, "rows"), out_width(c)));
}

static float pixel(const Case *c, int64_t r, int64_t column) {
  const Array *in = given(c, "in");
  return given(c, "gain")->f32[r] * in->f32[r * in->shape.size[1] + column] + given(c, "shift")->f32[column];
}

// Rows and columns below the limits are right, the rest of the memory (padding too) is as it was: NaN.
static Array *part(Case *c, int64_t rows, int64_t columns) {
  Array *image = new_array(c, FY_FLOAT32, shape(size_of(c, "rows"), out_width(c)));
  for (int64_t i = 0; i < image->count; i++)
    image->f32[i] = NAN;
  for (int64_t r = 0; r < rows && r < size_of(c, "rows"); r++)
    for (int64_t k = 0; k < columns && k < size_of(c, "columns"); k++)
      image->f32[r * out_width(c) + k] = pixel(c, r, k);
  return image;
}

static Array *gains_by_column(Case *c) {
  Array *wrong = part(c, INT64_MAX, INT64_MAX);
  const Array *in = given(c, "in"), *gain = given(c, "gain"), *offset = given(c, "shift");
  int64_t rows = size_of(c, "rows"), columns = size_of(c, "columns");
  uint32_t guard = 0xa5a5a5a5; // the memory past the end of gain
  float past;
  memcpy(&past, &guard, sizeof past);
  for (int64_t r = 0; r < rows; r++)
    for (int64_t k = 0; k < columns; k++)
      wrong->f32[r * out_width(c) + k] =
          (k < rows ? gain->f32[k] : past) * in->f32[r * in->shape.size[1] + k] + offset->f32[k];
  return wrong;
}

// ---- evidence in a result

static bool near(float a, float b) {
  return fabsf(a - b) <= 1e-5f * fmaxf(1, fabsf(b));
}

// Does row 1 start `to` elements after out, computed from the element `from` after in?
static bool second_row(const Case *c, int64_t to, int64_t from) {
  const Array *out = got_out(c), *in = given(c, "in");
  if (!out || to + 1 >= out->count || from + 1 >= in->count)
    return false;
  for (int64_t k = 0; k < 2; k++)
    if (!near(out->f32[to + k], given(c, "gain")->f32[1] * in->f32[from + k] + given(c, "shift")->f32[k]))
      return false;
  return true;
}

// Row 0 is right, no other row was written, and memory past the end of out was: the rows are too far apart.
static bool rows_far_apart(const Case *c) {
  const Array *out = got_out(c);
  if (!out || !(out->flags & ARRAY_GUARD_BROKEN) || size_of(c, "rows") < 2)
    return false;
  for (int64_t i = 0; i < out->count; i++)
    if (i < size_of(c, "columns") ? !near(out->f32[i], pixel(c, 0, i)) : !array_is_filling(out, i))
      return false;
  return true;
}

static void suspect_pitches(Case *c) {
  int64_t tight = size_of(c, "columns"), from = given(c, "in")->shape.size[1], to = out_width(c);
  if (size_of(c, "rows") < 2 || tight < 2)
    return;
  suspect_that(c, second_row(c, tight, tight) || second_row(c, tight, from) || second_row(c, to, tight), &NO_PITCH);
  suspect_that(c, second_row(c, from, to), &PITCHES_EXCHANGED);
  suspect_that(c, second_row(c, from, from) || second_row(c, to, to), &ONE_PITCH);
  suspect_that(c, second_row(c, 4 * to, 4 * from) || second_row(c, 4 * to, from) || second_row(c, to, 4 * from),
               &PITCH_IN_ELEMENTS);
  suspect_that(c, rows_far_apart(c), &PITCH_IN_ELEMENTS);
}

// Row 0 is right, the grid is wider than a row, and elements between the rows were written.
static bool padding_written(const Case *c) {
  const Array *out = got_out(c);
  const int64_t *s = launch_shape(c, 0);
  int64_t written = 0;
  if (!out || !s || s[0] * s[3] <= size_of(c, "columns"))
    return false;
  for (int64_t k = 0; k < size_of(c, "columns"); k++)
    if (!near(out->f32[k], pixel(c, 0, k)))
      return false;
  for (int64_t r = 0; out && r < size_of(c, "rows"); r++)
    for (int64_t k = size_of(c, "columns"); k < out_width(c); k++)
      written += !array_is_filling(out, r * out_width(c) + k);
  return written > 0;
}

// The written elements are a rectangle from (0, 0): how many rows and columns? False if they are not.
static bool only_a_corner(const Case *c, int64_t *rows, int64_t *columns) {
  const Array *out = got_out(c);
  int64_t written = 0;
  *rows = *columns = 0;
  for (int64_t i = 0; out && i < out->count; i++) {
    if (array_is_filling(out, i))
      continue;
    int64_t r = i / out_width(c), k = i % out_width(c);
    written++;
    *rows = r >= *rows ? r + 1 : *rows;
    *columns = k >= *columns ? k + 1 : *columns;
  }
  return written > 0 && written == *rows * *columns;
}

static void suspect_corner(Case *c) {
  int64_t rows, columns, all_rows = size_of(c, "rows"), all_columns = size_of(c, "columns");
  const int64_t *s = launch_shape(c, 0);
  if (!s || !only_a_corner(c, &rows, &columns) || (rows == all_rows && columns == all_columns))
    return;
  bool one_block = rows == (s[4] < all_rows ? s[4] : all_rows) &&
                   columns == (s[3] < all_columns ? s[3] : all_columns) && s[0] * s[1] > 1;
  const int64_t across = s[0] * s[3], down = s[1] * s[4]; // threads
  bool edges = (rows == all_rows || rows == down) && (columns == all_columns || columns == across);
  suspect_that(c, s[1] == 65535 && rows == down && columns == all_columns, &TOO_TALL);
  bool last = rows >= all_rows - 1 && columns >= all_columns - 1;
  suspect_that(c, one_block, &BLOCK_INDEX);
  suspect_that(c,
               edges && (all_rows - rows < s[4] || rows == all_rows) &&
                   (all_columns - columns < s[3] || columns == all_columns),
               &EDGES);
  suspect_that(c, last, &LAST_LEFT_OUT);
  // As many threads along x as the rows take, rounded up.
  suspect_that(c, across >= all_rows && across - all_rows < s[3] && across < all_columns, &MIXED_UP);
  suspect_that(c, (columns < all_columns && columns == down) || (rows < all_rows && rows == across), &MIXED_UP);
  suspect_that(c, down < all_rows && down >= all_columns && down - all_columns < s[4], &MIXED_UP);
  suspect_that(c, columns == all_rows || rows == all_columns, &MIXED_UP);
}

// Without the factor, or without the term.
static Array *without(Case *c, bool gain, bool shift_) {
  Array *wrong = part(c, INT64_MAX, INT64_MAX);
  const Array *in = given(c, "in");
  for (int64_t r = 0; r < size_of(c, "rows"); r++)
    for (int64_t k = 0; k < size_of(c, "columns"); k++)
      wrong->f32[r * out_width(c) + k] = (gain ? 1 : given(c, "gain")->f32[r]) * in->f32[r * in->shape.size[1] + k] +
                                         (shift_ ? 0 : given(c, "shift")->f32[k]);
  return wrong;
}

// For a star: many threads for many pixels.
static void expect_shape(Case *c) {
  const int64_t *s = launch_shape(c, 0), pixels = size_of(c, "rows") * size_of(c, "columns");
  if (!s || pixels <= 65536)
    return;
  const double threads = (double)(s[0] * s[3]) * (double)(s[1] * s[4]) * (double)(s[2] * s[5]);
  expect_that(c, threads >= 2048, s[0] * s[1] * s[2] == 1 ? &ONE_BLOCK : &FEW_THREADS,
              "the launch has %.0f threads for %lld pixels", threads, (long long)pixels);
}

static void judge(Case *c) {
  const int64_t launches = counts(c)->launches, rows = size_of(c, "rows"), *refused = refused_shape(c);
  const bool row_by_row = launches > 2 && launches >= rows;
  suspect_pitches(c);
  suspect_array(c, "out", gains_by_column(c), &GAIN_BY_COLUMN);
  suspect_array(c, "out", without(c, true, false), &TERM_LEFT_OUT);
  suspect_array(c, "out", without(c, false, true), &TERM_LEFT_OUT);
  suspect_sure(c, refused && refused[1] > 65535, &TOO_TALL);
  suspect_faults(c);
  suspect_that(c, launches == 0 && !refused, &NO_KERNEL);
  suspect_that(c, padding_written(c), &PADDING);
  suspect_corner(c);
  suspect_sure(c, refused_empty_grid(c), &EDGES);
  suspect_that(c, row_by_row, &ROW_BY_ROW);
  if (!expect_array(c, "out", part(c, INT64_MAX, INT64_MAX), 1e-5) || !expect_by_kernel(c) ||
      !expect_at_most(c, "launches", launches, 2, row_by_row ? &ROW_BY_ROW : NULL))
    return;
  expect_shape(c);
}

static void judge_inspected(Case *c) {
  judge(c);
  expect_no_finding(c);
  expect_sectors(c, 2, &UNCOALESCED);
}

EXERCISE = {
    .id = "20_3_two_dimensional_grid",
    .title = "Two-dimensional grid and pitch",
    .after_pass = "In pitched memory, row r starts r * pitch bytes after row 0. A dim3 gives a grid two dimensions.",
    .kind = "kernel",
    .chapter = 20,
    .level = LEVEL_MEDIUM,
    .minutes = 25,
    .lesson = "docs/20_the_first_kernel.md#five-versions-of-saxpy",
    .stars = {{"coalesced: at most 2 x the ideal sectors per request", {&UNCOALESCED}},
              {"at least 2048 threads for more than 65536 pixels", {&FEW_THREADS, &ONE_BLOCK}}},
    .hints = {"Compute the column from blockIdx.x, blockDim.x and threadIdx.x, and the row in the same way from the y "
              "members. Both need a bounds check.",
              "Row r starts at (const float *)((const char *)in + r * in_pitch).",
              "With dim3 threads(32, 8), launch dim3 blocks((columns + 31) / 32, (rows + 7) / 8)."},
    .functions = {"light_on_device"},
    .tests =
        {{.name = "smaller than a block", .ask = ask_small, .judge = judge},
         {.name = "few rows", .ask = ask_few, .judge = judge},
         {.name = "whole blocks", .ask = ask_whole, .judge = judge},
         {.name = "wide", .ask = ask_wide, .judge = judge},
         {.name = "tall", .ask = ask_tall, .judge = judge},
         {.name = "one row", .ask = ask_one_row, .judge = judge, .schedules = 1},
         {.name = "one column", .ask = ask_one_column, .judge = judge},
         {.name = "large", .ask = ask_large, .judge = judge},
         {.name = "large and wide", .ask = ask_large_and_wide, .judge = judge, .schedules = 1},
         {.name = "values and sectors", .ask = ask_wide, .judge = judge_inspected, .inspect = true},
         {.name = "more than 65535 rows", .ask = ask_very_tall, .judge = judge, .schedules = 1, .may_refuse = true}},
};
