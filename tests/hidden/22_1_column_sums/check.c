// SPDX-License-Identifier: MIT
// Exercise 22.1: the sum of each column, with coalesced loads.
#include "exercise.h"
#include <math.h>

#define LESSON "docs/22_global_memory.md#sectors-and-coalescing"

static const Mistake ROWS = {"rows summed instead of columns",
                             "sums[c] is the sum of in[r * columns + c] over all rows r.", LESSON};
static const Mistake TRANSPOSED = {"rows and columns swapped in the index",
                                   "The matrix is row-major: row r starts at index r * columns.", LESSON};
static const Mistake UNCOALESCED = {"uncoalesced access",
                                    "The lanes of a warp load elements that are far apart, each from its own sector. "
                                    "Let neighboring threads load neighboring columns of the same row.",
                                    "docs/22_global_memory.md#strided-access"};
static const Mistake ROUNDED_DOWN = {"grid size rounded down",
                                     "columns / threads rounds down, so the last columns have no thread. Round up: "
                                     "(columns + threads - 1) / threads.",
                                     "docs/20_the_first_kernel.md#grid-block-guard"};
static const Mistake LAST_ROW = {"off-by-one error",
                                 "The sums do not include the last row. Row indices go from 0 to rows - 1.", LESSON};
static const Mistake LAST_ROWS = {
    "remainder of an unrolled loop left out",
    "Your loop adds several rows per iteration and skips the rows that are left over. Add them after the loop.",
    LESSON};
static const Mistake ADDED = {"uninitialized sum", "sums is uninitialized before the call. Start each sum at 0.",
                              LESSON};
static const Mistake EACH = {"one launch per row",
                             "Each launch costs microseconds. Launch the kernel once, and let it loop over the rows.",
                             LESSON};
static const Mistake SMALL_BLOCKS = {
    "block smaller than a warp",
    "A block with so few threads uses only a part of each sector that it loads. Use at least 32 threads per block.",
    LESSON};
static const Mistake AGAIN = {"elements loaded more than once",
                              "Your kernels load elements of in more than once. Give each column to one thread, or to "
                              "one group of threads that share its rows.",
                              LESSON};

static void ask(Case *c, int64_t rows, int64_t columns) {
  give_array(c, "in", draw_array(c, FY_FLOAT32, shape(rows, columns), 1, 4), (Give){.device = "cuda:0"});
}
// Rows are 7 more than a multiple of 8: 4 or 8 per iteration leave a remainder.
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
  ask(c, 8 * draw_int(c, 12, 17) + 7, 1024 * draw_int(c, 2, 4) + 1); // one column more than whole blocks
}
// More columns than 256 blocks of 256 threads, and more rows than a grid has blocks along y. The sums are exact.
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
typedef enum Way { RIGHT, OF_ROWS, MIXED, WITHOUT_LAST, SMALL_GRID, UNROLLED } Way;

// `each`: the threads of the grid, or the rows of an iteration.
static Array *sums(Case *c, Way way, int64_t each) {
  const Array *in = given(c, "in");
  const int64_t rows = in->shape.size[0], columns = in->shape.size[1];
  const int64_t end = way == WITHOUT_LAST ? rows - 1 : way == UNROLLED ? rows / each * each : rows;
  Array *out = new_array(c, FY_FLOAT32, shape(columns));
  for (int64_t k = 0; k < columns; k++) {
    double sum = 0;
    for (int64_t r = 0; way != OF_ROWS && r < end; r++) {
      const int64_t at = way == MIXED ? k * rows + r : r * columns + k;
      sum += in->f32[at];
    }
    for (int64_t j = 0; way == OF_ROWS && k < rows && j < columns; j++)
      sum += in->f32[k * columns + j];
    out->f32[k] = (way == OF_ROWS && k >= rows) || (way == SMALL_GRID && k >= each) ? NAN : (float)sum;
  }
  return out;
}

