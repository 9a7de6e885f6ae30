// SPDX-License-Identifier: MIT
// Exercise 23.3, a performance challenge: correct for every size, without findings, and scored by its modelled time.
#include "exercise.h"
#include <string.h>

#define LESSON "docs/23_shared_memory.md"

static const Mistake NOT_FASTER = {
    "not faster than the original",
    "./ferry inspect --gpu v100 shows what each line costs and what limits the kernel. Start with the largest cost.",
    "docs/23_shared_memory.md#a-transpose-step-by-step"};
static const Mistake DOWN_COLUMNS = {"uncoalesced access",
                                     "Neighboring lanes access elements of a column, one sector each. Go through a "
                                     "tile in shared memory, so that loads and stores both run along rows.",
                                     "docs/23_shared_memory.md#a-tile"};
static const Mistake RACE_IN_TILE = {"missing barrier",
                                     "The tile is read before all of it is written, or overwritten before all of it is "
                                     "read. Put a __syncthreads() in between.",
                                     "docs/23_shared_memory.md#a-blocks-own-memory"};
static const Mistake EDGES = {"incomplete tiles left out",
                              "The last rows and columns may not fill a whole tile. Process them as well.",
                              "docs/23_shared_memory.md#a-transpose-step-by-step"};
static const Mistake LIMITS = {
    "rows and columns swapped in the bounds check",
    "out has as many rows as x has columns. Compare the indexes of the store with the shape of out.",
    "docs/23_shared_memory.md#a-transpose-step-by-step"};
static const Mistake NOT_TURNED = {"copied instead of transposed", "out[j][i] is x[i][j].",
                                   "docs/23_shared_memory.md#a-transpose-step-by-step"};
static const Mistake FIRST_CALL = {
    "work skipped in a later call",
    "The same pointers and sizes may come again with other values. Each call has to do all the work.",
    "docs/24_reductions.md#one-launch-or-two"};
static const Mistake ONE_SIZE = {"slow at sizes near the scored one",
                                 "Other sizes must be fast as well. Two kernels, one for whole tiles and one for the "
                                 "rest, are fine if both are fast.",
                                 "docs/23_shared_memory.md#a-transpose-step-by-step"};

enum { SIDE = 1024 };
static const Scored SCORED = {.gpu = "v100",
                              .size = "1024 x 1024 floats",
                              .blocks = 64,
                              .naive = 33.6e-6,
                              .reference = 11.5e-6,
                              .steps = {1.5, 2.2, 2.9}};

static void ask(Case *c, int64_t rows, int64_t columns) {
  give_array(c, "x", draw_array(c, FY_FLOAT32, shape(rows, columns), -99, 99), (Give){.device = "cuda:0"});
}
static void ask_odd(Case *c) {
  ask(c, draw_odd(c, 65, 199), draw_odd(c, 65, 199));
}
// Whole tiles one way, and not the other.
static void ask_whole_rows(Case *c) {
  ask(c, 64 * draw_int(c, 1, 2), draw_odd(c, 65, 199));
}
static void ask_whole_columns(Case *c) {
  ask(c, draw_odd(c, 65, 199), 64 * draw_int(c, 1, 2));
}
static void ask_whole(Case *c) {
  ask(c, 32 * draw_int(c, 1, 3), 64 * draw_int(c, 2, 3));
}
// A call with the same memory comes before, when x is all zeros.
static void ask_twice(Case *c) {
  ask_odd(c);
  give_number(c, "before", 1);
}
static void ask_narrow(Case *c) {
  ask(c, draw_odd(c, 33, 99), 1);
}
// More tiles than a grid may have been given blocks, and more rows than one has in y.
static void ask_tall(Case *c) {
  ask(c, draw_odd(c, 66001, 70001), 3);
}
static void ask_very_tall(Case *c) { // more pairs of rows, too
  ask(c, draw_odd(c, 131073, 140001), 2);
}
static void ask_scored(Case *c) {
  ask(c, SIDE, SIDE);
}
static void ask_beside(Case *c) {
  ask(c, SIDE - draw_odd(c, 1, 63), SIDE + draw_odd(c, 1, 63));
}

static Array *turned(Case *c) {
  const Array *x = given(c, "x");
  const int64_t rows = x->shape.size[0], columns = x->shape.size[1];
  Array *out = new_array(c, FY_FLOAT32, shape(columns, rows));
  for (int64_t i = 0; i < rows; i++)
    for (int64_t j = 0; j < columns; j++)
      out->f32[j * rows + i] = x->f32[i * columns + j];
  return out;
}

// Are the parts of out unwritten that are past x's rows and columns, and nothing before them? A store past the end of a row of out writes to
// the next one, and so one more row may be begun.
static bool limits_exchanged(const Case *c, const Array *out) {
  const int64_t rows = given(c, "x")->shape.size[0], columns = given(c, "x")->shape.size[1];
  if (!out || rows == columns)
    return false;
  for (int64_t j = 0; j < columns; j++)
    for (int64_t i = 0; i < rows; i++) {
      const bool beyond = j >= rows || i >= columns;
      if (array_is_filling(out, j * rows + i) != beyond && (j != rows || rows > columns))
        return false;
    }
  return true;
}

