// Exercise 64: a reduction within blocks and over blocks. The values are small whole numbers, so that any order of adding
// them is exact.
#include "exercise.h"
#include <math.h>

static const Mistake ATOMIC_EACH = {"an atomic for every element",
                                    "All elements queue at one address, and the additions happen one after another. "
                                    "Let a block (or a warp) add up its own "
                                    "first, and then add once.",
                                    "docs/24_reductions.md#atomics"};
static const Mistake UNPROTECTED = {
    "blocks that add without an atomic operation",
    "Blocks run at the same time. When two of them read *sum, add, and write it back, one of the sums is lost; it went "
    "well "
    "here because a simulated device ran them one by one. Use atomicAdd, or a second launch over the blocks' sums.",
    "docs/24_reductions.md#one-launch-or-two"};
static const Mistake NO_FENCE = {"a flag without a fence before it",
                                 "One block writes its sum and then counts itself as done, another sees the count and "
                                 "reads the sum. The two writes may arrive "
                                 "in the other order; __threadfence() between them keeps them in theirs.",
                                 "docs/24_reductions.md#seven-steps"};
static const Mistake ONE_BLOCK = {"one block for everything",
                                  "A block runs on one multiprocessor, and the others have nothing to do. Spread the "
                                  "elements over many blocks, and then "
                                  "add the blocks' sums.",
                                  "docs/24_reductions.md#seven-steps"};
static const Mistake NOT_TOGETHER = {"threads that do not work together",
                                     "There was no barrier, no shuffle and no atomic operation: either one thread adds "
                                     "up everything, or many add to one place "
                                     "at once and lose each other's sums.",
                                     "docs/24_reductions.md#seven-steps"};
static const Mistake NO_BARRIER = {"no barrier between the steps",
                                   "At each step a thread reads what another one wrote in the step before. "
                                   "__syncthreads() belongs after the loading and "
                                   "after each step.",
                                   "docs/24_reductions.md#seven-steps"};
static const Mistake DIVERGENT = {"a barrier or shuffle that some threads do not reach",
                                  "A barrier waits for every thread of the block, a shuffle for every lane of its "
                                  "mask. Threads beyond n have to come too, "
                                  "and bring a 0.",
                                  "docs/24_reductions.md#masks"};
static const Mistake BEYOND = {"threads beyond n that bring something",
                               "In the last block there are more threads than elements. Those have to bring a 0: "
                               "neither what lies behind x, nor what "
                               "their place in shared memory held before.",
                               "docs/24_reductions.md#seven-steps"};
static const Mistake FIRST_BLOCK = {
    "the sum of one block", "Each block has a sum, and only one block's arrived. The blocks' sums are to be added.",
    "docs/24_reductions.md#seven-steps"};
static const Mistake FIRST_WARPS = {"the sum of one warp of each block",
                                    "Shuffles reach the 32 lanes of a warp and no further. The warps of a block have "
                                    "to hand their sums on through shared "
                                    "memory.",
                                    "docs/24_reductions.md#shuffles"};
static const Mistake NOT_ZEROED = {
    "added to what was there", "*sum holds anything before. It has to be zeroed on the device before blocks add to it.",
    "docs/24_reductions.md#atomics"};
static const Mistake PARTIALS = {
    "partial sums left out",
    "There were more blocks' sums than the last stage has threads. Its threads need a loop over them, too.",
    "docs/24_reductions.md#one-launch-or-two"};
static const Mistake ROOM = {
    "more blocks than partial has room for",
    "partial has room for 1024 sums. With a grid-stride loop 1024 blocks are enough for any n.",
    "docs/24_reductions.md#one-launch-or-two"};
static const Mistake ON_HOST = {"finished on the host",
                                "The blocks' sums were copied to the host and added there, which makes the host wait. "
                                "A second launch adds them where "
                                "they are.",
                                "docs/07_pitfalls.md#to-and-fro-against-staying"};
