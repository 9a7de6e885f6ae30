// SPDX-License-Identifier: MIT
// Exercise 26.1: a matrix product through shared tiles, judged by its values and by how often global memory is read. The
// elements are few quarters: every order of adding is exact.
#include "exercise.h"
#include <math.h>
#include <string.h>

static const Mistake READ_TOO_OFTEN = {
    "global memory read too often",
    "Each thread fetched its row of a or its column of b itself, so the same elements came from global memory again "
    "and "
    "again. Both operands need a tile in __shared__ memory that the whole block fills once and uses.",
    "docs/26_the_matrix_product.md#tiles-in-shared-memory"};
static const Mistake NOT_COUNTED = {"reads past load",
                                    "The kernel has to read a and b through load, because that is what is counted.",
                                    "docs/26_the_matrix_product.md#tiles-in-shared-memory"};
static const Mistake NO_BARRIER = {"a barrier is missing",
                                   "There are two for each step: __syncthreads() after the tiles were written, before "
                                   "any thread reads them, and another "
                                   "before the next tiles overwrite what a slower thread still needs.",
                                   "docs/26_the_matrix_product.md#tiles-in-shared-memory"};
static const Mistake DIVERGENT = {"a barrier that some threads do not reach",
                                  "Threads outside of c returned before __syncthreads(), or skipped it in a branch. "
                                  "They must load zeros and reach every barrier; guard only the last store.",
                                  "docs/26_the_matrix_product.md#tiles-in-shared-memory"};
static const Mistake STEPS_DOWN = {"the last, partial tile left out",
                                   "k divided by the tile's width is rounded down, so the last products were never "
                                   "added. Round the number of steps up.",
                                   "docs/26_the_matrix_product.md#tiles-in-shared-memory"};
static const Mistake LAST_TILE = {"only the last tile",
                                  "The sum began anew at every step. It belongs before the loop over the tiles.",
                                  "docs/26_the_matrix_product.md#tiles-in-shared-memory"};
static const Mistake BEYOND = {"tiles not filled with zeros",
                               "Where a tile reaches beyond its matrix it held something: an element of the next row, "
                               "of the step before, or the last one once more. Zeros have "
                               "to be written there, at each step, and in both tiles: an infinity times 0 is NaN.",
                               "docs/26_the_matrix_product.md#tiles-in-shared-memory"};
static const Mistake OUTSIDE_LOAD = {"reads outside of the matrices",
                                     "The result is right, but memory behind a or b was read: it may belong to others, "
                                     "or not exist. Compare row and column "
                                     "before loading.",
                                     "docs/26_the_matrix_product.md#tiles-in-shared-memory"};
static const Mistake WRAPPED = {"written to the next row",
                                "A thread beyond the last column has no element, and i * n + j is one of the next row: "
                                "ask for the column and for the row.",
                                "docs/26_the_matrix_product.md#tiles-in-shared-memory"};
static const Mistake B_TURNED = {"b taken for its transpose",
                                 "b[i][j] is b[i * n + j]: b has n columns, and the inner index is its row.",
                                 "docs/26_the_matrix_product.md#a-thread-for-each-element"};
static const Mistake ADDED = {"added to what was there", "c holds anything before; the product replaces it.",
                              "docs/26_the_matrix_product.md#a-thread-for-each-element"};
static const Mistake LAUNCHES = {
    "a launch for every step",
    "The loop over the tiles is on the host. In the kernel, the sums stay in registers from one tile to the next.",
    "docs/26_the_matrix_product.md#tiles-in-shared-memory"};

static const Mistake NO_TILE = {"no shared tile",
                                "There was not one barrier, so no tile was brought by the threads of a block together.",
                                "docs/26_the_matrix_product.md#tiles-in-shared-memory"};
static const Mistake BLOCKS_MEET = {
    "blocks that add to the same element",
    "Several blocks add to one element of c without an atomic operation. They run in any order and "
    "side by side: let one block add up all of its tile's sum.",
    "docs/26_the_matrix_product.md#tiles-in-shared-memory"};
static const Mistake ZEROS_SKIPPED = {"products by 0 left out",
                                      "A 0 of one matrix is multiplied like any other element: where it meets an "
                                      "infinity of the other, the sum is NaN.",
                                      "docs/26_the_matrix_product.md#tiles-in-shared-memory"};
static const Mistake WHOLE_NUMBERS = {"added as whole numbers",
                                      "The matrices hold floats, and somewhere on the way an int took their place.",
                                      "docs/26_the_matrix_product.md#tiles-in-shared-memory"};

// Odd numbers of quarters: none is whole, and every order of adding is exact.
static Array *in_quarters(Case *c, const Array *whole) {
  Array *a = array_cast(c, whole, FY_FLOAT32);
  for (int64_t i = 0; i < a->count; i++)
    a->f32[i] = (float)(2 * whole->i32[i] + 1) / 4;
  return a;
}

