// SPDX-License-Identifier: MIT
// Exercise 27.1: a matrix product through shared tiles, judged by its values and by the loads from global memory. The
// elements are small multiples of a quarter: every order of adding is exact.
#include "exercise.h"
#include <math.h>
#include <string.h>

#define LESSON "docs/27_the_matrix_product.md"
#define TILES LESSON "#tiling-in-shared-memory"

static const Mistake READ_TOO_OFTEN = {
    "redundant global loads",
    "The threads of a block load the same elements from global memory many times. Stage a tile of a and a tile of b in "
    "__shared__ memory, and read the elements from there.",
    TILES};
static const Mistake NOT_COUNTED = {
    "reads that bypass load",
    "Read a and b only with load(&a[i]) and load(&b[i]). The grader counts these calls; direct reads return NaN.",
    TILES};
static const Mistake NO_BARRIER = {"missing barrier",
                                   "Each step needs two barriers: one after the tiles are written, and one before the "
                                   "next step overwrites them.",
                                   TILES};
static const Mistake DIVERGENT = {
    "divergent barrier",
    "Threads whose element is outside of c returned before a barrier, or skipped it in a branch. Let every thread "
    "write its elements of the tiles (0 past the end of a or b) and reach every barrier. Guard only the store to c.",
    TILES};
static const Mistake STEPS_DOWN = {"number of tiles rounded down",
                                   "k / TILE rounds down, so the last products are missing. Round the number of steps "
                                   "up.",
                                   TILES};
static const Mistake LAST_TILE = {
    "sum reset in every step",
    "The result contains only the products of the last step. Set the sum to 0 once, before the loop over the tiles.",
    TILES};
static const Mistake NO_ZEROS = {"missing zero padding",
                                 "Past the end of k, the tiles contain elements that do not belong to the product, and "
                                 "the kernel adds them to the sums. Store 0 at these positions in each step.",
                                 TILES};
static const Mistake OUTSIDE = {"out-of-bounds read",
                                "The kernel reads past the end of a or b. Before each load, compare the row, the "
                                "column and the position along k with the sizes.",
                                TILES};
static const Mistake WRAPPED = {"missing column check",
                                "A thread past the last column writes to the next row of c. Check the row and the "
                                "column before the store.",
                                TILES};
static const Mistake TRANSPOSED = {"transposed operand",
                                   "The kernel reads b as if it were stored transposed. b[i][j] is b[i * n + j].",
                                   LESSON "#naive-kernel-one-thread-per-element"};
static const Mistake INTEGER_SUM = {"integer accumulator",
                                    "An int holds the sum, so each addition drops the fraction. Use a float.", TILES};
static const Mistake BLOCKS_RACE = {"data race between blocks",
                                    "Several blocks update the same element of c without an atomic operation. Let one "
                                    "block compute the whole sum, or use atomicAdd.",
                                    TILES};
static const Mistake LAUNCHES = {"one launch per tile",
                                 "The host loops over the tiles, so c is read and written in each launch. Put the loop "
                                 "into the kernel, and keep the sums in registers.",
                                 TILES};
static const Mistake CONFLICTS = {"bank conflicts",
                                  "Several lanes of a warp access different words of the same bank. Let neighboring "
                                  "lanes use neighboring words, or pad each row of the tile by one word.",
                                  "docs/23_shared_memory.md#banks-and-bank-conflicts"};

// Odd numbers of quarters: none is whole, and every order of adding is exact.
static Array *in_quarters(Case *c, const Array *whole) {
  Array *a = array_cast(c, whole, FY_FLOAT32);
  for (int64_t i = 0; i < a->count; i++)
    a->f32[i] = (float)(2 * whole->i32[i] + 1) / 4;
  return a;
}

// Past the end of each operand there are elements that are not zero.
static void ask_with(Case *c, Array *a, Array *b, int64_t m, int64_t n, int64_t k) {
  give_array(c, "a", a, (Give){.device = "cuda:0"});
  give_array(c, "b", b, (Give){.device = "cuda:0"});
  give_number(c, "m", (double)m);
  give_number(c, "n", (double)n);
  give_number(c, "k", (double)k);
}
static Array *draw_a(Case *c, int64_t m, int64_t k) {
  return in_quarters(c, draw_array(c, FY_INT32, shape((m + 32) * k + 32), 1, 5));
}
static Array *draw_b(Case *c, int64_t n, int64_t k) {
  return in_quarters(c, draw_array(c, FY_INT32, shape((k + 32) * n + 32), 1, 5));
}
static void ask(Case *c, int64_t m, int64_t n, int64_t k) {
  ask_with(c, draw_a(c, m, k), draw_b(c, n, k), m, n, k);
}
static void ask_odd(Case *c) {
  ask(c, draw_odd(c, 33, 45), draw_odd(c, 51, 63), draw_odd(c, 65, 71));
}
static void ask_tall(Case *c) {
  ask(c, draw_odd(c, 101, 131), draw_odd(c, 17, 31), draw_odd(c, 65, 71));
}
static void ask_whole(Case *c) {
  ask(c, 64, 96, 32 * draw_int(c, 4, 5));
}
static void ask_small(Case *c) {
  ask(c, 3, 5, 7);
}
static void ask_long(Case *c) {
  ask(c, 3, 2, draw_odd(c, 301, 399));
}
static void ask_outer(Case *c) {
  ask(c, draw_odd(c, 35, 47), draw_odd(c, 51, 63), 1);
}