// Are a few elements those of a later tile, and all others right? Then a block continued with its next tile too early.
static bool of_later_tiles(const Case *c, const Array *out) {
  const Array *x = given(c, "x");
  const int64_t rows = x->shape.size[0], columns = x->shape.size[1];
  int64_t later = 0;
  for (int64_t i = 0; out && i < rows; i++)
    for (int64_t j = 0; j < columns; j++) {
      const float is = out->f32[j * rows + i];
      int64_t from = i;
      while (from < rows && x->f32[from * columns + j] != is)
        from += 8;
      if (from >= rows || (from > i && ++later > x->count / 10))
        return false;
    }
  return later > 0;
}

static bool judge_values(Case *c) {
  const Array *want = turned(c), *x = given(c, "x"), *out = got_shaped(c, "out", want->shape);
  const int64_t rows = x->shape.size[0], columns = x->shape.size[1];
  bool inside = out != NULL, copied = out != NULL, right = out != NULL;
  for (int64_t i = 0; right && i < x->count; i++)
    right = out->f32[i] == want->f32[i];
  for (int64_t j = 0; inside && j < columns / 32 * 32; j++)
    for (int64_t i = 0; inside && i < rows / 32 * 32; i++)
      inside = out->f32[j * rows + i] == want->f32[j * rows + i];
  for (int64_t i = 0; copied && i < x->count; i++)
    copied = out->f32[i] == x->f32[i];
  bool zeros = out != NULL && strcmp(case_test(c), "the second call") == 0;
  for (int64_t i = 0; zeros && i < x->count; i++)
    zeros = out->f32[i] == 0;
  suspect_that(c, zeros, &FIRST_CALL);
  suspect_that(c, counts(c)->launches == 0, &NO_KERNEL);
  suspect_faults(c);
  suspect_finding(c, "race", &RACE_IN_TILE);
  suspect_that(c, case_schedule(c) == SCHEDULE_THREADS_DOWN || case_schedule(c) == SCHEDULE_WITHIN_BLOCKS,
               &RACE_IN_TILE);
  suspect_that(c, limits_exchanged(c, out), &LIMITS);
  suspect_that(c, !right && copied && rows > 1 && columns > 1, &NOT_TURNED);
  suspect_that(c, !right && inside && rows >= 32 && columns >= 32 && (rows % 32 || columns % 32), &EDGES);
  if (expect_array(c, "out", want, 0))
    return expect_by_kernel(c);
  suspect_that(c, of_later_tiles(c, out), &RACE_IN_TILE);
  return false;
}

static void judge(Case *c) {
  judge_values(c);
}
static void judge_inspected(Case *c) {
  if (judge_values(c))
    expect_no_finding(c);
}

static void judge_score(Case *c, double share, const Mistake *slow) {
  const double bytes = 4.0 * (double)given(c, "x")->count;
  if (!judge_values(c))
    return;
  if (!expect_no_finding(c))
    return;
  suspect_that(
      c, share <= 0 && (inspected(c, LOADED_SECTORS, (Where){0}) > 2 || inspected(c, STORED_SECTORS, (Where){0}) > 2),
      &DOWN_COLUMNS);
  expect_score(c, (Least){.loaded = bytes, .stored = bytes, .share = share}, slow);
}
static void judge_scored(Case *c) {
  judge_score(c, 0, &NOT_FASTER);
}
static void judge_beside(Case *c) {
  judge_score(c, (double)given(c, "x")->count / (SIDE * SIDE), &ONE_SIZE);
}

EXERCISE = {
    .id = "23_3_fast_transpose",
    .title = "Performance challenge: transpose",
    .after_pass = "A tiled transpose without bank conflicts runs at the speed of a copy: it is memory-bound, and "
                  "nothing is left to gain.",
    .kind = "kernel",
    .chapter = 23,
    .level = LEVEL_HARD,
    .minutes = 60,
    .lesson = LESSON "#a-transpose-step-by-step",
    .open = true,
    .hints = {"./ferry inspect --gpu v100 work/23_3_fast_transpose.cu: which line needs more sectors than the ideal?",
              "With a tile in shared memory, a block can load along rows and store along rows.",
              "A column of a tile that is 32 floats wide is in one bank: pad the rows.",
              "Let each thread move several elements: fewer threads per block, and more loads in flight."},
    .functions = {"transpose_on_device"},
    .tests = {{.name = "scored", .ask = ask_scored, .judge = judge_scored, .scored = &SCORED},
              {.name = "sizes near it", .ask = ask_beside, .judge = judge_beside, .scored = &SCORED},
              {.name = "odd sizes", .ask = ask_odd, .judge = judge},
              {.name = "whole tiles, instrumented", .ask = ask_whole, .judge = judge_inspected, .inspect = true},
              {.name = "rows of whole tiles", .ask = ask_whole_rows, .judge = judge_inspected, .inspect = true},
              {.name = "columns of whole tiles", .ask = ask_whole_columns, .judge = judge_inspected, .inspect = true},
              {.name = "odd sizes, instrumented", .ask = ask_odd, .judge = judge_inspected, .inspect = true},
              {.name = "one column", .ask = ask_narrow, .judge = judge},
              {.name = "very many rows", .ask = ask_tall, .judge = judge, .schedules = 3},
              {.name = "more pairs of rows than blocks in y", .ask = ask_very_tall, .judge = judge, .schedules = 1},
              {.name = "the second call", .ask = ask_twice, .judge = judge, .schedules = 1}},
};
