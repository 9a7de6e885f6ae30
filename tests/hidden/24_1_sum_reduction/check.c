// SPDX-License-Identifier: MIT
// Exercise 24.1: a reduction within blocks and over blocks. The values are few quarters, so that any order of adding them is
// exact.
#include "exercise.h"
#include <math.h>
#include <string.h>

#define LESSON "docs/24_reductions.md"

static const Mistake MANY_ATOMICS = {
    "too many atomic operations",
    "Atomic operations on the same address are executed one after another. Sum the elements of each block or warp "
    "first, then add that sum with one atomic operation.",
    "docs/25_warps.md#atomics"};
static const Mistake PER_THREAD = {"one atomic operation per thread",
                                   "Each thread adds its sum with its own atomic operation. Let the threads of a block "
                                   "or a warp combine their sums first, then let one of them add to *sum.",
                                   "docs/25_warps.md#atomics"};
static const Mistake BETWEEN_BLOCKS = {"data race between blocks",
                                       "Blocks run concurrently and in any order, but here one block uses a value that "
                                       "another block writes. Use atomicAdd on a sum that is zeroed before the launch, "
                                       "or a second launch, or an atomic counter with __threadfence() on both sides.",
                                       LESSON "#one-launch-or-two"};
static const Mistake BLOCK_ORDER = {"dependence on the block order",
                                    "The sum changes when the blocks run in a different order. No block may depend on "
                                    "what another block does in the same launch.",
                                    LESSON "#one-launch-or-two"};
static const Mistake SINGLE_BLOCK = {"single block",
                                     "A single block runs on one multiprocessor, and all others are idle. Distribute "
                                     "the elements over many blocks, then add up the block sums.",
                                     LESSON "#tree-reduction-in-seven-steps"};
static const Mistake SERIAL = {"serial kernel",
                               "One thread adds up most of the elements. Let the threads of many blocks add in "
                               "parallel.",
                               LESSON "#tree-reduction-in-seven-steps"};
static const Mistake NO_BARRIER = {
    "missing barrier",
    "A thread reads a partial sum that another thread writes in the same or in the previous step. Put a "
    "__syncthreads() after the first stores to shared memory and after each step.",
    LESSON "#tree-reduction-in-seven-steps"};
static const Mistake DIVERGENT = {
    "divergent barrier",
    "Some threads did not reach a barrier or a shuffle. Every thread of the block must reach the barrier, and every "
    "lane in the mask must reach the shuffle. Let threads past the end take part with a 0.",
    "docs/25_warps.md#masks"};
static const Mistake BEYOND = {"missing bounds check",
                               "The last block may have more threads than elements. Threads past the end must not read "
                               "x; let them contribute a 0.",
                               LESSON "#tree-reduction-in-seven-steps"};
static const Mistake STALE = {"uninitialized shared memory",
                              "A thread reads an element of the shared array before any thread has written it. Let "
                              "threads without an element write a 0.",
                              LESSON "#tree-reduction-in-seven-steps"};
static const Mistake FIRST_BLOCK = {"only one block's sum",
                                    "The result is the sum of only one block. Add up the sums of all blocks.",
                                    LESSON "#tree-reduction-in-seven-steps"};
static const Mistake FIRST_WARPS = {
    "only one warp's sum",
    "A shuffle exchanges values only among the 32 lanes of a warp. Combine the warp sums through shared memory.",
    "docs/25_warps.md#warp-shuffles"};
static const Mistake NOT_ZEROED = {
    "sum not zeroed", "*sum may contain any value before the call. Zero it on the device before blocks add to it.",
    LESSON "#one-launch-or-two"};
static const Mistake UNINITIALIZED = {
    "uninitialized read",
    "A kernel reads an element that no thread has written. Add only as many partial sums as there are blocks.",
    LESSON "#one-launch-or-two"};
static const Mistake PARTIALS = {
    "partial sums left out",
    "There may be more partial sums than threads in the last launch. Let its threads loop over the partial sums.",
    LESSON "#one-launch-or-two"};
static const Mistake OVERFLOW = {"scratch buffer overflow",
                                 "A block writes past the end of partial, which has 1024 elements. With a grid-stride "
                                 "loop, 1024 blocks are enough for any n.",
                                 LESSON "#one-launch-or-two"};
static const Mistake ON_HOST = {
    "finished on the host",
    "The partial sums were copied to the host and added there, so the host had to wait. Add them in a second launch.",
    LESSON "#one-launch-or-two"};
static const Mistake EMPTY_GRID = {
    "empty grid",
    "For n = 0, the grid has 0 blocks, which is an invalid configuration. Skip that launch, and set *sum to 0.",
    LESSON "#tree-reduction-in-seven-steps"};
