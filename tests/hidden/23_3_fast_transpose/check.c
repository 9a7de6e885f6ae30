// SPDX-License-Identifier: MIT
// Exercise 23.3, a performance challenge: right for every size, without a finding, and scored by its modeled time.
#include "exercise.h"
#include <string.h>

#define LESSON "docs/23_shared_memory.md"
#define STEPS LESSON "#matrix-transpose-step-by-step"

static const Mistake NOT_FASTER = {"no speedup",
                                   "./ferry inspect --gpu v100 shows the memory requests of each line and what limits "
                                   "the kernel. Start with the largest of the times.",
                                   STEPS};
static const Mistake UNCOALESCED = {
    "uncoalesced access",
    "Neighboring lanes read or write elements that are a row apart, each in its own sector. Stage a tile in shared "
    "memory, so that both the loads and the stores run along rows.",
    LESSON "#tiled-transpose-through-shared-memory"};
static const Mistake NO_BARRIER = {"missing barrier",
                                   "A thread reads the tile before all of it is written, or overwrites it before other "
                                   "threads have read it. Put a __syncthreads() between the two accesses.",
                                   LESSON "#shared-memory-and-barriers"};
static const Mistake EDGES = {
    "wrong boundary tiles",
    "Whole tiles are correct, but partial tiles at the edges are not. Round the grid size up, and check the bounds.",
    STEPS};
static const Mistake SWAPPED_CHECK = {"bounds check not swapped",
                                      "out has as many rows as x has columns. When you write, compare the row with "
                                      "columns and the column with rows.",
                                      STEPS};
static const Mistake NOT_TRANSPOSED = {"matrix copied, not transposed",
                                       "out is a copy of x. out[j][i] must be x[i][j].", STEPS};
static const Mistake CACHED = {"result cached between calls",
                               "Your function returned the result of an earlier call. A call may have the same "
                               "pointers and sizes but different elements in x. Compute the result in each call.",
                               "docs/24_reductions.md#one-launch-or-two"};
static const Mistake ONE_SIZE = {"slow at other sizes",
                                 "Your kernels are too slow at other sizes near the scored one. Separate kernels for "
                                 "whole tiles and for the rest are fine if both are fast.",
                                 STEPS};
static const Mistake MISALIGNED = {"misaligned vector access",
                                   "A float4 must be 16-byte aligned. All rows of x are aligned only if columns is a "
                                   "multiple of 4, and all rows of out only if rows is a multiple of 4.",
                                   "docs/22_global_memory.md#vectorized-loads-float4"};
static const Mistake OUTSIDE = {"out-of-bounds access",
                                "A thread of a block at the edge accesses an element outside of x or out. Compare the "
                                "row and the column with the sizes before the access.",
                                STEPS};
static const Mistake HOST_POINTER = {
    "host pointer in a kernel",
    "A kernel accesses host memory. Use device memory instead: x, out, shared memory, or memory from cudaMalloc.",
    "docs/20_the_first_kernel.md#host-and-device"};

enum { SIDE = 1024 };
static const Scored SCORED = {.gpu = "v100",
                              .size = "1024 x 1024 floats",
                              .blocks = 64,
                              .naive = 33.6e-6,
                              .reference = 11.4e-6,
                              .steps = {1.5, 2.2, 2.9}};

static void ask(Case *c, int64_t rows, int64_t columns) {
  give_array(c, "x", draw_array(c, FY_FLOAT32, shape(rows, columns), -99, 99), (Give){.device = "cuda:0"});
}
static void ask_odd(Case *c) {
  ask(c, draw_odd(c, 65, 199), draw_odd(c, 65, 199));
}
// Whole tiles in one direction only.
static void ask_whole_rows(Case *c) {
  ask(c, 64 * draw_int(c, 1, 2), draw_odd(c, 65, 199));
}
static void ask_whole_columns(Case *c) {
  ask(c, draw_odd(c, 65, 199), 64 * draw_int(c, 1, 2));
}
static void ask_whole(Case *c) {
  ask(c, 32 * draw_int(c, 1, 3), 64 * draw_int(c, 2, 3));
}
// After a call with the same memory, in which x is all zeros.
static void ask_twice(Case *c) {
  ask_odd(c);
  give_number(c, "before", 1);
}
static void ask_narrow(Case *c) {
  ask(c, draw_odd(c, 33, 99), 1);
}
// More tiles than a limited number of blocks, and more rows than a grid has blocks in y.
static void ask_tall(Case *c) {
  ask(c, draw_odd(c, 66001, 70001), 3);
}
static void ask_very_tall(Case *c) { // more pairs of rows as well
  ask(c, draw_odd(c, 131073, 140001), 2);
}
static void ask_scored(Case *c) {
  ask(c, SIDE, SIDE);
}
static void ask_near(Case *c) {
  ask(c, SIDE - draw_odd(c, 1, 63), SIDE + draw_odd(c, 1, 63));
}

