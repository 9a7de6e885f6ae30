// Exercise 60: index arithmetic with a guard.
#include "exercise.h"

static const Mistake BLOCK_INDEX = {"index local to the block",
                                    "threadIdx.x alone begins at 0 again in every block. The index in the grid is "
                                    "blockIdx.x * blockDim.x + threadIdx.x.",
                                    "docs/20_the_first_kernel.md#grid-block-guard"};
static const Mistake ROUNDED_DOWN = {
    "blocks rounded down", "n / threads leaves the last, partial block out. Round up: (n + threads - 1) / threads.",
    "docs/20_the_first_kernel.md#grid-block-guard"};
static const Mistake OVERWRITTEN = {"y overwritten", "a * x is added to y; what was there counts.",
                                    "docs/20_the_first_kernel.md#grid-block-guard"};
static const Mistake EMPTY_GRID = {
    "a grid of no blocks", "For n = 0 there is nothing to launch: a grid of 0 blocks is an invalid configuration.",
    "docs/20_the_first_kernel.md#grid-block-guard"};
static const Mistake LAUNCH_EACH = {"a launch per element",
                                    "One launch has a thread for every element; a launch costs microseconds.",
                                    "docs/07_pitfalls.md"};

static void ask(Case *c, int64_t n) {
  give_array(c, "x", draw_array(c, FY_FLOAT32, shape(n), -4, 4), (Give){.device = "cuda:0"});
  give_array(c, "y", draw_array(c, FY_FLOAT32, shape(n), -4, 4), (Give){.device = "cuda:0"});
  give_number(c, "a", (double)draw_int(c, 2, 9));
}
static void ask_small(Case *c) {
  ask(c, draw_odd(c, 33, 99));
}
static void ask_odd(Case *c) {
  ask(c, draw_odd(c, 1025, 1999));
}
static void ask_exact(Case *c) {
  ask(c, 1024);
}
static void ask_large(Case *c) {
  ask(c, draw_odd(c, 100001, 120001));
}
// A call for no elements comes before the one that is judged; an answer that does nothing is not right.
static void ask_none(Case *c) {
  ask(c, draw_odd(c, 33, 99));
}

static Array *right(Case *c) {
  const Array *x = given(c, "x"), *y = given(c, "y");
  Array *want = new_array(c, FY_FLOAT32, y->shape);
  for (int64_t i = 0; i < y->count; i++)
    want->f32[i] = (float)(given_number(c, "a") * x->f32[i] + y->f32[i]);
  return want;
}

// What is there when only the first `done` elements were computed.
static Array *partly(Case *c, int64_t done) {
  Array *wrong = array_cast(c, given(c, "y"), FY_FLOAT32);
  const Array *all = right(c);
  for (int64_t i = 0; i < done && i < all->count; i++)
    wrong->f32[i] = all->f32[i];
  return wrong;
}

static bool only_first_block(const Case *c, const Array *want) {
  const Array *y = got_shaped(c, "y", want->shape);
  int64_t untouched = 0;
  for (int64_t i = 1024; y && i < want->count; i++)
    untouched += y->f32[i] == given(c, "y")->f32[i];
  return y && want->count > 1024 && untouched == want->count - 1024;
}

static void judge(Case *c) {
  const Array *want = right(c), *x = given(c, "x");
  Array *product = new_array(c, FY_FLOAT32, x->shape);
  for (int64_t i = 0; i < x->count; i++)
    product->f32[i] = (float)(given_number(c, "a") * x->f32[i]);
  suspect_that(c, want->count > 0 && counts(c)->launches == 0, &NO_KERNEL);
  suspect_error(c, "invalid configuration", &EMPTY_GRID);
  for (int64_t threads = 32; threads <= 1024; threads *= 2)
    suspect_array(c, "y", partly(c, want->count / threads * threads), &ROUNDED_DOWN);
  suspect_array(c, "y", product, &OVERWRITTEN);
  suspect_that(c, only_first_block(c, want), &BLOCK_INDEX);
  bool computed = expect_array(c, "y", want, 1e-6);
  if (want->count > 0) {
    if (computed)
      expect_by_kernel(c);
    expect_at_most(c, "launches", counts(c)->launches, 1, &LAUNCH_EACH);
  }
}

EXERCISE = {
    .id = "60_saxpy",
    .title = "An index for every thread",
    .kind = "kernel",
    .chapter = 20,
    .lesson = "docs/20_the_first_kernel.md#grid-block-guard",
    .hints = {"A thread knows its block (blockIdx.x), the block's size (blockDim.x) and its place there (threadIdx.x).",
              "The last block has threads to spare. What do they do with an index of n or more?",
              "Blocks: (n + 255) / 256. And what if that is 0?"},
    .functions = {"saxpy_on_device"},
    .tests = {{"small and odd", ask_small, judge},
              {"several blocks, odd", ask_odd, judge},
              {"whole blocks", ask_exact, judge},
              {"large and odd", ask_large, judge},
              {"no elements, then some", ask_none, judge}},
};
