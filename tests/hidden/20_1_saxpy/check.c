// SPDX-License-Identifier: MIT
// Exercise 20.1: a global index with a bounds check.
#include "exercise.h"
#include <string.h>

#define LESSON "docs/20_the_first_kernel.md"

static const Mistake BLOCK_INDEX = {"block index missing",
                                    "threadIdx.x starts again at 0 in every block. The index in the grid is "
                                    "blockIdx.x * blockDim.x + threadIdx.x.",
                                    LESSON "#grid-block-guard"};
static const Mistake ROUNDED_DOWN = {"grid size rounded down",
                                     "n / threads rounds down, so the last elements have no thread. Round up: (n + "
                                     "threads - 1) / threads.",
                                     LESSON "#grid-block-guard"};
static const Mistake OVERWRITTEN = {"y overwritten", "Add a * x[i] to the old value of y[i].",
                                    LESSON "#five-versions-of-saxpy"};
static const Mistake EMPTY_GRID = {"empty grid",
                                   "For n = 0, a grid of 0 blocks is an invalid configuration. Launch nothing.",
                                   LESSON "#grid-block-guard"};
static const Mistake LAUNCH_EACH = {"one launch per element",
                                    "A launch costs microseconds. Use one launch, with a thread for each element.",
                                    LESSON "#five-versions-of-saxpy"};
static const Mistake LAUNCHES = {"too many launches",
                                 "A launch costs microseconds. One launch is enough for all elements.",
                                 LESSON "#five-versions-of-saxpy"};
static const Mistake WHOLE_FACTOR = {
    "float truncated to int", "a is a float, but your code converts it to an int somewhere, so its fraction is lost.",
    LESSON "#five-versions-of-saxpy"};
static const Mistake CAPPED = {"capped grid without a loop",
                               "The elements after the first 65535 blocks are unchanged. A grid may have 2147483647 "
                               "blocks along x, but a smaller grid needs a grid-stride loop.",
                               LESSON "#grid-block-guard"};
static const Mistake FIRST_LEFT_OUT = {"off-by-one error", "y[0] is unchanged. Indices start at 0.",
                                       LESSON "#grid-block-guard"};
static const Mistake SWAPPED = {"x and y swapped", "You scaled y. Scale x instead, and add it to y.",
                                LESSON "#five-versions-of-saxpy"};
static const Mistake ONE_THREAD = {"serial kernel",
                                   "One thread loops over all elements, and the rest of the GPU is idle. Give each "
                                   "thread its own element.",
                                   LESSON "#five-versions-of-saxpy"};
static const Mistake ONE_BLOCK = {"single block",
                                  "A block runs on one multiprocessor, and the others are idle. Use several blocks.",
                                  LESSON "#five-versions-of-saxpy"};
static const Mistake SMALL_BLOCKS = {
    "block smaller than a warp",
    "A warp has 32 threads. A smaller block leaves lanes of its warp idle. Use whole warps, for example 256 threads.",
    "docs/21_the_machine.md#warps"};

// a has a fraction, and all products and sums are exact.
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
// More than whole blocks, both with one element per thread and with four.
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
// So many that the driver makes them itself: all x are equal, and all y. It sends back the elements at some indices.
enum { SAMPLES = 256 };
static void ask_huge(Case *c) {
  const int64_t n = (1 << 24) + 1024 * draw_odd(c, 1, 97); // whole pages
  Array *samples = draw_array(c, FY_INT64, shape(SAMPLES), 0, (double)n - 1);
  samples->i64[0] = n - 1;
  for (int i = 1; i < 64; i++) // about where 65535 blocks end
    samples->i64[i] = 65535 * (int64_t)(i % 3 == 0 ? 128 : 256) - 32 + i;
  give_array(c, "places", samples, (Give){0});
  give_number(c, "huge", (double)n);
  give_number(c, "a", (double)draw_odd(c, 9, 37) / 4);
  give_number(c, "x", (double)draw_odd(c, 1, 31) / 8);
  give_number(c, "y", (double)draw_odd(c, 1, 31) / 8);
}

static void judge_huge(Case *c) {
  const double y = given_number(c, "y"), result = given_number(c, "a") * given_number(c, "x") + y;
  const Array *samples = given(c, "places"), *out = got_shaped(c, "y", samples->shape);
  Array *want = new_array(c, FY_FLOAT32, samples->shape);
  int64_t end[2] = {INT64_MAX, -1}; // of the elements: the first one left as it was, the last one computed
  for (int64_t i = 0; i < SAMPLES; i++) {
    const int64_t at = samples->i64[i];
    want->f32[i] = (float)result;
    if (out && (double)out->f32[i] == y && at < end[0])
      end[0] = at;
    if (out && (double)out->f32[i] == result && at > end[1])
      end[1] = at;
  }
  const int64_t *s = launch_shape(c, 0);
  suspect_that(c, counts(c)->launches == 0 && !refused_shape(c), &NO_KERNEL);
  suspect_that(c, s && s[0] == 65535 && end[0] == end[1] + 1, &CAPPED);
  if (expect_array(c, "y", want, 1e-6))
    expect_at_most(c, "launches", counts(c)->launches, 2, &LAUNCHES);
}