static Array *transposed(Case *c) {
  const Array *x = given(c, "x");
  const int64_t rows = x->shape.size[0], columns = x->shape.size[1];
  Array *out = new_array(c, FY_FLOAT32, shape(columns, rows));
  for (int64_t i = 0; i < rows; i++)
    for (int64_t j = 0; j < columns; j++)
      out->f32[j * rows + i] = x->f32[i * columns + j];
  return out;
}

// Are exactly those elements of out unwritten whose indices are outside of x? A store past the end of a row of out reaches the next
// one, so that one more row may be written in part.
static bool checks_not_swapped(const Case *c, const Array *out) {
  const int64_t rows = given(c, "x")->shape.size[0], columns = given(c, "x")->shape.size[1];
  if (!out || rows == columns)
    return false;
  for (int64_t j = 0; j < columns; j++)
    for (int64_t i = 0; i < rows; i++) {
      const bool outside = j >= rows || i >= columns;
      if (array_is_filling(out, j * rows + i) != outside && (j != rows || rows > columns))
        return false;
    }
  return true;
}

static bool is_outside(const Case *c, const Array *out) {
  return has_finding(c, "bounds-global") || strstr(got_error(c), ": it reads ") ||
         strstr(got_error(c), ": it writes ") || (out && out->flags & ARRAY_GUARD_BROKEN);
}

static bool judge_values(Case *c) {
  const Array *want = transposed(c), *x = given(c, "x"), *out = got_shaped(c, "out", want->shape);
  const int64_t rows = x->shape.size[0], columns = x->shape.size[1];
  const bool by_order = case_schedule(c) == SCHEDULE_THREADS_DOWN || case_schedule(c) == SCHEDULE_WITHIN_BLOCKS;
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
  suspect_that(c, zeros, &CACHED);
  suspect_that(c, counts(c)->launches == 0, &NO_KERNEL);
  suspect_error(c, "is not a multiple of ", &MISALIGNED);
  suspect_finding(c, "misaligned", &MISALIGNED);
  suspect_finding(c, "illegal", &HOST_POINTER);
  suspect_finding(c, "argument", &HOST_POINTER);
  suspect_sure(c, is_outside(c, out), &OUTSIDE);
  suspect_faults(c);
  suspect_finding(c, "race-block", &NO_BARRIER);
  suspect_finding(c, "race-warp", &NO_BARRIER);
  suspect_that(c, by_order && !*got_error(c), &NO_BARRIER);
  suspect_that(c, checks_not_swapped(c, out), &SWAPPED_CHECK);
  suspect_that(c, !right && copied && rows > 1 && columns > 1, &NOT_TRANSPOSED);
  suspect_that(c, !right && inside && rows >= 32 && columns >= 32 && (rows % 32 || columns % 32), &EDGES);
  return expect_array(c, "out", want, 0) && expect_by_kernel(c);
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
      &UNCOALESCED);
  expect_score(c, (Least){.loaded = bytes, .stored = bytes, .share = share}, slow);
}
static void judge_scored(Case *c) {
  judge_score(c, 0, &NOT_FASTER);
}
static void judge_near(Case *c) {
  judge_score(c, (double)given(c, "x")->count / (SIDE * SIDE), &ONE_SIZE);
}

EXERCISE = {
    .id = "23_3_fast_transpose",
    .title = "Performance challenge: transpose",
    .after_pass =
        "A transpose is memory-bound: if both its loads and its stores are coalesced, it is about as fast as a copy.",
    .kind = "kernel",
    .chapter = 23,
    .level = LEVEL_HARD,
    .minutes = 60,
    .lesson = LESSON "#matrix-transpose-step-by-step",
    .open = true,
    .hints =
        {"Run ./ferry inspect --gpu v100 work/23_3_fast_transpose.cu. Which line takes more sectors than the ideal?",
         "A tile in shared memory lets a block read along rows of x and write along rows of out (exercise 23.1).",
         "In a tile that is 32 floats wide, all elements of a column are in the same bank. Add a padding word to each "
         "row of the tile.",
         "Let each thread move four elements: use 32 x 8 threads for a tile of 32 x 32. This keeps more loads in "
         "flight."},
    .functions = {"transpose_on_device"},
    .tests = {{.name = "whole tiles", .ask = ask_whole, .judge = judge_inspected, .inspect = true},
              {.name = "odd sizes", .ask = ask_odd, .judge = judge_inspected, .inspect = true},
              {.name = "scored", .ask = ask_scored, .judge = judge_scored, .scored = &SCORED},
              {.name = "other sizes", .ask = ask_near, .judge = judge_near, .scored = &SCORED},
              {.name = "rows of whole tiles", .ask = ask_whole_rows, .judge = judge_inspected, .inspect = true},
              {.name = "columns of whole tiles", .ask = ask_whole_columns, .judge = judge_inspected, .inspect = true},
              {.name = "odd sizes: order of threads and blocks", .ask = ask_odd, .judge = judge},
              {.name = "one column", .ask = ask_narrow, .judge = judge},
              {.name = "very many rows", .ask = ask_tall, .judge = judge, .schedules = 3},
              {.name = "more pairs of rows than blocks in y", .ask = ask_very_tall, .judge = judge, .schedules = 1},
              {.name = "the second call", .ask = ask_twice, .judge = judge, .schedules = 1}},
};
