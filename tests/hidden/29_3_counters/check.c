// SPDX-License-Identifier: MIT
// Exercise 29.3, find the bug: uninitialized counters, data races, and no barriers.
#include "exercise.h"

#define LESSON "docs/29_debugging_kernels.md#shared-memory-that-nobody-has-set"

static const Mistake UNSET = {"uninitialized shared memory",
                              "Shared memory starts with arbitrary contents. Set the counters to 0, and put a barrier "
                              "between that and the first addition.",
                              LESSON};
static const Mistake UNORDERED = {"data race on a counter",
                                  "own[b]++ is a read, an addition and a write: two threads can lose a count. Use "
                                  "atomicAdd, and barriers between setting, adding and reading.",
                                  "docs/29_debugging_kernels.md#a-barrier-that-is-missing"};
static const Mistake NO_BARRIER = {"missing barrier",
                                   "The counters are set, added to and read by all warps of the block. Put a "
                                   "__syncthreads() between these three phases.",
                                   "docs/29_debugging_kernels.md#a-barrier-that-is-missing"};
static const Mistake OF_BLOCK = {
    "atomicAdd_block on global counters",
    "atomicAdd_block is atomic among the threads of one block only. Counters of all blocks need atomicAdd.",
    "docs/24_reductions.md#atomics"};
static const Mistake LAST_BLOCK = {"block counts overwritten",
                                   "Each block has counted a part of x. Add the parts; do not store one over another.",
                                   LESSON};
static const Mistake REST_LEFT = {
    "last elements left out",
    "If each thread reads several elements at a time, some are left at the end. Count them as well.", LESSON};
static const Mistake GLOBAL = {
    "counted in global memory",
    "Every element costs an atomic operation on global memory. Count in shared memory, and add once per block.",
    "docs/25_scan.md#a-histogram"};

static const Mistake OVERFLOW = {
    "counter overflow", "A number can occur as often as an int can say; 16 bits count to 65,535 only.", LESSON};
static const Mistake REST = {"remainder counted by every block",
                             "One block must count the last few elements, not all of them.", LESSON};
static const Mistake SEVERAL = {"more than one launch", "counts is already 0, so one launch is enough.", LESSON};

static void ask(Case *c, int64_t n, int64_t least, int64_t most) {
  give_array(c, "x", draw_array(c, FY_UINT8, shape(n), (double)least, (double)most), (Give){.device = "cuda:0"});
  give_array(c, "counts", new_array(c, FY_INT32, shape(64)), (Give){.device = "cuda:0"});
  give_number(c, "n", (double)n);
}
// Enough for more than eight blocks, however many elements a thread takes.
static void ask_odd(Case *c) {
  ask(c, draw_odd(c, 20001, 24999), 0, 63);
}
static void ask_frequent(Case *c) {
  ask(c, draw_odd(c, 2001, 2999), 0, 3);
}
static void ask_few(Case *c) {
  ask(c, draw_odd(c, 301, 999), 0, 63);
}
// One number only, more often in each of eight blocks than 16 bits can count.
static void ask_one_number(Case *c) {
  const int64_t number = draw_int(c, 0, 63);
  ask(c, 8 * 65536 + draw_odd(c, 1001, 9999), number, number);
}

static int64_t sum_of(const Array *a) {
  int64_t sum = 0;
  for (int64_t i = 0; a && i < a->count; i++)
    sum += a->i32[i];
  return sum;
}

// The remainder, of fewer than 16 elements, was counted again by each further block.
static bool rest_by_each(const Case *c, int64_t more) {
  const int64_t *s = launch_shape(c, 0), others = s ? s[0] * s[1] * s[2] - 1 : 0, n = given(c, "x")->count;
  return more > 0 && others > 0 && (more == others * (n % 16) || more == others * (n % 8) || more == others * (n % 4));
}