// Behind each operand lie elements that are not zero.
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
// Zeros in all rows of a: a whole tile of whatever width.
enum { ZEROS_BEGIN = 32, ZEROS_END = 64 };
// Infinite are elements from which somebody might make a zero, by multiplying with 0: the first, the last, one with which a row
// begins (behind the end of the one before) and one with which it ends. A 0 of each matrix meets an infinity of the other.
static void ask_infinite(Case *c) {
  const int64_t m = draw_odd(c, 33, 45), n = draw_odd(c, 51, 63), k = draw_odd(c, 65, 71);
  Array *a = draw_a(c, m, k), *b = draw_b(c, n, k);
  a->f32[0] = a->f32[draw_int(c, 10, 19) * k] = a->f32[draw_int(c, 20, 29) * k + k - 1] = a->f32[m * k - 1] = INFINITY;
  b->f32[0] = b->f32[(k - 1) * n] = b->f32[(k - 1) * n + draw_int(c, 20, 29)] = b->f32[k * n - 1] = INFINITY;
  for (int64_t i = 0; i < m; i++) // a tile of zeros, which infinities meet
    for (int64_t l = ZEROS_BEGIN; l < ZEROS_END; l++)
      a->f32[i * k + l] = 0;
  b->f32[draw_int(c, ZEROS_BEGIN, ZEROS_END - 1) * n + draw_int(c, 30, 40)] = INFINITY;
  a->f32[draw_int(c, 2, 8) * k + k - 1] = b->f32[(k - 1) * n + draw_int(c, 2, 8)] = 0;
  ask_with(c, a, b, m, n, k);
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

// The product over the inner indices begin .. end - 1; b as it is, or as if it were stored turned.
static Array *product(Case *c, int64_t begin, int64_t end, bool turned) {
  int64_t m = size_of(c, "m"), n = size_of(c, "n"), k = size_of(c, "k");
  const float *a = given(c, "a")->f32, *b = given(c, "b")->f32;
  Array *result = new_array(c, FY_FLOAT32, shape(m, n));
  for (int64_t i = 0; i < m; i++)
    for (int64_t j = 0; j < n; j++)
      for (int64_t p = begin; p < end; p++)
        result->f32[i * n + j] += a[i * k + p] * b[turned ? j * k + p : p * n + j];
  return result;
}

static bool counted(const Case *c) {
  return !isnan(got_number(c, "loads"));
}

// Whether the barriers are `each` for every step of some tile. Sizes at which the steps of one width are twice those of another
// say nothing: then both hold.
static bool barriers_each(const Case *c, int64_t each) {
  int64_t k = size_of(c, "k"), barriers = got_count(c, "barriers");
  for (int64_t tile = 8; tile <= 32; tile *= 2)
    if (barriers == each * ((k + tile - 1) / tile))
      return true;
  return false;
}

// Of the elements: NaN as fresh memory holds it, NaN as those find it who go past load, and what fresh shared memory makes of a sum.
static void odd_ones(const Array *a, int64_t *fresh, int64_t *past_load, int64_t *huge) {
  *fresh = *past_load = *huge = 0;
  for (int64_t i = 0; a && i < a->count; i++) {
    bool is_fresh = memcmp(&a->f32[i], "\xff\xff\xff\xff", sizeof(float)) == 0;
    *fresh += is_fresh;
    *past_load += isnan(a->f32[i]) && !is_fresh && !signbit(a->f32[i]);
    *huge += fabsf(a->f32[i]) > 1e30f;
  }
}

// The product, and what was left in the tiles from the step before where they reach beyond k.
static Array *with_stale(Case *c, int64_t tile) {
  int64_t k = size_of(c, "k"), end = (k + tile - 1) / tile * tile;
  Array *sum = product(c, 0, k, false);
  const Array *stale = product(c, k - tile, end - tile, false);
  for (int64_t i = 0; i < sum->count; i++)
    sum->f32[i] += stale->f32[i];
  return sum;
}

// The product, and the last column of a by the last row of b for each place of the tile beyond k.
static Array *with_last_again(Case *c, int64_t tile) {
  int64_t n = size_of(c, "n"), k = size_of(c, "k"), beyond = (tile - k % tile) % tile;
  Array *sum = product(c, 0, k, false);
  const float *a = given(c, "a")->f32, *b = given(c, "b")->f32;
  for (int64_t i = 0; i < sum->count; i++)
    sum->f32[i] += (float)beyond * a[i / n * k + k - 1] * b[(k - 1) * n + i % n];
  return sum;
}

// Whether NaNs are where none should be, as an infinity times 0 is one, and all else is right.
static bool infinity_times_zero(const Case *c, const Array *want) {
  const Array *result = got_shaped(c, "c", want->shape);
  int64_t times = 0;
  for (int64_t i = 0; result && i < want->count; i++) {
    const float wanted = want->f32[i], x = result->f32[i];
    if (isnan(x) && !isnan(wanted) && signbit(x) && !array_is_filling(result, i)) // no NaN of those that one may read
      times++;
    else if (x != wanted && !(isnan(x) && isnan(wanted)))
      return false;
  }
  return times > 0;
}

// Without the products that have a factor of 0: in a, in b, or in either; of a from place `begin` to `end` of its rows.
static Array *without_zeros(Case *c, bool of_a, bool of_b, int64_t begin, int64_t end) {
  const int64_t m = size_of(c, "m"), n = size_of(c, "n"), k = size_of(c, "k");
  const float *a = given(c, "a")->f32, *b = given(c, "b")->f32;
  Array *result = new_array(c, FY_FLOAT32, shape(m, n));
  for (int64_t i = 0; i < m * n; i++)
    for (int64_t p = 0; p < k; p++) {
      const float x = a[i / n * k + p], y = b[p * n + i % n];
      if (!(of_a && x == 0 && p >= begin && p < end) && !(of_b && y == 0))
        result->f32[i] += x * y;
    }
  return result;
}

static bool same(const Array *a, const Array *b) {
  for (int64_t i = 0; i < b->count; i++)
    if (a->f32[i] != b->f32[i] && !(isnan(a->f32[i]) && isnan(b->f32[i])))
      return false;
  return true;
}

// NaN where an infinity meets a 0.
static bool expect_nans(Case *c, const Array *want) {
  const Array *result = got_shaped(c, "c", want->shape);
  for (int64_t i = 0; result && i < want->count; i++)
    if (isnan(want->f32[i]) && !isnan(result->f32[i])) {
      const bool skipped = same(result, without_zeros(c, true, false, 0, INT64_MAX)) ||
                           same(result, without_zeros(c, false, true, 0, INT64_MAX)) ||
                           same(result, without_zeros(c, true, true, 0, INT64_MAX)) ||
                           same(result, without_zeros(c, true, false, ZEROS_BEGIN, ZEROS_END));
      return expect_that(c, false,
                         skipped                    ? &ZEROS_SKIPPED
                         : counts(c)->launches == 0 ? &NO_KERNEL
                                                    : NULL,
                         "c[%lld, %lld]: expected nan, got %g", (long long)(i / size_of(c, "n")),
                         (long long)(i % size_of(c, "n")), (double)result->f32[i]);
    }
  return true;
}

// Right, but for zeros where a row begins: as far as the tiles reach beyond the row before it.
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

static Array *floors(Case *c, const Array *of) {
  Array *whole = array_cast(c, of, FY_FLOAT32);
  for (int64_t i = 0; i < whole->count; i++)
    whole->f32[i] = floorf(whole->f32[i]);
  return whole;
}

static void suspect_tiles(Case *c, int64_t tile) {
  int64_t k = size_of(c, "k"), whole = k / tile * tile, all = (k + tile - 1) / tile * tile;
  if (k % tile != 0) {
    suspect_array(c, "c", product(c, 0, whole, false), &STEPS_DOWN);
    suspect_array(c, "c", product(c, 0, all, false), &BEYOND);
    suspect_array(c, "c", with_last_again(c, tile), &BEYOND);
  }
  if (k > tile) {
    suspect_array(c, "c", product(c, k % tile ? whole : k - tile, k, false), &LAST_TILE);
    if (k % tile != 0)
      suspect_array(c, "c", with_stale(c, tile), &BEYOND);
  }
}

static void suspect_mistakes(Case *c, const Array *want) {
  int64_t k = size_of(c, "k"), fresh, past_load, huge;
  CaseSchedule schedule = case_schedule(c);
  const Array *result = got(c, "c");
  suspect_error(c, "divergent", &DIVERGENT);
  suspect_faults(c);
  suspect_that(c, counts(c)->launches == 0, &NO_KERNEL);
  suspect_that(c, counts(c)->launches > 1, &LAUNCHES);
  suspect_that(c, counts(c)->device_to_host > 0, &COMPUTED_ON_HOST);
  if (schedule != SCHEDULE_IN_ORDER && !*got_error(c)) {
    suspect_that(c, schedule == SCHEDULE_THREADS_DOWN || schedule == SCHEDULE_WITHIN_BLOCKS, &NO_BARRIER);
    suspect_that(c, schedule == SCHEDULE_BLOCKS_DOWN || schedule == SCHEDULE_BETWEEN_BLOCKS, &BLOCKS_MEET);
    return;
  }
  suspect_that(c, infinity_times_zero(c, want), &BEYOND);
  for (int64_t tile = 8; tile <= 32; tile *= 2) {
    suspect_tiles(c, tile);
    suspect_that(c, wrapped(c, want, tile), &WRAPPED);
  }
  if (k > 1)
    suspect_array(c, "c", product(c, 0, k, true), &B_TURNED);
  suspect_array(c, "c", floors(c, want), &WHOLE_NUMBERS);
  suspect_finding(c, "race-block", &NO_BARRIER);
  suspect_finding(c, "race-warp", &NO_BARRIER);
  odd_ones(result, &fresh, &past_load, &huge);
  suspect_that(c, counted(c) && past_load > 0 && huge == 0, &NOT_COUNTED);
  suspect_that(c, result && fresh == result->count && counted(c) && got_count(c, "loads") > 0, &ADDED);
  suspect_that(c, fresh == 0 && counted(c) && barriers_each(c, got_count(c, "barriers") > 0) && !barriers_each(c, 2),
               &NO_BARRIER);
  suspect_that(c, huge > 0 && counted(c) && barriers_each(c, 2) && !barriers_each(c, 1) && k % 8 != 0, &BEYOND);
}

static void judge(Case *c) {
  int64_t m = size_of(c, "m"), n = size_of(c, "n"), k = size_of(c, "k");
  const Array *want = product(c, 0, k, false);
  if (!expect_nans(c, want))
    return;
  if (!expect_array(c, "c", want, 0)) {
    suspect_mistakes(c, want);
    return;
  }
  expect_by_kernel(c);
  expect_at_most(c, "launches", counts(c)->launches, 1, &LAUNCHES);
  if (!counted(c))
    return;
  int64_t loads = got_count(c, "loads");
  expect_at_least(c, "elements read by load", loads, m * k + k * n, &NOT_COUNTED);
  if (m % 32 == 0 && n % 32 == 0 && k % 32 == 0 &&
      expect_at_most(c, "elements read by load", loads, 2 * m * n * k / 8, &READ_TOO_OFTEN))
    expect_at_least(c, "barriers", got_count(c, "barriers"), 1, &NO_TILE);
  expect_exactly(c, "elements read outside of a and b", got_count(c, "loads outside"), 0, &OUTSIDE_LOAD);
}

// Threads that see each other's accesses: what every order of them hides is found here.
static void judge_inspected(Case *c) {
  const Array *want = product(c, 0, size_of(c, "k"), false);
  for (int64_t tile = 8; tile <= 32; tile *= 2) // a race between blocks, too
    suspect_that(c, wrapped(c, want, tile), &WRAPPED);
  suspect_finding(c, "race-grid", &BLOCKS_MEET);
  suspect_that(c, has_finding(c, "bounds") && got_count(c, "loads outside") > 0, &OUTSIDE_LOAD);
  if (!expect_array(c, "c", want, 0))
    suspect_mistakes(c, want);
  else if (!counted(c) ||
           expect_exactly(c, "elements read outside of a and b", got_count(c, "loads outside"), 0, &OUTSIDE_LOAD))
    expect_no_finding(c);
}

EXERCISE = {
    .id = "26_1_tiled_matmul",
    .title = "Tiled matrix multiplication",
    .after_pass = "A tile read once into shared memory serves a whole block, which divides the traffic by its width.",
    .kind = "kernel",
    .chapter = 26,
    .level = LEVEL_MEDIUM,
    .minutes = 40,
    .essential = true,
    .lesson = "docs/26_the_matrix_product.md#tiles-in-shared-memory",
    .hints =
        {"In the step that begins at `begin`, thread (x, y) brings a[row][begin + x] and b[begin + y][column].",
         "Then it adds a_tile[y][i] * b_tile[i][x] for all i of the tile to a sum of its own that lives in a register.",
         "A barrier stands on both sides of that inner loop, and all threads come to it, also those outside of c.",
         "A thread whose element does not exist writes 0 to its place of the tile."},
    .functions = {"matmul_on_device"},
    // Looked at first: what was not waited for is a finding there, and elsewhere only a wrong number.
    .tests = {{.name = "what its threads share", .inspect = true, .ask = ask_odd, .judge = judge_inspected},
              {.name = "odd sizes", .ask = ask_odd, .judge = judge},
              {.name = "infinite elements", .ask = ask_infinite, .judge = judge},
              {.name = "tall", .ask = ask_tall, .judge = judge},
              {.name = "whole tiles: values and traffic", .ask = ask_whole, .judge = judge},
              {.name = "smaller than a tile", .ask = ask_small, .judge = judge},
              {.name = "a long inner size", .ask = ask_long, .judge = judge},
              {.name = "an inner size of one", .ask = ask_outer, .judge = judge}},
};
