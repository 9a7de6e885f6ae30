// SPDX-License-Identifier: MIT
// Exercise 27.2: a matrix product with register tiling, judged by its values and by its loads from shared memory. The elements are small
// multiples of a quarter: every order of adding is exact.
#include "exercise.h"

#define LESSON "docs/27_the_matrix_product.md"
#define REGISTERS LESSON "#register-blocking"
#define TILES LESSON "#tiling-in-shared-memory"

static const Mistake SHARED_OFTEN = {
    "too many shared-memory loads",
    "Each word from shared memory is used for too few multiply-adds. Let a thread compute 8 x 8 elements: copy 8 words "
    "of each tile into registers, then use them for all 64 products.",
    REGISTERS};
static const Mistake GLOBAL_OFTEN = {
    "redundant global loads",
    "The same elements are loaded from global memory several times. For each tile of 64 x 64 elements of c, stage "
    "tiles of a and b in shared memory, and let neighboring threads load neighboring elements.",
    TILES};
static const Mistake STEPS_DOWN = {
    "number of steps rounded down",
    "k is a multiple of 8, but not always of 16, so the last products are missing. Let the steps cover all of k.",
    TILES};
static const Mistake NO_BARRIER = {"missing barrier",
                                   "Each step needs two barriers: one after the tiles are written, and one before the "
                                   "next step overwrites them.",
                                   TILES};
static const Mistake LAST_STEP = {
    "sum reset in every step",
    "The result contains only the products of the last step. Set the sums to 0 once, before the loop over k.",
    REGISTERS};
static const Mistake ONE_ROW = {
    "same row of a for all sums",
    "All rows of c that a thread computes have the same values. For each sum, use the element of a from the same row.",
    REGISTERS};
static const Mistake TRANSPOSED = {
    "transposed operand", "The kernel reads b as if it were stored transposed. b[i][j] is b[i * n + j].", TILES};
static const Mistake STRIDE_OF_B = {"wrong row stride of b", "b has k rows of n elements: b[p][j] is b[p * n + j].",
                                    TILES};
static const Mistake STRIDE_OF_A = {"wrong row stride of a", "a has m rows of k elements: a[i][p] is a[i * k + p].",
                                    TILES};
static const Mistake SWAPPED = {
    "grid dimensions swapped",
    "blockIdx.x selects a tile within a row of tiles, so gridDim.x must be n / 64, and gridDim.y must be m / 64.",
    TILES};
static const Mistake LAUNCHES = {
    "one launch per step",
    "The host loops over k, so c is read and written in each launch. Put the loop into the "
    "kernel, and keep the sums in registers.",
    TILES};

static void ask(Case *c, int64_t m, int64_t n, int64_t k) {
  give_array(c, "a", draw_steps(c, shape(m, k), 1, 5, 0.25), (Give){.device = "cuda:0"});
  give_array(c, "b", draw_steps(c, shape(k, n), 1, 5, 0.25), (Give){.device = "cuda:0"});
  give_number(c, "m", (double)m);
  give_number(c, "n", (double)n);
  give_number(c, "k", (double)k);
}
static void ask_one(Case *c) {
  ask(c, 64, 64, 8 * draw_int(c, 3, 5));
}
static void ask_wide(Case *c) {
  ask(c, 64, 64 * draw_int(c, 2, 4), 8 * draw_int(c, 3, 6));
}
static void ask_tall(Case *c) {
  ask(c, 192, 64, 8 * draw_int(c, 3, 6));
}
static void ask_step(Case *c) {
  ask(c, 64, 128, 8);
}
static void ask_many(Case *c) {
  ask(c, 128, 192, 8 * draw_int(c, 5, 9));
}

static int64_t size_of(const Case *c, const char *name) {
  return (int64_t)given_number(c, name);
}

// The product over the inner indices begin .. end - 1; b as it is or as if it were stored transposed; each group of `group` rows of c made
// with the first row of a of that group.
static Array *product(Case *c, int64_t begin, int64_t end, bool transposed, int64_t group) {
  int64_t m = size_of(c, "m"), n = size_of(c, "n"), k = size_of(c, "k");
  const float *a = given(c, "a")->f32, *b = given(c, "b")->f32;
  Array *result = new_array(c, FY_FLOAT32, shape(m, n));
  for (int64_t i = 0; i < m; i++)
    for (int64_t j = 0; j < n; j++)
      for (int64_t p = begin; p < end; p++)
        result->f32[i * n + j] += a[i / group * group * k + p] * b[transposed ? j * k + p : p * n + j];
  return result;
}