static const Mistake LAUNCHES = {"a launch for every piece",
                                 "Two launches do: one over x and one over the blocks' sums.",
                                 "docs/07_pitfalls.md#many-small-transfers-against-one"};
static const Mistake EMPTY_GRID = {
    "a grid of no blocks", "For n = 0 a grid of n / threads blocks is an invalid configuration; the sum is 0 still.",
    "docs/24_reductions.md#seven-steps"};

enum { BEHIND = 1024 }; // elements that follow and do not belong

static void ask(Case *c, int64_t n) {
  Array *whole = draw_array(c, FY_INT32, shape(n + BEHIND), 1, 9);
  give_array(c, "x", array_cast(c, whole, FY_FLOAT32), (Give){.device = "cuda:0"});
  give_number(c, "n", (double)n);
}
static void ask_whole(Case *c) {
  ask(c, 8192);
}
static void ask_odd(Case *c) {
  ask(c, draw_odd(c, 4097, 5999));
}
static void ask_small(Case *c) {
  ask(c, draw_odd(c, 33, 99));
}
static void ask_less_than_a_warp(Case *c) {
  ask(c, draw_odd(c, 3, 29));
}
static void ask_one(Case *c) {
  ask(c, 1);
}
static void ask_large(Case *c) {
  ask(c, draw_odd(c, 300001, 330001));
}
static void ask_none(Case *c) {
  ask(c, 0);
}

static int64_t size_of(const Case *c) {
  return (int64_t)given_number(c, "n");
}

// The sum of the elements below `end` whose index modulo `period` is below `part`.
static double sum_of(const Case *c, int64_t end, int64_t period, int64_t part) {
  const Array *x = given(c, "x");
  double sum = 0;
  for (int64_t i = 0; i < end && i < x->count; i++)
    sum += i % period < part ? x->f32[i] : 0;
  return sum;
}

static void suspect_value(Case *c, double wrong, const Mistake *mistake) {
  const Array *sum = got(c, "sum");
  suspect_that(c, sum && sum->f32[0] == (float)wrong && wrong != sum_of(c, size_of(c), 1, 1), mistake);
}

// What comes out of known mistakes with blocks of `threads` threads.
static void suspect_values(Case *c, int64_t threads) {
  int64_t n = size_of(c);
  suspect_value(c, sum_of(c, (n + threads - 1) / threads * threads, 1, 1), &BEYOND);
  suspect_value(c, sum_of(c, n < threads ? n : threads, 1, 1), &FIRST_BLOCK);
  suspect_value(c, sum_of(c, n, threads, 32), &FIRST_WARPS);
  suspect_value(c, sum_of(c, threads * threads, 1, 1), &PARTIALS);
}

static bool counted(const Case *c) {
  return !isnan(got_number(c, "atomics"));
}
static int64_t number(const Case *c, const char *name) {
  return got_count(c, name);
}

static bool broken_guard(const Case *c, const char *name) {
  const Array *a = got(c, name);
  return a && a->flags & ARRAY_GUARD_BROKEN;
}

static void suspect_mistakes(Case *c) {
  const Array *sum = got(c, "sum");
  bool nan_sum = sum && isnan(sum->f32[0]);
  suspect_error(c, "invalid configuration", &EMPTY_GRID);
  suspect_that(c, counts(c)->launches == 0 && size_of(c) > 0, &NO_KERNEL);
  suspect_error(c, "illegal", &DIVERGENT);
  suspect_that(c, broken_guard(c, "partial"), &ROOM);
  suspect_that(c, counted(c) && nan_sum && number(c, "atomics") > 0, &NOT_ZEROED);
  for (int64_t threads = 64; threads <= 1024; threads *= 2)
    suspect_values(c, threads);
  bool few = counted(c) && number(c, "shuffles") == 0 && number(c, "barriers") <= counts(c)->launches;
  suspect_that(c, few && number(c, "atomics") < size_of(c), &NO_BARRIER);
  suspect_that(c, size_of(c) % 1024 != 0, &BEYOND);
}