static bool judge(Case *c, int64_t *threads) {
  const int64_t rows = given(c, "in")->shape.size[0], columns = given(c, "in")->shape.size[1];
  const int64_t *s = launch_shape(c, 0);
  *threads = s ? s[3] * s[4] * s[5] : 32;
  suspect_sure(c, refused_empty_grid(c), &ROUNDED_DOWN);
  suspect_that(c, counts(c)->launches == 0 && !refused_shape(c), &NO_KERNEL);
  suspect_array(c, "sums", sums(c, MIXED, 0), &TRANSPOSED);
  for (int64_t each = 4; each <= 32 && each <= rows; each *= 2)
    suspect_array(c, "sums", sums(c, UNROLLED, each), &LAST_ROWS);
  if (rows > 1)
    suspect_array(c, "sums", sums(c, WITHOUT_LAST, 0), &LAST_ROW);
  suspect_array(c, "sums", sums(c, OF_ROWS, 0), &ROWS);
  if (s && s[0] * s[3] < columns && s[0] == columns / s[3])
    suspect_array(c, "sums", sums(c, SMALL_GRID, s[0] * s[3]), &ROUNDED_DOWN);
  suspect_finding(c, "race-block", &RACE);
  suspect_finding(c, "race-warp", &RACE);
  suspect_that(c, columns_written(got(c, "sums")) == 0 && has_finding(c, "uninitialized"), &ADDED);
  if (!expect_array(c, "sums", sums(c, RIGHT, 0), 1e-4) || !expect_by_kernel(c))
    return false;
  expect_at_most(c, "launches", counts(c)->launches, 2, &EACH);
  return true;
}

static void judge_values(Case *c) {
  int64_t threads;
  judge(c, &threads);
}

// All loads together: a request of one lane has the fewest sectors possible, and still wastes seven eighths of them.
static void judge_inspected(Case *c) {
  int64_t threads;
  if (!judge(c, &threads) || !expect_no_finding(c))
    return;
  const Mistake *why = inspected(c, LOADED_SECTORS, (Where){0}) > 2 ? &UNCOALESCED
                       : threads < 32                               ? &SMALL_BLOCKS
                                                                    : &AGAIN;
  expect_inspected(c, SECTORS_LOADED, (Where){.in_all = true}, (double)given(c, "in")->count / 8 * 2, why);
}

EXERCISE = {
    .id = "22_1_column_sums",
    .title = "Column sums: coalesced access",
    .after_pass =
        "With one column per thread, the lanes of a warp load neighboring addresses, so the loads are coalesced.",
    .kind = "kernel",
    .chapter = 22,
    .level = LEVEL_MEDIUM,
    .minutes = 30,
    .essential = true,
    .lesson = LESSON,
    .stars = {{"at most 2 launches", {&EACH}}},
    .hints = {"Start with one thread per column, which loops over all rows.",
              "In each iteration, threads c and c + 1 load two neighboring elements: in[r * columns + c] and in[r * "
              "columns + c + 1].",
              "If c < columns, let the thread add in[r * columns + c] for all rows r to a float that starts at 0. "
              "After the loop, it stores this sum in sums[c]."},
    .functions = {"column_sums_on_device"},
    // The inspected test is first: a race is a finding there, and only a wrong number elsewhere.
    .tests = {{.name = "values and sectors", .inspect = true, .ask = ask_inspected, .judge = judge_inspected},
              {.name = "one row", .ask = ask_row, .judge = judge_values},
              {.name = "one column", .ask = ask_column, .judge = judge_values},
              {.name = "wide", .ask = ask_wide, .judge = judge_values},
              {.name = "tall", .ask = ask_tall, .judge = judge_values},
              {.name = "large", .ask = ask_large, .judge = judge_values},
              {.name = "very wide", .ask = ask_very_wide, .judge = judge_values, .schedules = 3},
              {.name = "very tall", .ask = ask_very_tall, .judge = judge_values, .schedules = 1}},
};
