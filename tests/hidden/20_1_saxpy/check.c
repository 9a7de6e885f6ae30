// SPDX-License-Identifier: MIT
// Exercise 20.1: index arithmetic with a guard.
#include "exercise.h"
#include <math.h>
#include <string.h>

static const Mistake BLOCK_INDEX = {"index local to the block",
                                    "threadIdx.x alone begins at 0 again in every block. The index in the grid is "
                                    "blockIdx.x * blockDim.x + threadIdx.x.",
                                    "docs/20_the_first_kernel.md#grid-block-guard"};
static const Mistake ROUNDED_DOWN = {
    "blocks rounded down", "n / threads leaves the last, partial block out. Round up: (n + threads - 1) / threads.",
    "docs/20_the_first_kernel.md#grid-block-guard"};
static const Mistake OVERWRITTEN = {"y overwritten", "a * x is added to y; what was there counts.",
                                    "docs/20_the_first_kernel.md#five-versions-of-saxpy"};
static const Mistake EMPTY_GRID = {
    "a grid of no blocks", "For n = 0 there is nothing to launch: a grid of 0 blocks is an invalid configuration.",
    "docs/20_the_first_kernel.md#grid-block-guard"};
static const Mistake LAUNCH_EACH = {"a launch per element",
                                    "One launch has a thread for every element; a launch costs microseconds.",
                                    "docs/20_the_first_kernel.md#five-versions-of-saxpy"};
static const Mistake SEVERAL = {"more than one launch",
                                "One launch does for all elements; a launch costs microseconds.",
                                "docs/20_the_first_kernel.md#five-versions-of-saxpy"};
static const Mistake FOR_NONE = {
    "a launch for no elements",
    "For n = 0 there is nothing to do, and nothing to launch: the launch alone costs microseconds.",
    "docs/20_the_first_kernel.md#grid-block-guard"};
static const Mistake WHOLE_FACTOR = {
    "the factor rounded to a whole number",
    "a is a float, and somewhere an int took its place: what is behind the point was lost.",
    "docs/20_the_first_kernel.md#five-versions-of-saxpy"};
static const Mistake EXCHANGED = {"blocks and threads exchanged",
                                  "kernel<<<blocks, threads>>>: the number of blocks comes first. The threads of a "
                                  "block are at most 1024, whatever n is.",
                                  "docs/20_the_first_kernel.md#host-and-device"};
static const Mistake BLOCKS_IN_Y = {"blocks along y",
                                    "A grid has room for 2147483647 blocks along x and for 65535 along y: a long array "
                                    "lies along x.",
                                    "docs/20_the_first_kernel.md#grid-block-guard"};
static const Mistake CAPPED = {
    "blocks capped at 65535",
    "Elements from 65535 blocks on were left as they were. Along x a grid has room for 2147483647 "
    "blocks; with fewer than n asks for each thread needs a loop.",
    "docs/20_the_first_kernel.md#grid-block-guard"};
static const Mistake FIRST_LEFT_OUT = {"the first element left out",
                                       "Indices begin at 0: so do blockIdx.x and threadIdx.x.",
                                       "docs/20_the_first_kernel.md#grid-block-guard"};
static const Mistake SWAPPED = {"x and y exchanged", "x is what is scaled, and y what it is added to.",
                                "docs/20_the_first_kernel.md#five-versions-of-saxpy"};
static const Mistake ONE_THREAD = {
    "one thread for everything",
    "A loop over all elements in one thread uses one of the thousands of lanes of a GPU. Each "
    "thread takes its own element.",
    "docs/20_the_first_kernel.md#five-versions-of-saxpy"};
static const Mistake ONE_BLOCK = {
    "one block for everything",
    "A block runs on one multiprocessor, and the others have nothing to do. Many elements take "
    "many blocks.",
    "docs/20_the_first_kernel.md#five-versions-of-saxpy"};
static const Mistake THIN = {
    "blocks of less than a warp",
    "Threads run 32 at a time, a warp. A block of fewer leaves the others of its warp idle: let "
    "it have 256, however few elements there are.",
    "docs/21_the_machine.md#warps"};
static const Mistake ZERO_SKIPPED = {
    "a factor of 0 taken for nothing to do",
    "0 times an infinity is NaN, and so is its sum with what was in y. The formula holds for every a and every x.",
    "docs/20_the_first_kernel.md#five-versions-of-saxpy"};
