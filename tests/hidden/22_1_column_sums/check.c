// SPDX-License-Identifier: MIT
// Exercise 22.1: the sum of each column, at four sectors a request.
#include "exercise.h"
#include <math.h>

#define LESSON "docs/22_global_memory.md#sectors"

static const Mistake ROWS = {"rows summed instead of columns",
                             "sums[c] has the elements in[r * columns + c] of all rows r.", LESSON};
static const Mistake TRANSPOSED = {
    "rows and columns mixed up", "Row r begins at r * columns: the length of a row is the number of columns.", LESSON};
static const Mistake STRIDED = {
    "neighbouring lanes far apart",
    "Lanes of a warp read elements that are not beside each other, so that each takes a sector of its own. "
    "Neighbouring threads should have neighbouring columns, all in the same row.",
    "docs/22_global_memory.md#a-ladder-of-strides"};
static const Mistake ROUNDED_DOWN = {
    "blocks rounded down",
    "columns / threads leaves the last, partial block out. Round up: (columns + threads - 1) / threads.",
    "docs/20_the_first_kernel.md#grid-block-guard"};
static const Mistake LAST_ROW = {"the last row left out", "There are `rows` rows, from 0 to rows - 1.", LESSON};
static const Mistake LAST_ROWS = {
    "the rows of an unfinished turn left out",
    "A loop that takes several rows in a turn ends with some that fill none. They belong to the sum, too.", LESSON};
static const Mistake ADDED = {"added to what was there", "sums holds nothing yet: set it, do not add to it.", LESSON};
static const Mistake EACH = {"a launch per row or column", "One launch has a thread for every column.", LESSON};

static const Mistake THIN = {
    "blocks of less than a warp",
    "A warp of such a block has lanes that nobody uses, and a request of its few lanes fetches whole sectors. "
    "Whatever the sizes are, a block has 32 threads at least.",
    LESSON};

static const Mistake AGAIN = {
    "elements read more than once",
    "Each element is in one sum: more readings are traffic alone. Does each column have one thread, or one "
    "group of them?",
    LESSON};

static void ask(Case *c, int64_t rows, int64_t columns) {
  give_array(c, "in", draw_array(c, FY_FLOAT32, shape(rows, columns), 1, 4), (Give){.device = "cuda:0"});
}
// Rows are 7 more than a multiple of 8: whoever takes 4 or 8 of them in a turn is left with others than the last alone.
static void ask_wide(Case *c) {
  ask(c, 8 * draw_int(c, 2, 4) + 7, draw_odd(c, 401, 599));
}
static void ask_tall(Case *c) {
  ask(c, 8 * draw_int(c, 50, 73) + 7, draw_odd(c, 21, 39));
}
static void ask_row(Case *c) {
  ask(c, 1, draw_odd(c, 1025, 1999));
}
static void ask_column(Case *c) {
  ask(c, 8 * draw_int(c, 25, 48) + 7, 1);
}
static void ask_large(Case *c) {
  ask(c, 8 * draw_int(c, 12, 17) + 7, 1024 * draw_int(c, 2, 4) + 1); // one column more than whole blocks have
}
// More columns than 1024 blocks of 64 threads, or 256 of 256, have threads, and more rows than a grid has blocks along y: sums are
// exact there.
static void ask_very_wide(Case *c) {
  ask(c, draw_odd(c, 3, 5), draw_odd(c, 90001, 99999));
}
static void ask_very_tall(Case *c) {
  give_array(c, "in", draw_steps(c, shape(draw_odd(c, 90001, 99999), draw_odd(c, 3, 5)), 1, 4, 0.5),
             (Give){.device = "cuda:0"});
}
static void ask_inspected(Case *c) {
  ask(c, 8 * draw_int(c, 2, 3) + 7, 256 + 8 * draw_odd(c, 1, 15));
}
// A row is half a sector.
static void ask_narrow(Case *c) {
  ask(c, 8 * draw_int(c, 50, 73) + 7, 4);
}

typedef enum Way { RIGHT, OF_ROWS, MIXED, WITHOUT_LAST, WHOLE_BLOCKS, WHOLE_TURNS } Way;