static int64_t size_of(const Case *c, const char *name) {
  return (int64_t)given_number(c, name);
}

// The product over the inner indices begin .. end - 1; b as it is, or as if it were stored transposed.
static Array *product(Case *c, int64_t begin, int64_t end, bool transposed) {
  int64_t m = size_of(c, "m"), n = size_of(c, "n"), k = size_of(c, "k");
  const float *a = given(c, "a")->f32, *b = given(c, "b")->f32;
  Array *result = new_array(c, FY_FLOAT32, shape(m, n));
  for (int64_t i = 0; i < m; i++)
    for (int64_t j = 0; j < n; j++)
      for (int64_t p = begin; p < end; p++)
        result->f32[i * n + j] += a[i * k + p] * b[transposed ? j * k + p : p * n + j];
  return result;
}

static bool counted(const Case *c) {
  return !isnan(got_number(c, "loads"));
}

// Some elements are the NaN that direct reads of a and b return, and none is the NaN of uninitialized memory.
static bool bypassed(const Case *c, const Array *a) {
  int64_t direct = 0;
  for (int64_t i = 0; a && i < a->count; i++) {
    if (array_is_filling(a, i))
      return false;
    direct += isnan(a->f32[i]) && !signbit(a->f32[i]);
  }
  return counted(c) && !case_inspected(c) && direct > 0;
}

// The product, and once more the products of the step before where the tiles reach past the end of k.
static Array *with_stale(Case *c, int64_t tile) {
  int64_t k = size_of(c, "k"), end = (k + tile - 1) / tile * tile;
  Array *sum = product(c, 0, k, false);
  const Array *stale = product(c, k - tile, end - tile, false);
  for (int64_t i = 0; i < sum->count; i++)
    sum->f32[i] += stale->f32[i];
  return sum;
}

// The product, and the last column of a by the last row of b for each position of the tile past the end of k.
static Array *with_last_again(Case *c, int64_t tile) {
  int64_t n = size_of(c, "n"), k = size_of(c, "k"), beyond = (tile - k % tile) % tile;
  Array *sum = product(c, 0, k, false);
  const float *a = given(c, "a")->f32, *b = given(c, "b")->f32;
  for (int64_t i = 0; i < sum->count; i++)
    sum->f32[i] += (float)beyond * a[i / n * k + k - 1] * b[(k - 1) * n + i % n];
  return sum;
}

// Right, except for zeros where a row begins: as far as the tiles reach past the end of the row before it.
static bool wrapped(const Case *c, const Array *want, int64_t tile) {
  const Array *result = got_shaped(c, "c", want->shape);
  int64_t n = size_of(c, "n"), beyond = (tile - n % tile) % tile, zeros = 0;
  for (int64_t i = 0; result && i < want->count; i++)
    if (result->f32[i] != want->f32[i]) {
      if (result->f32[i] != 0 || i < n || i % n >= beyond)
        return false;
      zeros++;
    }
  return zeros > 0;
}

// The product when each partial sum is truncated to an int.
static Array *in_integers(Case *c) {
  const int64_t m = size_of(c, "m"), n = size_of(c, "n"), k = size_of(c, "k");
  const float *a = given(c, "a")->f32, *b = given(c, "b")->f32;
  Array *result = new_array(c, FY_FLOAT32, shape(m, n));
  for (int64_t i = 0; i < m * n; i++)
    for (int64_t p = 0; p < k; p++)
      result->f32[i] = truncf(result->f32[i] + a[i / n * k + p] * b[p * n + i % n]);
  return result;
}

static void suspect_tiles(Case *c, int64_t tile) {
  int64_t k = size_of(c, "k"), whole = k / tile * tile, all = (k + tile - 1) / tile * tile;
  if (k % tile != 0) {
    if (whole > 0)
      suspect_array(c, "c", product(c, 0, whole, false), &STEPS_DOWN);
    suspect_array(c, "c", product(c, 0, all, false), &NO_ZEROS);
    suspect_array(c, "c", with_last_again(c, tile), &NO_ZEROS);
  }
  if (k > tile) {
    suspect_array(c, "c", product(c, k % tile ? whole : k - tile, k, false), &LAST_TILE);
    if (k % tile != 0)
      suspect_array(c, "c", with_stale(c, tile), &NO_ZEROS);
  }
}