static const Mistake SMALL_BLOCKS = {
    "a block for each element",
    "A block of few threads leaves most lanes of its warp of 32 idle. Let a block have "
    "whole warps, 256 threads for instance.",
    "docs/21_the_machine.md#warps"};

// a has a part behind the point, and all products and sums are exact.
static void ask(Case *c, int64_t n) {
  give_array(c, "x", draw_array(c, FY_FLOAT32, shape(n), -4, 4), (Give){.device = "cuda:0"});
  give_array(c, "y", draw_array(c, FY_FLOAT32, shape(n), -4, 4), (Give){.device = "cuda:0"});
  give_number(c, "a", (double)draw_odd(c, 9, 37) / 4);
}
static void ask_small(Case *c) {
  ask(c, draw_odd(c, 33, 99));
}
static void ask_odd(Case *c) {
  ask(c, draw_odd(c, 1025, 1999));
}
static void ask_few(Case *c) {
  ask(c, draw_odd(c, 3, 29));
}
static void ask_exact(Case *c) {
  ask(c, 1024);
}
static void ask_one(Case *c) {
  ask(c, 1);
}
// Of threads that have one element each, and of those that have four.
static void ask_one_more(Case *c) {
  ask(c, 1025);
}
// Multiples of 4, and of no block's size: the memory ends where the last element does.
static void ask_large(Case *c) {
  ask(c, 4 * draw_odd(c, 10001, 12001));
}
static void ask_millions(Case *c) {
  ask(c, draw_odd(c, 2900001, 3000001));
}
// A call for no elements comes before the one that is judged; an answer that does nothing is not right.
static void ask_none(Case *c) {
  ask(c, draw_odd(c, 33, 99));
}
// After a call with another factor y has the infinities of x. What is then skipped is left as it was.
static void ask_zero(Case *c) {
  const int64_t n = draw_odd(c, 1025, 1999);
  Array *x = draw_array(c, FY_FLOAT32, shape(n), -4, 4);
  for (int64_t i = draw_int(c, 0, 9); i < n; i += draw_int(c, 1, 19))
    x->f32[i] = i % 3 == 0 ? NAN : i % 3 == 1 ? INFINITY : -INFINITY;
  give_array(c, "x", x, (Give){.device = "cuda:0"});
  give_array(c, "y", draw_array(c, FY_FLOAT32, shape(n), -4, 4), (Give){.device = "cuda:0"});
  give_number(c, "a before", (double)draw_odd(c, 9, 37) / 4);
  give_number(c, "a", 0);
}

// So many that the driver makes them itself: all x are equal, and all y. It sends back the elements at some places.
enum { PLACES = 256 };
static void ask_huge(Case *c) {
  const int64_t n = (1 << 24) + 1024 * draw_odd(c, 1, 97); // whole pages: what is behind is seen always, or never
  Array *places = draw_array(c, FY_INT64, shape(PLACES), 0, (double)n - 1);
  places->i64[0] = n - 1;
  for (int i = 1; i < 64; i++) // about where 65535 blocks end
    places->i64[i] = 65535 * (int64_t)(i % 3 == 0 ? 128 : 256) - 32 + i;
  give_array(c, "places", places, (Give){0});
  give_number(c, "huge", (double)n);
  give_number(c, "a", (double)draw_odd(c, 9, 37) / 4);
  give_number(c, "x", (double)draw_odd(c, 1, 31) / 8);
  give_number(c, "y", (double)draw_odd(c, 1, 31) / 8);
}

static void judge_huge(Case *c) {
  const double y = given_number(c, "y"), result = given_number(c, "a") * given_number(c, "x") + y;
  const Array *places = given(c, "places"), *out = got_shaped(c, "y", places->shape);
  Array *want = new_array(c, FY_FLOAT32, places->shape);
  int64_t end[2] = {INT64_MAX, -1}; // of the elements: the first one left as it was, the last one computed
  for (int64_t i = 0; i < PLACES; i++) {
    const int64_t at = places->i64[i];
    want->f32[i] = (float)result;
    if (out && (double)out->f32[i] == y && at < end[0])
      end[0] = at;
    if (out && (double)out->f32[i] == result && at > end[1])
      end[1] = at;
  }
  const int64_t *s = launch_shape(c, 0);
  suspect_that(c, counts(c)->launches == 0, &NO_KERNEL);
  suspect_that(c, s && s[0] == 65535 && end[0] == end[1] + 1, &CAPPED);
  if (expect_array(c, "y", want, 1e-6))
    expect_at_most(c, "launches", counts(c)->launches, 1, &SEVERAL);
}