// The product with other row lengths of a and b; 0 past their ends.
static Array *with_rows(Case *c, int64_t of_a, int64_t of_b) {
  int64_t m = size_of(c, "m"), n = size_of(c, "n"), k = size_of(c, "k");
  const Array *a = given(c, "a"), *b = given(c, "b");
  Array *result = new_array(c, FY_FLOAT32, shape(m, n));
  for (int64_t i = 0; i < m; i++)
    for (int64_t j = 0; j < n; j++)
      for (int64_t p = 0; p < k; p++) {
        const int64_t at = i * of_a + p, bt = p * of_b + j;
        if (at < a->count && bt < b->count)
          result->f32[i * n + j] += a->f32[at] * b->f32[bt];
      }
  return result;
}

// The grid counts tiles down in x and across in y.
static bool grid_is_swapped(const Case *c) {
  const int64_t *grid = launch_shape(c, 0), m = size_of(c, "m"), n = size_of(c, "n");
  return grid && m != n && grid[0] == m / 64 && grid[1] == n / 64;
}

static void suspect_mistakes(Case *c) {
  int64_t n = size_of(c, "n"), k = size_of(c, "k");
  const Array *result = got(c, "c");
  suspect_that(c, counts(c)->launches == 0, &NO_KERNEL);
  if (k > 8)
    suspect_array(c, "c", product(c, k - 8, k, false, 1), &LAST_STEP);
  if (k > 16 && k % 16)
    suspect_array(c, "c", product(c, 0, k / 16 * 16, false, 1), &STEPS_DOWN);
  if (k > 16)
    suspect_array(c, "c", product(c, k - 16, k, false, 1), &LAST_STEP);
  suspect_array(c, "c", product(c, 0, k, true, 1), &TRANSPOSED);
  suspect_array(c, "c", product(c, 0, k, false, 8), &ONE_ROW);
  if (result && n != k) {
    suspect_array(c, "c", with_rows(c, k, k), &STRIDE_OF_B);
    suspect_array(c, "c", with_rows(c, n, n), &STRIDE_OF_A);
  }
  const bool outside = has_finding(c, "bounds") || (result && result->flags & ARRAY_GUARD_BROKEN);
  suspect_that(c, outside && grid_is_swapped(c), &SWAPPED);
  suspect_finding(c, "race-block", &NO_BARRIER);
  suspect_finding(c, "race-warp", &NO_BARRIER);
}

static void judge(Case *c) {
  int64_t m = size_of(c, "m"), n = size_of(c, "n"), k = size_of(c, "k");
  suspect_mistakes(c);
  if (!expect_array(c, "c", product(c, 0, k, false, 1), 0) || !expect_by_kernel(c))
    return;
  expect_at_most(c, "kernel launches", counts(c)->launches, 1, &LAUNCHES);
  if (!expect_no_finding(c))
    return;
  const Where all = {.in_all = true};
  expect_inspected(c, SHARED_LOADS, all, 0.6 * (double)(m * n * k), &SHARED_OFTEN);
  expect_inspected(c, SECTORS_LOADED, all, (double)(m * n * k) / 128, &GLOBAL_OFTEN);
}

EXERCISE = {
    .id = "27_2_register_tiling",
    .title = "Register tiling",
    .after_pass = "Register tiling: with 8 x 8 sums in registers, each word from shared memory is used eight times.",
    .kind = "kernel",
    .chapter = 27,
    .level = LEVEL_HARD,
    .minutes = 60,
    .lesson = REGISTERS,
    .stars = {{"one kernel launch", {&LAUNCHES}},
              {"at most m * n * k / 128 sectors loaded from global memory", {&GLOBAL_OFTEN}}},
    .hints =
        {"Let a block of 64 threads compute a tile of 64 x 64 elements. Thread t computes 8 x 8 of them, starting "
         "at column t % 8 * 8 and row t / 8 * 8.",
         "In a step of 8 along k, a's tile is 64 x 8 and b's is 8 x 64. Each has 512 elements, so every thread "
         "loads 8 elements of each. Let neighboring threads load neighboring elements.",
         "For each p of the step, load 8 words of column p of a's tile into one array, and 8 words of row p of b's "
         "tile into a second array. Then do 64 multiply-adds in two nested loops: sum[i][j] += column[i] * row[j].",
         "The kernel needs the same two barriers as in exercise 27.1: after the stores to the tiles, and after "
         "the computation."},
    .functions = {"matmul_on_device"},
    .tests = {{.name = "one tile", .ask = ask_one, .judge = judge, .inspect = true},
              {.name = "a single step", .ask = ask_step, .judge = judge, .inspect = true},
              {.name = "many rows", .ask = ask_tall, .judge = judge, .inspect = true},
              {.name = "many columns", .ask = ask_wide, .judge = judge},
              {.name = "many tiles", .ask = ask_many, .judge = judge}},
};
