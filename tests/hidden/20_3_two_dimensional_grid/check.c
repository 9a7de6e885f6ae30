// SPDX-License-Identifier: MIT
// Exercise 20.3: two-dimensional indices, a guard for each, and rows that lie a pitch apart.
#include "exercise.h"
#include <math.h>
#include <string.h>

static const Mistake MIXED_UP = {
    "rows and columns mixed up",
    "The grid covers the columns along x and the rows along y; the kernel takes its column from x, its row from y, and "
    "compares each with its own size. Somewhere one stands for the other.",
    "docs/20_the_first_kernel.md#grid-block-guard"};
static const Mistake NO_PITCH = {
    "pitch ignored",
    "Row r does not begin at r * columns: there is padding behind each row. It begins r * pitch bytes after the image.",
    "docs/20_the_first_kernel.md#grid-block-guard"};
static const Mistake PITCH_IN_ELEMENTS = {"pitch counted in elements",
                                          "A pitch is in bytes. Adding it to a float * goes four times too far: go "
                                          "through char *, or divide by sizeof(float).",
                                          "docs/20_the_first_kernel.md#grid-block-guard"};
static const Mistake ONE_PITCH = {"one pitch for both images",
                                  "in and out have different distances between their rows; each index needs its own.",
                                  "docs/20_the_first_kernel.md#grid-block-guard"};
static const Mistake PADDING = {"padding written",
                                "Threads beyond the last column wrote behind their row, where the memory is not the "
                                "image's. Compare the column with "
                                "columns, not the flat index with rows * columns.",
                                "docs/20_the_first_kernel.md#grid-block-guard"};
static const Mistake EDGES = {
    "blocks rounded down",
    "The division of a size by the block's size leaves the last, partial block out. Round up, in both dimensions.",
    "docs/20_the_first_kernel.md#grid-block-guard"};
static const Mistake BLOCK_INDEX = {
    "index local to the block",
    "threadIdx begins at (0, 0) again in every block. Add blockIdx.x * blockDim.x to the column and blockIdx.y * "
    "blockDim.y to the row.",
    "docs/20_the_first_kernel.md#grid-block-guard"};
static const Mistake ROW_BY_ROW = {
    "a launch per row",
    "The host launched the kernel for each row. A grid has two dimensions, so one launch does all rows.",
    "docs/20_the_first_kernel.md#five-versions-of-saxpy"};
static const Mistake GAIN_BY_COLUMN = {"gain taken by the column",
                                       "gain has an element for each row, shift has one for each column.",
                                       "docs/20_the_first_kernel.md#five-versions-of-saxpy"};

static const Mistake PITCHES_EXCHANGED = {"pitches exchanged",
                                          "in_pitch is the distance between rows of in, out_pitch that of out.",
                                          "docs/20_the_first_kernel.md#five-versions-of-saxpy"};
static const Mistake LAST_LEFT_OUT = {
    "the last row or column left out",
    "Rows go from 0 to rows - 1, columns to columns - 1: an index equal to size - 1 is "
    "still within.",
    "docs/20_the_first_kernel.md#grid-block-guard"};
static const Mistake X_DOWN = {
    "x down the rows",
    "Neighbouring threads are numbered along x. With x along the rows of memory they read neighbours; "
    "down a column each reads a sector of its own.",
    "docs/22_global_memory.md#a-ladder-of-strides"};
static const Mistake FEW_THREADS = {
    "few threads for many pixels",
    "Few threads with a loop each leave most of a GPU idle. The grid has two dimensions: a thread "
    "for each pixel.",
    "docs/20_the_first_kernel.md#grid-block-guard"};
static const Mistake ONE_BLOCK = {
    "one block for everything",
    "A block runs on one multiprocessor, and the others have nothing to do. Let many blocks share the image.",
    "docs/20_the_first_kernel.md#grid-block-guard"};
static const Mistake TOO_TALL = {
    "more rows than a grid has blocks along y",
    "A grid has room for 65535 blocks along y, and an image may have more rows. Let a block have several rows, or let "
    "each go on by gridDim.y of them.",
    "docs/20_the_first_kernel.md#grid-block-guard"};
static const Mistake TERM_LEFT_OUT = {"gain or shift left out",
                                      "A pixel is multiplied by its row's gain, and its column's shift "
                                      "is added.",
                                      "docs/20_the_first_kernel.md#five-versions-of-saxpy"};

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
// So few rows that what goes four times too far still lands where it is seen.
static void ask_few(Case *c) {
  ask(c, draw_odd(c, 7, 9), draw_odd(c, 11, 15));
}
static void ask_small(Case *c) {
  ask(c, 3, 5);
}
static void ask_whole(Case *c) {
  ask(c, 64, 128); // what lies behind the last row's end is no memory
}
static void ask_one_row(Case *c) {
  ask(c, 1, draw_odd(c, 66001, 69999)); // more than somebody may have given blocks
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
  uint32_t guard = 0xa5a5a5a5; // what lies behind gain
  float behind;
  memcpy(&behind, &guard, sizeof behind);
  for (int64_t r = 0; r < rows; r++)
    for (int64_t k = 0; k < columns; k++)
      wrong->f32[r * out_width(c) + k] =
          (k < rows ? gain->f32[k] : behind) * in->f32[r * in->shape.size[1] + k] + offset->f32[k];
  return wrong;
}

