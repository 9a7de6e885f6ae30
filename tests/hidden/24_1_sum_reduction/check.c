// SPDX-License-Identifier: MIT
// Exercise 24.1: a reduction within blocks and over blocks. The values are few quarters, so that any order of adding them is
// exact.
#include "exercise.h"
#include <math.h>
#include <string.h>

static const Mistake ATOMIC_EACH = {"an atomic for every element",
                                    "All elements queue at one address, and the additions happen one after another. "
                                    "Let a block (or a warp) add up its own "
                                    "first, and then add once.",
                                    "docs/24_reductions.md#atomics"};
static const Mistake MANY_ATOMICS = {
    "more atomic operations than there is use for",
    "Each of them waits for those before it at the same address. A block, or a warp, that has no element to add has "
    "nothing to add to the sum either.",
    "docs/24_reductions.md#atomics"};
static const Mistake UNPROTECTED = {
    "blocks that add without an atomic operation",
    "Blocks run at the same time. When two of them read *sum, add, and write it back, one of the sums is lost; it went "
    "well "
    "as long as blocks ran one by one. Use atomicAdd, or a second launch over the blocks' sums.",
    "docs/24_reductions.md#one-launch-or-two"};
static const Mistake NO_FENCE = {"a flag without a fence before it",
                                 "One block writes its sum and then counts itself as done, another sees the count and "
                                 "reads the sum. Without fences the sum read may be an old one: the writer needs a "
                                 "__threadfence() between the two, and so does the reader.",
                                 "docs/24_reductions.md#one-launch-or-two"};
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
                                  "Every thread of the block must reach a barrier, and every lane of its mask a "
                                  "shuffle. Threads beyond n must reach them, too, with a 0.",
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
                                "docs/24_reductions.md#one-launch-or-two"};
static const Mistake LAUNCHES = {"a launch for every piece",
                                 "Two launches do: one over x and one over the blocks' sums.",
                                 "docs/24_reductions.md#one-launch-or-two"};
static const Mistake EMPTY_GRID = {
    "a grid of no blocks", "For n = 0 a grid of n / threads blocks is an invalid configuration; the sum is 0 still.",
    "docs/24_reductions.md#seven-steps"};

static const Mistake ZEROED_INSIDE = {"zeroed while others add",
                                      "A block sets *sum to 0 in the kernel that adds to it. Blocks begin in any "
                                      "order: what others had added by then is lost. Zero it "
                                      "before the launch, by cudaMemsetAsync or another kernel.",
                                      "docs/24_reductions.md#one-launch-or-two"};
static const Mistake LAST_BY_NUMBER = {"the block with the last number taken for the last to finish",
                                       "Blocks run and end in any order. A block that needs the others' sums has to "
                                       "know that they are there: by a second launch, or "
                                       "by a counter that each block raises with an atomic operation.",
                                       "docs/24_reductions.md#one-launch-or-two"};
static const Mistake FIRST_CALL = {
    "a sum at the first call only",
    "What counts the blocks that are done keeps its number from call to call. The last block has to set it back to 0, "
    "or the host before each launch.",
    "docs/24_reductions.md#one-launch-or-two"};
static const Mistake ONE_THREAD = {
    "one thread adds up everything",
    "A single thread goes through all the numbers, one after the other. Let the threads of a block "
    "halve them together.",
    "docs/24_reductions.md#seven-steps"};

enum { BEHIND = 1024 }; // elements that follow and do not belong

// Odd numbers of quarters, so that no value is whole, and sums are exact in any order: of up to 400000 of them, and of 2^20 where
// `most` is 3. `before` of them come before x: up to 3, so that x does not begin where a vector may.
static Array *draw_up_to(Case *c, int64_t before, int64_t n, int most) {
  Array *whole = draw_array(c, FY_INT32, shape(before + n + BEHIND), 0, most), *x = array_cast(c, whole, FY_FLOAT32);
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
static void ask_odd(Case *c) {
  ask_within(c, draw_odd(c, 4097, 5999));
}
static void ask_small(Case *c) {
  ask(c, draw_odd(c, 33, 99));
}
// What follows is no number that 0 takes away.
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
// Just more than what is one block's.
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
// A call for BEHIND elements more comes before, with the same memory.
static void ask_twice(Case *c) {
  ask(c, draw_odd(c, 4097, 5999));
  give_number(c, "before", (double)(given_number(c, "n") + BEHIND));
}
static void ask_none(Case *c) {
  ask(c, 0);
}

static int64_t size_of(const Case *c) {
  return (int64_t)given_number(c, "n");
}
// How far one may go from where x begins: what follows its elements is there, too.
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
  // Infinite is also what shared memory holds before it is written.
  suspect_that(c, sum && sum->count == 1 && isfinite(wrong) && sum->f32[0] == (float)wrong && wrong != right(c),
               mistake);
}