static Array *right(Case *c) {
  const Array *x = given(c, "x"), *y = given(c, "y");
  Array *want = new_array(c, FY_FLOAT32, y->shape);
  for (int64_t i = 0; i < y->count; i++)
    want->f32[i] = (float)(given_number(c, "a") * x->f32[i] + y->f32[i]);
  return want;
}

// What is there when only the elements begin .. end - 1 were computed.
static Array *partly(Case *c, const Array *all, int64_t begin, int64_t end) {
  Array *wrong = array_cast(c, given(c, "y"), FY_FLOAT32);
  for (int64_t i = begin; i < end && i < all->count; i++)
    wrong->f32[i] = all->f32[i];
  return wrong;
}

// As it should be in the first `threads` elements, and nowhere after them computed.
static bool only_first_block(const Case *c, const Array *want, int64_t threads) {
  const Array *y = got_shaped(c, "y", want->shape), *before = given(c, "y");
  int64_t untouched = 0;
  if (!y || want->count <= threads)
    return false;
  for (int64_t i = threads; i < want->count; i++)
    untouched += y->f32[i] == before->f32[i];
  int64_t computed = 0;
  for (int64_t i = 0; i < threads; i++)
    computed += y->f32[i] != before->f32[i];
  return untouched == want->count - threads && 2 * computed > threads;
}

// n / threads threads in each of `threads` blocks.
static bool refused_exchanged(const Case *c, int64_t n) {
  const int64_t *r = refused_shape(c);
  return r && r[3] > 1024 && r[0] >= 32 && r[0] <= 1024 && (r[3] == (n + r[0] - 1) / r[0] || r[3] == n / r[0]);
}

static void suspect_results(Case *c, const Array *want) {
  const Array *x = given(c, "x"), *y = given(c, "y");
  Array *product = new_array(c, FY_FLOAT32, x->shape), *cut = new_array(c, FY_FLOAT32, x->shape);
  Array *swapped = new_array(c, FY_FLOAT32, x->shape);
  double a = given_number(c, "a");
  for (int64_t i = 0; i < x->count; i++) {
    product->f32[i] = (float)(a * x->f32[i]);
    cut->f32[i] = (float)((double)(int)a * x->f32[i] + y->f32[i]);
    swapped->f32[i] = (float)(a * y->f32[i] + x->f32[i]);
  }
  suspect_array(c, "y", product, &OVERWRITTEN);
  suspect_array(c, "y", cut, &WHOLE_FACTOR);
  suspect_array(c, "y", swapped, &SWAPPED);
  if (want->count > 1) // of one alone both would leave nothing
    suspect_array(c, "y", partly(c, want, 1, want->count), &FIRST_LEFT_OUT);
  for (int64_t threads = 32; threads <= 1024 && want->count > 1; threads *= 2)
    if (want->count % threads != 0)
      suspect_array(c, "y", partly(c, want, 0, want->count / threads * threads), &ROUNDED_DOWN);
  const int64_t *shape = launch_shape(c, 0);
  suspect_that(c, only_first_block(c, want, shape ? shape[3] * shape[4] * shape[5] : 1024), &BLOCK_INDEX);
}

// A thread for each element, or a grid-stride loop, in blocks of whole warps.
static void expect_shape(Case *c, int64_t n) {
  const int64_t *s = launch_shape(c, 0);
  if (!s)
    return;
  int64_t blocks = s[0] * s[1] * s[2], threads = s[3] * s[4] * s[5];
  if (n <= 1024) {
    expect_that(c, threads >= 32, threads > 1 ? &THIN : &ONE_THREAD,
                "the launch has blocks of %lld threads; a warp has 32", (long long)threads);
    return;
  }
  expect_that(c, blocks * threads > 1, &ONE_THREAD, "the launch has one block of one thread, for %lld elements",
              (long long)n);
  expect_that(c, blocks > 1, &ONE_BLOCK, "the launch has one block, for %lld elements", (long long)n);
  bool exchanged = blocks >= 32 && blocks <= 1024 && blocks % 32 == 0 && threads == (n + blocks - 1) / blocks;
  expect_that(c, threads >= 32, exchanged ? &EXCHANGED : &SMALL_BLOCKS,
              "the launch has blocks of %lld threads; a warp has 32", (long long)threads);
  expect_that(c, s[1] * s[2] == 1, &BLOCKS_IN_Y, "the grid has %lld blocks along y and %lld along z", (long long)s[1],
              (long long)s[2]);
}