static void suspect_mistakes(Case *c, const Array *want) {
  CaseSchedule schedule = case_schedule(c);
  suspect_error(c, "divergent", &DIVERGENT);
  suspect_faults(c);
  suspect_that(c, counts(c)->launches == 0, &NO_KERNEL);
  suspect_that(c, counts(c)->device_to_host > 0 && counted(c) && got_count(c, "loads") == 0, &COMPUTED_ON_HOST);
  if (schedule != SCHEDULE_IN_ORDER && !*got_error(c)) {
    suspect_that(c, schedule == SCHEDULE_THREADS_DOWN || schedule == SCHEDULE_WITHIN_BLOCKS, &NO_BARRIER);
    suspect_that(c, schedule == SCHEDULE_BLOCKS_DOWN || schedule == SCHEDULE_BETWEEN_BLOCKS, &BLOCKS_RACE);
    return;
  }
  for (int64_t tile = 8; tile <= 32; tile *= 2) {
    suspect_tiles(c, tile);
    suspect_that(c, wrapped(c, want, tile), &WRAPPED);
  }
  suspect_array(c, "c", product(c, 0, size_of(c, "k"), true), &TRANSPOSED);
  suspect_array(c, "c", in_integers(c), &INTEGER_SUM);
  suspect_finding(c, "race-block", &NO_BARRIER);
  suspect_finding(c, "race-warp", &NO_BARRIER);
  suspect_that(c, bypassed(c, got(c, "c")), &NOT_COUNTED);
}

static void judge(Case *c) {
  int64_t m = size_of(c, "m"), n = size_of(c, "n"), k = size_of(c, "k");
  const Array *want = product(c, 0, k, false);
  if (!expect_array(c, "c", want, 0)) {
    suspect_mistakes(c, want);
    return;
  }
  expect_by_kernel(c);
  expect_at_most(c, "kernel launches", counts(c)->launches, 1, &LAUNCHES);
  if (!counted(c))
    return;
  if (m % 32 == 0 && n % 32 == 0 && k % 32 == 0)
    expect_at_most(c, "calls of load", got_count(c, "loads"), m * n * k / 4, &READ_TOO_OFTEN);
  expect_exactly(c, "elements read outside of a and b", got_count(c, "loads outside"), 0, &OUTSIDE);
}

// Not every order of the threads shows a race in the values; the inspector sees each access.
static void judge_inspected(Case *c) {
  const Array *want = product(c, 0, size_of(c, "k"), false);
  for (int64_t tile = 8; tile <= 32; tile *= 2) // also a race between blocks
    suspect_that(c, wrapped(c, want, tile), &WRAPPED);
  suspect_finding(c, "race-grid", &BLOCKS_RACE);
  suspect_that(c, has_finding(c, "bounds") && got_count(c, "loads outside") > 0, &OUTSIDE);
  if (!expect_array(c, "c", want, 0)) {
    suspect_mistakes(c, want);
    return;
  }
  if (counted(c) && !expect_exactly(c, "elements read outside of a and b", got_count(c, "loads outside"), 0, &OUTSIDE))
    return;
  if (expect_no_finding(c))
    expect_wavefronts(c, 1.5, &CONFLICTS);
}

EXERCISE = {
    .id = "27_1_tiled_matmul",
    .title = "Tiled matrix multiplication",
    .after_pass = "Tiling: all threads of a block use a tile that is loaded once into shared memory, which divides the "
                  "global loads by the tile's width.",
    .kind = "kernel",
    .chapter = 27,
    .level = LEVEL_MEDIUM,
    .minutes = 40,
    .essential = true,
    .lesson = TILES,
    .stars = {{"one kernel launch", {&LAUNCHES}},
              {"no bank conflicts: at most 1.5 x the ideal wavefronts", {&CONFLICTS}}},
    .hints = {"Let a block compute a square tile of c. It moves along k in steps of TILE. In each step, each thread "
              "loads one element of a tile of a and one element of a tile of b.",
              "In the step that starts at begin, thread (x, y) loads a[row][begin + x] and b[begin + y][column]. If "
              "such an element does not exist, it stores 0 in the tile.",
              "All threads must reach both barriers: the first after the stores to the tiles, the second after the "
              "inner loop. Guard only the store to c.",
              "The inner loop is: for (int i = 0; i < TILE; i++) sum += a_tile[y][i] * b_tile[i][x];"},
    .functions = {"matmul_on_device"},
    // Inspected tests come first: elsewhere a race is only a wrong number.
    .tests = {{.name = "smaller than a tile", .inspect = true, .ask = ask_small, .judge = judge_inspected},
              {.name = "odd sizes, inspected", .inspect = true, .ask = ask_odd, .judge = judge_inspected},
              {.name = "odd sizes", .ask = ask_odd, .judge = judge},
              {.name = "whole tiles", .ask = ask_whole, .judge = judge},
              {.name = "many rows, few columns", .ask = ask_tall, .judge = judge},
              {.name = "large k", .ask = ask_long, .judge = judge},
              {.name = "k = 1", .ask = ask_outer, .judge = judge}},
};