// What comes out of known mistakes with blocks of `threads` threads.
static void suspect_values(Case *c, int64_t threads) {
  int64_t n = size_of(c);
  suspect_value(c, sum_of(c, 0, (n + threads - 1) / threads * threads, 1, 1), &BEYOND);
  suspect_value(c, sum_of(c, 0, n < threads ? n : threads, 1, 1), &FIRST_BLOCK);
  const int64_t last = (n - 1) / threads * threads;
  if (n - last >= 32) // few numbers add up to what comes out of other mistakes, too
    suspect_value(c, sum_of(c, last, n, 1, 1), &FIRST_BLOCK);
  suspect_value(c, sum_of(c, 0, n, threads, 32), &FIRST_WARPS);
  suspect_value(c, sum_of(c, 0, threads * threads, 1, 1), &PARTIALS);
}

// The sums of no more blocks than the second launch has threads, which share the elements by a grid's strides or in pieces.
static void suspect_partials(Case *c) {
  const int64_t *first = launch_shape(c, 0), *second = launch_shape(c, 1);
  if (!first || !second || second[0] * second[3] >= first[0])
    return;
  const int64_t n = size_of(c), blocks = first[0], taken = second[0] * second[3];
  suspect_value(c, sum_of(c, 0, n, blocks * first[3], taken * first[3]), &PARTIALS);
  suspect_value(c, sum_of(c, 0, taken * ((n + blocks - 1) / blocks), 1, 1), &PARTIALS);
}