// ---- what a result looks like ------------------------------------------------------------------------------------------

static bool near(float a, float b) {
  return fabsf(a - b) <= 1e-5f * fmaxf(1, fabsf(b));
}

// Does row 1 begin `to` elements after out, computed from what lies `from` elements after in?
static bool second_row(const Case *c, int64_t to, int64_t from) {
  const Array *out = got_out(c), *in = given(c, "in");
  if (!out || to + 1 >= out->count || from + 1 >= in->count)
    return false;
  for (int64_t k = 0; k < 2; k++)
    if (!near(out->f32[to + k], given(c, "gain")->f32[1] * in->f32[from + k] + given(c, "shift")->f32[k]))
      return false;
  return true;
}

// Row 0 is right and nothing else was written here, but behind out something was: the rows lie too far apart.
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

static bool padding_written(const Case *c) {
  const Array *out = got_out(c);
  int64_t written = 0;
  for (int64_t r = 0; out && r < size_of(c, "rows"); r++)
    for (int64_t k = size_of(c, "columns"); k < out_width(c); k++)
      written += !array_is_filling(out, r * out_width(c) + k);
  return written > 0;
}

// The rectangle from (0, 0) that was written: how high and how wide; nothing outside of it. False when it is not one.
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

// A thread for each pixel, or for a few, and neighbours along the rows.
static void expect_shape(Case *c) {
  const int64_t *s = launch_shape(c, 0);
  int64_t rows = size_of(c, "rows"), columns = size_of(c, "columns");
  if (!s || rows * columns < 4096)
    return;
  const int64_t along_x = s[0] * s[3], along_y = s[1] * s[4];
  const double threads = (double)along_x * (double)along_y * (double)(s[2] * s[5]);
  expect_that(c, threads >= 2048 || rows * columns < 65536, s[0] * s[1] * s[2] == 1 ? &ONE_BLOCK : &FEW_THREADS,
              "the launch has %.0f threads for %lld pixels", threads, (long long)(rows * columns));
  bool down = along_x >= rows && along_y >= columns && !(along_x >= columns && along_y >= rows);
  expect_that(c, !down, &X_DOWN, "the grid has %lld threads along x and %lld along y, for %lld columns and %lld rows",
              (long long)along_x, (long long)along_y, (long long)columns, (long long)rows);
}

static void judge(Case *c) {
  suspect_pitches(c);
  suspect_array(c, "out", gains_by_column(c), &GAIN_BY_COLUMN);
  suspect_array(c, "out", without(c, true, false), &TERM_LEFT_OUT);
  suspect_array(c, "out", without(c, false, true), &TERM_LEFT_OUT);
  suspect_that(c, refused_shape(c) && refused_shape(c)[1] > 65535, &TOO_TALL);
  suspect_faults(c);
  suspect_that(c, counts(c)->launches == 0, &NO_KERNEL);
  suspect_that(c, counts(c)->launches > 1, &ROW_BY_ROW);
  suspect_that(c, padding_written(c), &PADDING);
  suspect_corner(c);
  suspect_that(c, refused_shape(c) != NULL, &EDGES);
  if (!expect_array(c, "out", part(c, INT64_MAX, INT64_MAX), 1e-5) || !expect_by_kernel(c) ||
      !expect_at_most(c, "launches", counts(c)->launches, 1, &ROW_BY_ROW))
    return;
  expect_shape(c);
}

EXERCISE = {
    .id = "20_3_two_dimensional_grid",
    .title = "Two-dimensional grid and pitch",
    .after_pass = "A pitch, not the width, leads from one row to the next.",
    .kind = "kernel",
    .chapter = 20,
    .level = LEVEL_MEDIUM,
    .minutes = 25,
    .lesson = "docs/20_the_first_kernel.md#five-versions-of-saxpy",
    .hints =
        {"The column is computed from blockIdx.x, blockDim.x and threadIdx.x, the row in the same way from their y.",
         "A thread may be beyond the columns while its row exists: two comparisons, not one.",
         "Row r begins at (const float *)((const char *)in + r * in_pitch).",
         "dim3 blocks((columns + 31) / 32, (rows + 7) / 8) for dim3 threads(32, 8)."},
    .functions = {"light_on_device"},
    .tests = {{.name = "wide", .ask = ask_wide, .judge = judge},
              {.name = "tall", .ask = ask_tall, .judge = judge},
              {.name = "few rows", .ask = ask_few, .judge = judge},
              {.name = "smaller than a block", .ask = ask_small, .judge = judge},
              {.name = "whole blocks", .ask = ask_whole, .judge = judge},
              {.name = "one row", .ask = ask_one_row, .judge = judge, .schedules = 1},
              {.name = "one column", .ask = ask_one_column, .judge = judge},
              {.name = "large", .ask = ask_large, .judge = judge},
              {.name = "large and wide", .ask = ask_large_and_wide, .judge = judge, .schedules = 1},
              {.name = "more rows than blocks along y",
               .ask = ask_very_tall,
               .judge = judge,
               .schedules = 1,
               .may_refuse = true}},
};