static Array *right(Case *c) {
  const Array *x = given(c, "x"), *y = given(c, "y");
  Array *want = new_array(c, FY_FLOAT32, y->shape);
  for (int64_t i = 0; i < y->count; i++)
    want->f32[i] = (float)(given_number(c, "a") * x->f32[i] + y->f32[i]);
  return want;
}

// The result if only the elements begin .. end - 1 were computed.
static Array *partly(Case *c, const Array *all, int64_t begin, int64_t end) {
  Array *wrong = array_cast(c, given(c, "y"), FY_FLOAT32);
  for (int64_t i = begin; i < end && i < all->count; i++)
    wrong->f32[i] = all->f32[i];
  return wrong;
}

// Only the first `threads` elements have changed, and most of them have.
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
  const int64_t *s = launch_shape(c, 0);
  const int64_t blocks = s ? s[0] * s[1] * s[2] : 0, threads = s ? s[3] * s[4] * s[5] : 0;
  if (want->count > 1)
    suspect_array(c, "y", partly(c, want, 1, want->count), &FIRST_LEFT_OUT);
  // The launch is too small for 1, 2, 4 or 8 elements per thread; exactly the elements without a thread are unchanged.
  for (int64_t each = 1; each <= 8 && counts(c)->launches == 1 && blocks * threads > 0; each *= 2)
    if (blocks * threads * each < want->count)
      suspect_array(c, "y", partly(c, want, 0, blocks * threads * each), &ROUNDED_DOWN);
  suspect_that(c, blocks > 1 && only_first_block(c, want, threads), &BLOCK_INDEX);
}

// The launch with the most threads: more than one of them, for the stars whole warps and several blocks.
static void expect_shape(Case *c, int64_t n) {
  const int64_t *largest = NULL;
  int64_t most = 0;
  for (int i = 0; i < counts(c)->launches && launch_shape(c, i); i++) {
    const int64_t *s = launch_shape(c, i), threads = s[0] * s[1] * s[2] * s[3] * s[4] * s[5];
    if (threads > most) {
      most = threads;
      largest = s;
    }
  }
  if (!largest || n <= 1024 ||
      !expect_that(c, most > 1, &ONE_THREAD, "the launch has one block of one thread, for %lld elements", (long long)n))
    return;
  const int64_t blocks = largest[0] * largest[1] * largest[2], threads = most / blocks;
  expect_that(c, threads >= 32, &SMALL_BLOCKS, "the launch has blocks of %lld threads; a warp has 32",
              (long long)threads);
  expect_that(c, blocks > 1, &ONE_BLOCK, "the launch has one block, for %lld elements", (long long)n);
}

static void judge(Case *c) {
  const Array *want = right(c);
  const int64_t n = want->count, launches = counts(c)->launches;
  bool none_before = strncmp(case_test(c), "no elements", 11) == 0;
  suspect_faults(c);
  suspect_sure(c, refused_empty_grid(c) && (!none_before || launches == 0), &ROUNDED_DOWN);
  suspect_sure(c, refused_empty_grid(c) && launches > 0, &EMPTY_GRID);
  suspect_that(c, launches == 0, &NO_KERNEL);
  if (!expect_array(c, "y", want, 1e-6)) {
    if (n < 200000)
      suspect_results(c, want);
    return;
  }
  if (!expect_by_kernel(c))
    return;
  if (expect_at_most(c, "launches", launches, none_before ? 4 : 2, launches >= n / 2 ? &LAUNCH_EACH : &LAUNCHES))
    expect_shape(c, n);
}

EXERCISE = {
    .id = "20_1_saxpy",
    .title = "SAXPY: one thread for each element",
    .after_pass =
        "The global index is blockIdx.x * blockDim.x + threadIdx.x, and a bounds check excludes the surplus threads.",
    .kind = "kernel",
    .chapter = 20,
    .level = LEVEL_EASY,
    .minutes = 15,
    .essential = true,
    .lesson = "docs/20_the_first_kernel.md#grid-block-guard",
    .stars = {{"at least 32 threads per block", {&SMALL_BLOCKS}},
              {"more than one block for more than 1024 elements", {&ONE_BLOCK}}},
    .hints = {"A thread knows its block (blockIdx.x), the size of a block (blockDim.x) and its index in the block "
              "(threadIdx.x). What is its index in the grid?",
              "The last block may have more threads than there are elements left. These threads must do nothing.",
              "Launch (n + 255) / 256 blocks of 256 threads, and nothing if n is 0. Thread i = blockIdx.x * blockDim.x "
              "+ threadIdx.x computes y[i] if i < n."},
    .functions = {"saxpy_on_device"},
    .tests = {{"whole blocks", ask_exact, judge},
              {"several blocks, odd", ask_odd, judge},
              {"less than a block", ask_small, judge},
              {"less than a warp", ask_few, judge},
              {"one element", ask_one, judge},
              {"one more than whole blocks", ask_one_more, judge},
              {"large", ask_large, judge},
              {.name = "millions", .ask = ask_millions, .judge = judge, .schedules = 1},
              {.name = "more than sixteen million", .ask = ask_huge, .judge = judge_huge, .schedules = 1, .huge = true},
              {"no elements, then some", ask_none, judge}},
};