static const Mistake NOT_RESET = {"counter not reset",
                                  "A __device__ counter keeps its value between calls. Let the last block reset it to "
                                  "0, or reset it from the host before each launch.",
                                  LESSON "#one-launch-or-two"};
static const Mistake MISALIGNED = {"misaligned vector access",
                                   "A float4 must be 16-byte aligned, but x is only 4-byte aligned. Add elements one "
                                   "by one up to the first aligned address.",
                                   "docs/22_global_memory.md#vectorized-loads-float4"};
static const Mistake SHARED_INDEX = {"out-of-bounds shared memory access",
                                     "A thread uses an index outside of the shared array. Compare the array's size "
                                     "with the number of threads per block.",
                                     LESSON "#tree-reduction-in-seven-steps"};

enum { FOLLOWING = 1024 }; // elements past the end of x

// Odd numbers of quarters, so that no value is whole, and sums are exact in any order: of up to 400000 of them, and of 2^20 where
// `most` is 3. `before` of them come before x: up to 3, so that x is not aligned for vectors.
static Array *draw_up_to(Case *c, int64_t before, int64_t n, int most) {
  Array *whole = draw_array(c, FY_INT32, shape(before + n + FOLLOWING), 0, most), *x = array_cast(c, whole, FY_FLOAT32);
  for (int64_t i = 0; i < x->count; i++)
    x->f32[i] = (float)(2 * whole->i32[i] + 1) / 4;
  return x;
}
static Array *draw(Case *c, int64_t before, int64_t n) {
  return draw_up_to(c, before, n, 17);
}
static void give(Case *c, Array *x, int64_t before, int64_t n) {
  give_array(c, "x", x, (Give){.device = "cuda:0"});
  give_number(c, "elements before x", (double)before);
  give_number(c, "n", (double)n);
}
static void ask(Case *c, int64_t n) {
  give(c, draw(c, 0, n), 0, n);
}
static void ask_within(Case *c, int64_t n) {
  const int64_t before = draw_int(c, 1, 3);
  give(c, draw(c, before, n), before, n);
}
static void ask_whole(Case *c) {
  ask(c, 8192);
}
// Enough for a fixed grid to have work.
static void ask_many(Case *c) {
  ask_within(c, draw_odd(c, 39001, 40999));
}
static void ask_odd(Case *c) {
  ask_within(c, draw_odd(c, 4097, 5999));
}
static void ask_small(Case *c) {
  ask(c, draw_odd(c, 33, 99));
}
// The elements past the end are infinite: a product with 0 does not remove them.
static void ask_less_than_a_warp(Case *c) {
  const int64_t n = draw_odd(c, 3, 29);
  Array *x = draw(c, 0, n);
  for (int64_t i = n; i < x->count; i++)
    x->f32[i] = INFINITY;
  give(c, x, 0, n);
}
static void ask_one(Case *c) {
  ask(c, 1);
}
// Just more than one block can have.
static void ask_two_blocks(Case *c) {
  ask_within(c, draw_odd(c, 1101, 1999));
}
static void ask_large(Case *c) {
  ask_within(c, draw_odd(c, 300001, 330001));
}
static void ask_largest(Case *c) {
  const int64_t n = draw_odd(c, 1000001, (1 << 20) - 1);
  give(c, draw_up_to(c, 1, n, 3), 1, n);
}
// After a call for FOLLOWING more elements, with the same memory.
static void ask_twice(Case *c) {
  ask(c, draw_odd(c, 4097, 5999));
  give_number(c, "before", (double)(given_number(c, "n") + FOLLOWING));
}
static void ask_none(Case *c) {
  ask(c, 0);
}

static int64_t size_of(const Case *c) {
  return (int64_t)given_number(c, "n");
}
// Elements from the beginning of x to the end of the memory that it is a part of.
static int64_t end_of(const Case *c) {
  return given(c, "x")->count - (int64_t)given_number(c, "elements before x");
}
static const float *x_of(const Case *c) {
  return given(c, "x")->f32 + (int64_t)given_number(c, "elements before x");
}

// The sum of the elements begin .. end - 1 whose index modulo `period` is below `part`.
static double sum_of(const Case *c, int64_t begin, int64_t end, int64_t period, int64_t part) {
  const float *x = x_of(c);
  double sum = 0;
  for (int64_t i = begin; i < end && i < end_of(c); i++)
    sum += i % period < part ? x[i] : 0;
  return sum;
}

static double right(const Case *c) {
  return sum_of(c, 0, size_of(c), 1, 1);
}

static void suspect_value(Case *c, double wrong, const Mistake *mistake) {
  const Array *sum = got(c, "sum");
  // Shared memory is infinite before it is written.
  suspect_that(c, sum && sum->count == 1 && isfinite(wrong) && sum->f32[0] == (float)wrong && wrong != right(c),
               mistake);
}