// Every count is there, but there is a race between blocks: of additions that are atomic within a block.
static bool is_of_block(const Case *c) {
  return has_finding(c, "race-grid") && sum_of(got_shaped(c, "counts", shape(64))) == given(c, "x")->count &&
         inspected(c, GLOBAL_ATOMICS, (Where){.in_all = true}) > 0;
}

// Are these the counts of the first `some` elements?
static bool counts_first(const Case *c, int64_t some) {
  const Array *x = given(c, "x"), *have = got_shaped(c, "counts", shape(64));
  int64_t left[64] = {0};
  for (int64_t i = 0; i < some; i++)
    left[x->u8[i]]++;
  for (int b = 0; have && b < 64; b++)
    if (have->i32[b] != left[b])
      return false;
  return have != NULL;
}

static void judge(Case *c) {
  const Array *x = given(c, "x");
  Array *want = new_array(c, FY_INT32, shape(64));
  for (int64_t i = 0; i < x->count; i++)
    want->i32[x->u8[i]]++;
  const int64_t sum = sum_of(got_shaped(c, "counts", want->shape));
  suspect_that(c, counts(c)->launches == 0, &NO_KERNEL);
  const bool raced = has_finding(c, "race-warp") || has_finding(c, "race-block");
  suspect_that(c, has_finding(c, "uninitialised") && !raced, &UNSET); // with a race, they may have been set
  const int64_t lost = x->count - sum; // where two counters share a word, 1 of 65536 goes to the other
  suspect_that(c, lost > 0 && (lost % 65536 == 0 || lost % 65535 == 0) && !raced, &OVERFLOW);
  const bool of_first =
      sum > 0 && sum < x->count && counts_first(c, sum); // the parts of blocks are not the beginning of x
  suspect_that(c, of_first && lost < 128 && !raced, &REST_LEFT);
  suspect_that(c, sum > 0 && sum * 2 < x->count + 1024 && !raced, &LAST_BLOCK);
  const bool atomic = inspected(c, SHARED_ATOMICS, (Where){.in_all = true}) >= (double)x->count;
  suspect_that(c, atomic && !has_finding(c, "race-grid") && raced, &NO_BARRIER);
  suspect_that(c, !raced && is_of_block(c), &OF_BLOCK);
  suspect_that(c, !raced && rest_by_each(c, sum - x->count), &REST);
  suspect_finding(c, "race", &UNORDERED);
  if (!expect_array(c, "counts", want, 0) || !expect_by_kernel(c))
    return;
  if (!case_inspected(c) && !expect_array(c, "counts again", want, 0))
    suspect_that(c, true, &FIRST_CALL_ALONE);
  expect_at_most(c, "launches, copies and fills", counts(c)->operations, 1, &SEVERAL);
  expect_no_finding(c);
  if (x->count > 20000)
    expect_global_atomics(c, x->count * 3 / 4, &GLOBAL);
}

EXERCISE = {
    .id = "29_3_counters",
    .title = "Find the bug: counters",
    .after_pass = "Initialize shared memory, order its phases by barriers, and update shared counters atomically: a "
                  "privatized histogram.",
    .kind = "kernel",
    .chapter = 29,
    .level = LEVEL_MEDIUM,
    .minutes = 20,
    .bug = true,
    .lesson = LESSON,
    .stars = {{"one launch, no other operation on the device", {&SEVERAL}}},
    .hints = {"./ferry inspect reports findings of two kinds: uninitialized reads and data races.",
              "What does shared memory contain when a block starts?",
              "own[b]++ is a read, an addition and a write: what happens if two threads do it at once?",
              "Set, barrier, count by atomicAdd, barrier, add to counts by atomicAdd."},
    .functions = {"count_on_device"},
    .tests = {{.name = "odd", .ask = ask_odd, .judge = judge, .inspect = true},
              {.name = "frequent numbers", .ask = ask_frequent, .judge = judge, .inspect = true},
              {.name = "few", .ask = ask_few, .judge = judge, .inspect = true},
              {.name = "one number, very often", .ask = ask_one_number, .judge = judge, .schedules = 1}},
};