// `each`: the threads of a block, or the rows of a turn.
static Array *sums(Case *c, Way way, int64_t each) {
  const Array *in = given(c, "in");
  const int64_t rows = in->shape.size[0], columns = in->shape.size[1];
  const int64_t end = way == WITHOUT_LAST ? rows - 1 : way == WHOLE_TURNS ? rows / each * each : rows;
  Array *out = new_array(c, FY_FLOAT32, shape(columns));
  for (int64_t k = 0; k < columns; k++) {
    double sum = 0;
    for (int64_t r = 0; way != OF_ROWS && r < end; r++) {
      const int64_t at = way == MIXED ? k * rows + r : r * columns + k;
      sum += in->f32[at];
    }
    for (int64_t j = 0; way == OF_ROWS && k < rows && j < columns; j++)
      sum += in->f32[k * columns + j];
    out->f32[k] =
        (way == OF_ROWS && k >= rows) || (way == WHOLE_BLOCKS && k >= columns / each * each) ? NAN : (float)sum;
  }
  return out;
}

static bool judge_values(Case *c) {
  const int64_t rows = given(c, "in")->shape.size[0];
  suspect_that(c, refused_empty_grid(c), &ROUNDED_DOWN);
  suspect_that(c, counts(c)->launches == 0, &NO_KERNEL);
  suspect_that(c, counts(c)->launches > 1, &EACH);
  suspect_array(c, "sums", sums(c, MIXED, 0), &TRANSPOSED);
  for (int64_t each = 4; each <= 32 && rows > 1; each *= 2)
    suspect_array(c, "sums", sums(c, WHOLE_TURNS, each), &LAST_ROWS);
  if (rows > 1)
    suspect_array(c, "sums", sums(c, WITHOUT_LAST, 0), &LAST_ROW);
  suspect_array(c, "sums", sums(c, OF_ROWS, 0), &ROWS);
  for (int64_t threads = 32; threads <= 1024; threads *= 2)
    if (given(c, "in")->shape.size[1] > threads)
      suspect_array(c, "sums", sums(c, WHOLE_BLOCKS, threads), &ROUNDED_DOWN);
  suspect_finding(c, "race-block", &RACE);
  suspect_finding(c, "race-warp", &RACE);
  suspect_that(c, columns_written(got(c, "sums")) == 0 && has_finding(c, "uninitialised"), &ADDED);
  return expect_array(c, "sums", sums(c, RIGHT, 0), 1e-4) && expect_by_kernel(c) &&
         expect_at_most(c, "launches", counts(c)->launches, 1, &EACH);
}

static void judge_block(Case *c) {
  const int64_t *launch = launch_shape(c, 0);
  expect_at_least(c, "threads in a block", launch ? launch[3] * launch[4] * launch[5] : 32, 32, &THIN);
}

static void judge(Case *c) {
  if (judge_values(c))
    judge_block(c);
}

static void judge_inspected(Case *c) {
  if (!judge_values(c) || !expect_no_finding(c))
    return;
  judge_block(c);
  expect_sectors(c, 1.3, &STRIDED);
  expect_inspected(c, SECTORS_LOADED, (Where){.in_all = true}, (double)given(c, "in")->count / 8 * 1.4, &AGAIN);
}

static void judge_narrow(Case *c) {
  if (judge_values(c) && expect_no_finding(c))
    expect_inspected(c, SECTORS_LOADED, (Where){.in_all = true}, (double)given(c, "in")->shape.size[0] * 1.4, &AGAIN);
}

EXERCISE = {
    .id = "22_1_column_sums",
    .title = "Column sums: coalesced access",
    .after_pass = "Neighbouring threads read neighbouring addresses when each has a column, not a row.",
    .kind = "kernel",
    .chapter = 22,
    .level = LEVEL_MEDIUM,
    .minutes = 30,
    .essential = true,
    .lesson = LESSON,
    .hints = {"A thread for each column, which goes down all rows.",
              "Which elements do threads c and c + 1 read at the same moment? in[r * columns + c] and its neighbour.",
              "float sum = 0; for (int r = 0; r < rows; r++) sum += in[r * columns + c]; with a guard for c."},
    .functions = {"column_sums_on_device"},
    // Looked at first: what was not waited for, or was added to what nobody wrote, is a finding there, and elsewhere only a wrong
    // number.
    .tests = {{.name = "what its warps ask for", .inspect = true, .ask = ask_inspected, .judge = judge_inspected},
              {.name = "four columns", .inspect = true, .ask = ask_narrow, .judge = judge_narrow},
              {.name = "wide", .ask = ask_wide, .judge = judge},
              {.name = "tall", .ask = ask_tall, .judge = judge},
              {.name = "one row", .ask = ask_row, .judge = judge},
              {.name = "one column", .ask = ask_column, .judge = judge},
              {.name = "large", .ask = ask_large, .judge = judge},
              {.name = "very wide", .ask = ask_very_wide, .judge = judge, .schedules = 3},
              {.name = "very tall", .ask = ask_very_tall, .judge = judge, .schedules = 1}},
};