// The sums of known mistakes, with blocks of `threads` threads.
static void suspect_values(Case *c, int64_t threads) {
  int64_t n = size_of(c);
  suspect_value(c, sum_of(c, 0, (n + threads - 1) / threads * threads, 1, 1), &BEYOND);
  suspect_value(c, sum_of(c, 0, n < threads ? n : threads, 1, 1), &FIRST_BLOCK);
  const int64_t last = (n - 1) / threads * threads;
  if (n - last >= 32) // the sum of a few may be that of other mistakes
    suspect_value(c, sum_of(c, last, n, 1, 1), &FIRST_BLOCK);
  suspect_value(c, sum_of(c, 0, n, threads, 32), &FIRST_WARPS);
  suspect_value(c, sum_of(c, 0, threads * threads, 1, 1), &PARTIALS);
}

// The sums of no more blocks than the second launch has threads, which share the elements by a grid-stride loop or in chunks.
static void suspect_partials(Case *c) {
  const int64_t *first = launch_shape(c, 0), *second = launch_shape(c, 1);
  if (!first || !second || second[0] * second[3] >= first[0])
    return;
  const int64_t n = size_of(c), blocks = first[0], taken = second[0] * second[3];
  suspect_value(c, sum_of(c, 0, n, blocks * first[3], taken * first[3]), &PARTIALS);
  suspect_value(c, sum_of(c, 0, taken * ((n + blocks - 1) / blocks), 1, 1), &PARTIALS);
}

static void suspect_truncation(Case *c) {
  const Array *sum = got(c, "sum");
  double each = 0;
  for (int64_t i = 0; i < size_of(c); i++)
    each += floor(x_of(c)[i]);
  suspect_value(c, each, &TRUNCATED);
  suspect_value(c, floor(right(c)), &TRUNCATED);
  bool is_whole = sum && sum->count == 1 && sum->f32[0] == floorf(sum->f32[0]);
  suspect_that(c, is_whole && sum->f32[0] > each && sum->f32[0] < right(c), &TRUNCATED);
}

static bool broken_guard(const Case *c, const char *name) {
  const Array *a = got(c, name);
  return a && a->flags & ARRAY_GUARD_BROKEN;
}

// The result was right in the schedules before this one.
static void suspect_order(Case *c) {
  CaseSchedule schedule = case_schedule(c);
  suspect_that(c, schedule == SCHEDULE_THREADS_DOWN || schedule == SCHEDULE_WITHIN_BLOCKS, &NO_BARRIER);
  suspect_that(c, schedule == SCHEDULE_BLOCKS_DOWN, &BLOCK_ORDER);
  suspect_that(c, schedule == SCHEDULE_BETWEEN_BLOCKS, &BETWEEN_BLOCKS);
}

static void suspect_faults_first(Case *c) {
  suspect_error(c, "divergent", &DIVERGENT);
  suspect_error(c, "deadlock: a warp function", &DIVERGENT);
  suspect_finding(c, "divergent", &DIVERGENT);
  suspect_sure(c, broken_guard(c, "partial"), &OVERFLOW);
  suspect_error(c, "it writes partial[", &OVERFLOW);
  suspect_error(c, "is not a multiple of ", &MISALIGNED);
  suspect_finding(c, "misaligned", &MISALIGNED);
  suspect_error(c, "outside of the shared array", &SHARED_INDEX);
  suspect_finding(c, "bounds-array", &SHARED_INDEX);
  suspect_finding(c, "bounds-dynamic", &SHARED_INDEX);
  suspect_faults(c);
}

static void suspect_findings(Case *c) {
  const bool atomics = case_inspected(c) && inspected(c, GLOBAL_ATOMICS, (Where){.in_all = true}) > 0;
  suspect_finding(c, "bounds", &BEYOND);
  suspect_finding(c, "uninitialized-shared", &STALE);
  suspect_finding(c, "uninitialized-global", atomics ? &NOT_ZEROED : &UNINITIALIZED);
  suspect_finding(c, "race-grid", &BETWEEN_BLOCKS);
  suspect_finding(c, "race-block", &NO_BARRIER);
  suspect_finding(c, "race-warp", &NO_BARRIER);
}