static void suspect_whole_numbers(Case *c) {
  const Array *sum = got(c, "sum");
  double each = 0;
  for (int64_t i = 0; i < size_of(c); i++)
    each += floor(x_of(c)[i]);
  suspect_value(c, each, &ADDED_WHOLE);
  suspect_value(c, floor(right(c)), &ADDED_WHOLE);
  bool is_whole = sum && sum->count == 1 && sum->f32[0] == floorf(sum->f32[0]);
  suspect_that(c, is_whole && sum->f32[0] > each && sum->f32[0] < right(c), &ADDED_WHOLE);
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

// The result was right in the passes before this one.
static void suspect_order(Case *c) {
  bool one_launch = counts(c)->launches == 1, atomics = counted(c) && number(c, "atomics") > 0;
  CaseSchedule schedule = case_schedule(c);
  suspect_that(c, schedule == SCHEDULE_THREADS_DOWN || schedule == SCHEDULE_WITHIN_BLOCKS, &NO_BARRIER);
  suspect_that(c, schedule == SCHEDULE_BLOCKS_DOWN && atomics, &ZEROED_INSIDE);
  suspect_that(c, schedule == SCHEDULE_BLOCKS_DOWN && one_launch, &LAST_BY_NUMBER);
  suspect_that(c, schedule == SCHEDULE_BETWEEN_BLOCKS && atomics && one_launch && number(c, "fences") == 0, &NO_FENCE);
  suspect_that(c, schedule == SCHEDULE_BETWEEN_BLOCKS && counted(c) && !atomics, &UNPROTECTED);
}

// One after the loading, and one after each step, in each launch.
static int64_t barriers_of_a_tree(const Case *c) {
  int64_t barriers = 0;
  for (int i = 0; launch_shape(c, i); i++)
    for (int64_t threads = launch_shape(c, i)[3]; threads > 1; threads /= 2)
      barriers++;
  for (int i = 0; launch_shape(c, i); i++)
    barriers += launch_shape(c, i)[3] > 1;
  return barriers;
}

static void suspect_mistakes(Case *c) {
  const Array *sum = got(c, "sum"), *x = given(c, "x");
  bool nan_sum = sum && sum->count == 1 && isnan(sum->f32[0]);
  suspect_error(c, "divergent", &DIVERGENT);
  suspect_error(c, "deadlock: a warp function", &DIVERGENT);
  suspect_that(c, broken_guard(c, "partial"), &ROOM);
  suspect_error(c, "it writes partial[", &ROOM);
  suspect_faults(c);
  suspect_that(c, refused_empty_grid(c), &EMPTY_GRID);
  suspect_that(c, counts(c)->launches == 0 && size_of(c) > 0, &NO_KERNEL);
  if (case_schedule(c) != SCHEDULE_IN_ORDER && !*got_error(c)) {
    suspect_order(c);
    return;
  }
  suspect_that(c, counted(c) && nan_sum && number(c, "atomics") > 0 && counts(c)->operations == counts(c)->launches,
               &NOT_ZEROED);
  if (size_of(c) > 400000) // the sums that mistakes make are looked for in fewer elements
    return;
  suspect_whole_numbers(c);
  if (strcmp(case_test(c), "the second call") == 0) {
    suspect_value(c, sum_of(c, 0, size_of(c) + BEHIND, 1, 1), &FIRST_CALL);
    suspect_value(c, sum_of(c, 0, size_of(c) + BEHIND, 1, 1) + right(c), &NOT_ZEROED);
  }
  suspect_that(c, nan_sum && isinf(x->f32[x->count - 1]) && !array_is_filling(sum, 0), &BEYOND);
  for (int64_t threads = 64; threads <= 1024; threads *= 2)
    suspect_values(c, threads);
  suspect_partials(c);
  bool few =
      counted(c) && !*got_error(c) && number(c, "shuffles") == 0 && number(c, "barriers") < barriers_of_a_tree(c);
  bool wrong = sum && sum->count == 1 && sum->f32[0] != (float)right(c);
  suspect_that(c, wrong && few && number(c, "atomics") < size_of(c) && size_of(c) > 1024, &NO_BARRIER);
}

static bool one_thread(const int64_t *s) {
  return s && s[0] * s[1] * s[2] * s[3] * s[4] * s[5] == 1;
}

// How the sum came together; n is large enough for several blocks. The launches: the last, if there are several, and the largest.
static void expect_cooperation(Case *c) {
  int64_t n = size_of(c), launches = counts(c)->launches, most_blocks = 0;
  for (int i = 0; launch_shape(c, i); i++) {
    const int64_t *s = launch_shape(c, i);
    most_blocks = s[0] * s[1] * s[2] > most_blocks ? s[0] * s[1] * s[2] : most_blocks;
  }
  bool together = number(c, "barriers") > 0 || number(c, "shuffles") > 0;
  expect_at_most(c, "atomic operations", number(c, "atomics"), n / 32 + 32,
                 number(c, "atomics") >= n ? &ATOMIC_EACH : &MANY_ATOMICS);
  expect_that(c, !one_thread(launch_shape(c, (int)launches - 1)), &ONE_THREAD,
              "a launch of one thread adds numbers up");
  expect_that(c, together, &NOT_TOGETHER, "there were no barriers and no shuffles");
  expect_that(c, most_blocks > 1, &ONE_BLOCK, "no launch has more than one block, for %lld elements", (long long)n);
}

static bool judge_sum(Case *c) {
  Array *want = new_array(c, FY_FLOAT32, shape(1));
  want->f32[0] = (float)right(c);
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
  bool tree = counted(c) && number(c, "barriers") > 0;
  if (tree) {
    suspect_finding(c, "race-block", &NO_BARRIER);
    suspect_finding(c, "race-warp", &NO_BARRIER);
  }
  // An atomic operation for each block and a race between blocks nevertheless: the flag of "the last block adds up".
  bool flag = counted(c) && number(c, "atomics") > 0 && counts(c)->launches == 1;
  if (flag)
    suspect_finding(c, "race-grid", &NO_FENCE);
  suspect_finding(c, "divergent", &DIVERGENT);
  if (counted(c) && number(c, "atomics") > 0)
    suspect_finding(c, "uninitialised-global", &NOT_ZEROED);
  suspect_finding(c, "uninitialised-shared", &BEYOND);
  suspect_finding(c, "bounds", &BEYOND);
  if (judge_sum(c))
    expect_no_finding(c);
}

EXERCISE = {
    .id = "24_1_sum_reduction",
    .title = "Sum reduction",
    .after_pass = "A block adds up in shared memory, in halves with a barrier between, and leaves one number.",
    .kind = "kernel",
    .chapter = 24,
    .level = LEVEL_MEDIUM,
    .minutes = 35,
    .essential = true,
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
              {.name = "enough for two blocks", .ask = ask_two_blocks, .judge = judge},
              {.name = "large and odd", .ask = ask_large, .judge = judge, .schedules = 1},
              {.name = "a million", .ask = ask_largest, .judge = judge, .schedules = 1},
              {.name = "no elements", .ask = ask_none, .judge = judge},
              {.name = "the second call", .ask = ask_twice, .judge = judge},
              {.name = "what its threads share", .inspect = true, .ask = ask_odd, .judge = judge_inspected}},
};