static void judge_zero(Case *c) {
  const Array *x = given(c, "x"), *y = given(c, "y"), *out = got_shaped(c, "y", y->shape);
  Array *want = new_array(c, FY_FLOAT32, y->shape);
  int64_t left = 0, no_nan = -1, launches = counts(c)->launches;
  for (int64_t i = 0; i < y->count; i++) {
    const float before = (float)given_number(c, "a before") * x->f32[i] + y->f32[i];
    want->f32[i] = isfinite(x->f32[i]) ? before : NAN;
    left += out && (out->f32[i] == before || (isnan(out->f32[i]) && isnan(before)));
    if (out && no_nan < 0 && isnan(want->f32[i]) && !isnan(out->f32[i]))
      no_nan = i;
  }
  const Mistake *skipped = left == y->count ? &ZERO_SKIPPED : launches == 0 ? &NO_KERNEL : NULL;
  if (!expect_that(c, no_nan < 0, skipped, "y[%lld]: expected nan, got %g", (long long)no_nan,
                   no_nan < 0 ? 0 : (double)out->f32[no_nan]))
    return;
  suspect_that(c, launches == 0, &NO_KERNEL);
  if (expect_array(c, "y", want, 1e-6) && expect_by_kernel(c))
    expect_at_most(c, "launches", launches, 1, &SEVERAL);
}

static void judge(Case *c) {
  const Array *want = right(c);
  int64_t n = want->count, launches = counts(c)->launches;
  bool none_before = strncmp(case_test(c), "no elements", 11) == 0;
  suspect_that(c, refused_exchanged(c, n), &EXCHANGED);
  suspect_faults(c);
  suspect_that(c, refused_empty_grid(c) && (!none_before || launches == 0), &ROUNDED_DOWN);
  suspect_that(c, refused_empty_grid(c), &EMPTY_GRID);
  suspect_that(c, launches == 0, &NO_KERNEL);
  bool computed = expect_array(c, "y", want, 1e-6);
  if (!computed && n < 200000)
    suspect_results(c, want);
  if (computed && !expect_by_kernel(c))
    return;
  const Mistake *many = none_before && launches == 2 ? &FOR_NONE : launches >= n / 2 && n > 8 ? &LAUNCH_EACH : &SEVERAL;
  expect_at_most(c, "launches", launches, 1, many);
  if (computed && launches == 1)
    expect_shape(c, n);
}

EXERCISE = {
    .id = "20_1_saxpy",
    .title = "SAXPY: one thread for each element",
    .after_pass = "A thread's index is its block's times the block's size plus its own; what is beyond n does nothing.",
    .kind = "kernel",
    .chapter = 20,
    .level = LEVEL_EASY,
    .minutes = 15,
    .essential = true,
    .lesson = "docs/20_the_first_kernel.md#grid-block-guard",
    .hints = {"A thread knows its block (blockIdx.x), the block's size (blockDim.x) and its place there (threadIdx.x).",
              "The last block has threads to spare. What do they do with an index of n or more?",
              "Blocks: (n + 255) / 256. And what if that is 0?"},
    .functions = {"saxpy_on_device"},
    .tests = {{"several blocks, odd", ask_odd, judge},
              {"small and odd", ask_small, judge},
              {"less than a warp", ask_few, judge},
              {"whole blocks", ask_exact, judge},
              {"one element", ask_one, judge},
              {"one more than whole blocks", ask_one_more, judge},
              {"large", ask_large, judge},
              {"a factor of 0, after another", ask_zero, judge_zero},
              {.name = "millions", .ask = ask_millions, .judge = judge, .schedules = 1},
              {.name = "more than sixteen million", .ask = ask_huge, .judge = judge_huge, .schedules = 1, .huge = true},
              {"no elements, then some", ask_none, judge}},
};