static void suspect_mistakes(Case *c) {
  const Array *sum = got(c, "sum"), *x = given(c, "x");
  bool nan_sum = sum && sum->count == 1 && isnan(sum->f32[0]);
  suspect_faults_first(c);
  suspect_sure(c, refused_empty_grid(c), &EMPTY_GRID);
  suspect_that(c, counts(c)->launches == 0 && size_of(c) > 0, &NO_KERNEL);
  suspect_findings(c);
  if (case_schedule(c) != SCHEDULE_IN_ORDER && !*got_error(c)) {
    suspect_order(c);
    return;
  }
  if (size_of(c) > 400000) // the sums of known mistakes are computed for fewer elements
    return;
  suspect_truncation(c);
  if (strcmp(case_test(c), "the second call") == 0) {
    suspect_value(c, sum_of(c, 0, size_of(c) + FOLLOWING, 1, 1), &NOT_RESET);
    suspect_value(c, sum_of(c, 0, size_of(c) + FOLLOWING, 1, 1) + right(c), &NOT_ZEROED);
  }
  suspect_that(c, nan_sum && isinf(x->f32[x->count - 1]) && !array_is_filling(sum, 0), &BEYOND);
  for (int64_t threads = 64; threads <= 1024; threads *= 2)
    suspect_values(c, threads);
  suspect_partials(c);
}

static bool judge_sum(Case *c) {
  Array *want = new_array(c, FY_FLOAT32, shape(1));
  want->f32[0] = (float)right(c);
  suspect_mistakes(c);
  if (!expect_array(c, "sum", want, 0))
    return false;
  bool held = size_of(c) == 0 || expect_at_least(c, "launches", counts(c)->launches, 1, &NO_KERNEL);
  held &= expect_that(c, !broken_guard(c, "partial"), &OVERFLOW, "memory past the end of partial was written");
  held &= expect_at_most(c, "copies from device to host", counts(c)->device_to_host, 0, &ON_HOST);
  return held && expect_no_finding(c);
}

static void judge(Case *c) {
  judge_sum(c);
}

static void judge_sharing(Case *c) {
  const int64_t n = size_of(c);
  int64_t most_blocks = 0;
  if (!judge_sum(c) || !expect_global_atomics(c, n / 8, &MANY_ATOMICS))
    return;
  for (int i = 0; launch_shape(c, i); i++) {
    const int64_t *s = launch_shape(c, i);
    most_blocks = s[0] * s[1] * s[2] > most_blocks ? s[0] * s[1] * s[2] : most_blocks;
  }
  expect_inspected(c, ACTIVE_LANES, (Where){.in_all = true}, 0.2, &SERIAL);
  expect_that(c, most_blocks != 1, &SINGLE_BLOCK, "no launch has more than one block, for %lld elements", (long long)n);
  expect_global_atomics(c, n / 64 + 64, &PER_THREAD);
}

EXERCISE = {
    .id = "24_1_sum_reduction",
    .title = "Sum reduction",
    .after_pass = "A tree reduction adds n numbers in log2(n) parallel steps, with a barrier between the steps.",
    .kind = "kernel",
    .chapter = 24,
    .level = LEVEL_MEDIUM,
    .minutes = 35,
    .essential = true,
    .lesson = LESSON "#tree-reduction-in-seven-steps",
    .stars = {{"parallel: several blocks, and at least 20 % active lanes overall", {&SERIAL, &SINGLE_BLOCK}},
              {"at most n / 64 + 64 atomic operations on global memory", {&PER_THREAD}}},
    .hints =
        {"Let each thread sum its elements in a grid-stride loop, in a register that starts at 0. A thread without "
         "elements then has a sum of 0.",
         "Store these sums in a shared array. Then, for half = THREADS / 2, ..., 2, 1, each of the first `half` "
         "threads adds the element that is `half` positions further on. Before the first step and after each step, all "
         "threads of the block reach a __syncthreads().",
         "Let thread 0 write the block's sum to sums[blockIdx.x]. A second launch of one block adds up these sums with "
         "the same kernel.",
         "If you always do the second launch, n = 0 needs no special case in the kernel: it adds up 0 partial sums."},
    .functions = {"sum_on_device"},
    .tests = {{.name = "whole blocks", .inspect = true, .ask = ask_whole, .judge = judge},
              {.name = "one element", .ask = ask_one, .judge = judge},
              {.name = "less than a warp", .ask = ask_less_than_a_warp, .judge = judge},
              {.name = "less than a block", .ask = ask_small, .judge = judge},
              {.name = "odd", .inspect = true, .ask = ask_odd, .judge = judge},
              {.name = "odd: order of threads and blocks", .ask = ask_odd, .judge = judge},
              {.name = "enough for two blocks", .ask = ask_two_blocks, .judge = judge},
              {.name = "40,000: atomics and sharing", .inspect = true, .ask = ask_many, .judge = judge_sharing},
              {.name = "large and odd", .ask = ask_large, .judge = judge, .schedules = 1},
              {.name = "a million", .ask = ask_largest, .judge = judge, .schedules = 1},
              {.name = "no elements", .ask = ask_none, .judge = judge},
              {.name = "the second call", .ask = ask_twice, .judge = judge}},
};