// How the blocks' sums came together; n is large enough for several blocks.
static void expect_cooperation(Case *c) {
  int64_t n = size_of(c), atomics = number(c, "atomics");
  expect_at_most(c, "atomic operations", atomics, n / 32 + 32, &ATOMIC_EACH);
  if (counts(c)->launches > 1 || atomics > 0)
    return;
  bool alone = number(c, "blocks") == 1;
  expect_that(c, number(c, "blocks") > 0, &NOT_TOGETHER, "one launch without barriers, shuffles and atomic operations");
  expect_that(c, false, alone ? &ONE_BLOCK : &UNPROTECTED,
              "one launch of %lld blocks, and nothing that combines blocks", (long long)number(c, "blocks"));
}

static bool judge_sum(Case *c) {
  Array *want = new_array(c, FY_FLOAT32, shape(1));
  want->f32[0] = (float)sum_of(c, size_of(c), 1, 1);
  suspect_mistakes(c);
  if (!expect_array(c, "sum", want, 0))
    return false;
  bool held = size_of(c) == 0 || expect_at_least(c, "launches", counts(c)->launches, 1, &NO_KERNEL);
  held &= expect_that(c, !broken_guard(c, "partial"), &ROOM, "memory behind partial was written");
  held &= expect_at_most(c, "copies from device to host", counts(c)->device_to_host, 0, &ON_HOST);
  return held & expect_at_most(c, "launches", counts(c)->launches, 4, &LAUNCHES);
}

static void judge(Case *c) {
  if (judge_sum(c) && counted(c) && size_of(c) > 1024)
    expect_cooperation(c);
}

// With threads that see each other's accesses: a mistake that both orders of the threads hide is found here.
static void judge_inspected(Case *c) {
  suspect_finding(c, "race-block", &NO_BARRIER);
  suspect_finding(c, "race-warp", &NO_BARRIER);
  // An atomic operation for each block and a race between blocks nevertheless: the flag of "the last block adds up".
  bool flag = counted(c) && number(c, "atomics") > 0 && counts(c)->launches == 1;
  suspect_finding(c, "race-grid", flag ? &NO_FENCE : &UNPROTECTED);
  suspect_finding(c, "divergent", &DIVERGENT);
  suspect_finding(c, "uninitialised-global", &NOT_ZEROED);
  suspect_finding(c, "uninitialised-shared", &BEYOND);
  suspect_finding(c, "bounds", &BEYOND);
  if (judge_sum(c))
    expect_no_finding(c);
}

EXERCISE = {
    .id = "64_block_reduction",
    .title = "The sum of a block, the sum of all",
    .kind = "kernel",
    .chapter = 24,
    .lesson = "docs/24_reductions.md#seven-steps",
    .hints =
        {"Each thread first adds up the elements it meets in a grid-stride loop: in a register, 0 when it meets none.",
         "Then for (int half = THREADS / 2; half > 0; half /= 2): the first `half` threads add what lies `half` "
         "further "
         "on, and all threads of the block meet at __syncthreads().",
         "Thread 0 writes sums[blockIdx.x]. A second launch of one block sums those with the same kernel.",
         "n = 0 needs no case of its own when the second launch is always there: it sums 0 partial sums."},
    .functions = {"sum_on_device"},
    .tests = {{.name = "whole blocks", .ask = ask_whole, .judge = judge},
              {.name = "odd", .ask = ask_odd, .judge = judge},
              {.name = "less than a block", .ask = ask_small, .judge = judge},
              {.name = "less than a warp", .ask = ask_less_than_a_warp, .judge = judge},
              {.name = "one element", .ask = ask_one, .judge = judge},
              {.name = "large and odd", .ask = ask_large, .judge = judge},
              {.name = "no elements", .ask = ask_none, .judge = judge},
              {.name = "what its threads share", .inspect = true, .ask = ask_odd, .judge = judge_inspected}},
};
