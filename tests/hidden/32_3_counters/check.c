// SPDX-License-Identifier: MIT
// Exercise 32.3, find the bug: uninitialized counters, updates that are not atomic, and missing barriers.
#include "exercise.h"

#define LESSON "docs/32_debugging_kernels.md#uninitialized-shared-memory"

static const Mistake UNSET = {"uninitialized shared memory",
                              "Shared memory is uninitialized when a block begins. Set all counters to 0, and put a "
                              "barrier before the first addition.",
                              LESSON};
static const Mistake NOT_ATOMIC = {"non-atomic update",
                                   "own[b]++ reads, adds and writes. If two threads do this at the same time, one of "
                                   "the two additions is lost. Use atomicAdd.",
                                   "docs/32_debugging_kernels.md#missing-barrier-data-race"};
static const Mistake BETWEEN_BLOCKS = {"data race between blocks",
                                       "Several blocks write the same element of counts. Add to it with atomicAdd.",
                                       "docs/25_warps.md#atomics"};
static const Mistake NO_BARRIER = {
    "missing barrier",
    "Threads of all warps set, increment and read the counters. Put a __syncthreads() between each two of these steps.",
    "docs/32_debugging_kernels.md#missing-barrier-data-race"};
static const Mistake OF_BLOCK = {
    "block-scope atomic operation",
    "atomicAdd_block is atomic only among the threads of one block, but all blocks add to counts. Use atomicAdd.",
    "docs/25_warps.md#atomics"};
static const Mistake LAST_BLOCK = {
    "only one block's counts",
    "Each block counts only a part of x. Add each block's counters to counts instead of overwriting counts.", LESSON};
static const Mistake REST_LEFT = {
    "remainder not counted",
    "If each thread reads several elements at a time, some elements remain at the end. Count them as well.", LESSON};
static const Mistake MANY_ATOMICS = {"too many atomic operations",
                                     "The kernel executes about one atomic operation on global memory per element. "
                                     "Count in shared memory, and add each counter to counts once per block.",
                                     "docs/26_scan.md#histogram"};
static const Mistake FEW_ELEMENTS = {
    "few elements per block",
    "Each block adds all of its counters to counts. Launch few blocks, and let each of them loop over many elements.",
    "docs/26_scan.md#histogram"};
static const Mistake SIXTEEN_BITS = {
    "16-bit overflow", "A value may occur more than 65,535 times, even within one block. Use 32-bit counters.", LESSON};
static const Mistake REST = {"remainder counted by each block",
                             "Every block counts the last few elements. Let only one block count them.", LESSON};

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
// One value only, more often in each of eight blocks than 16 bits can count.
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

// Fewer elements than 16, the number per vector load, were counted again in each further block.
static bool rest_by_each(const Case *c, int64_t more) {
  const int64_t *s = launch_shape(c, 0), others = s ? s[0] * s[1] * s[2] - 1 : 0, n = given(c, "x")->count;
  return more > 0 && others > 0 && (more == others * (n % 16) || more == others * (n % 8) || more == others * (n % 4));
}

// All counts are right, and there is a race between blocks nevertheless: of additions with block scope.
static bool is_of_block(const Case *c) {
  return has_finding(c, "race-grid") && sum_of(got_shaped(c, "counts", shape(64))) == given(c, "x")->count &&
         inspected(c, GLOBAL_ATOMICS, (Where){.in_all = true}) > 0;
}

// So few elements were counted that they can be those of one block.
static bool is_of_one_block(const Case *c, int64_t sum) {
  const int64_t *s = launch_shape(c, 0), blocks = s ? s[0] * s[1] * s[2] : 1, n = given(c, "x")->count;
  return s && blocks > 1 && sum > 0 && sum < n && sum <= n / blocks + s[3];
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

static bool judge_counts(Case *c) {
  const Array *x = given(c, "x");
  Array *want = new_array(c, FY_INT32, shape(64));
  for (int64_t i = 0; i < x->count; i++)
    want->i32[x->u8[i]]++;
  const int64_t sum = sum_of(got_shaped(c, "counts", want->shape));
  suspect_that(c, counts(c)->launches == 0, &NO_KERNEL);
  const bool raced = has_finding(c, "race-warp") || has_finding(c, "race-block");
  suspect_that(c, has_finding(c, "uninitialized") && !raced, &UNSET); // with a race, they may be set
  const int64_t lost = x->count - sum; // if two counters share a word, a carry of 65,536 adds 1 to the other
  suspect_that(c, lost > 0 && (lost % 65536 == 0 || lost % 65535 == 0) && !raced, &SIXTEEN_BITS);
  const bool of_first =
      sum > 0 && sum < x->count && counts_first(c, sum); // the elements of a block are not the first of x
  suspect_that(c, of_first && lost < 128 && !raced, &REST_LEFT);
  suspect_that(c, !raced && is_of_one_block(c, sum), &LAST_BLOCK);
  const bool atomic = inspected(c, SHARED_ATOMICS, (Where){.in_all = true}) >= (double)x->count;
  suspect_that(c, atomic && raced, &NO_BARRIER);
  suspect_that(c, !atomic && raced, &NOT_ATOMIC);
  suspect_that(c, !raced && is_of_block(c), &OF_BLOCK);
  suspect_that(c, !raced && rest_by_each(c, sum - x->count), &REST);
  suspect_finding(c, "race-grid", &BETWEEN_BLOCKS);
  if (!expect_array(c, "counts", want, 0) || !expect_by_kernel(c))
    return false;
  if (!case_inspected(c) && !expect_array(c, "counts again", want, 0)) {
    suspect_that(c, true, &FIRST_CALL_ALONE);
    return false;
  }
  return expect_no_finding(c);
}

static void judge(Case *c) {
  judge_counts(c);
}

static void judge_atomics(Case *c) {
  const int64_t n = given(c, "x")->count;
  if (!judge_counts(c))
    return;
  const bool shared = inspected(c, SHARED_ATOMICS, (Where){.in_all = true}) >= (double)n / 2;
  expect_global_atomics(c, n / 4, shared ? &FEW_ELEMENTS : &MANY_ATOMICS);
}

EXERCISE = {
    .id = "32_3_counters",
    .title = "Find the bug: counters",
    .after_pass = "Shared memory must be initialized, and shared counters need atomic updates.",
    .kind = "kernel",
    .chapter = 32,
    .level = LEVEL_MEDIUM,
    .minutes = 20,
    .bug = true,
    .lesson = LESSON,
    .stars = {{"at most n / 4 atomic operations on global memory (at n = 20,000)", {&MANY_ATOMICS, &FEW_ELEMENTS}}},
    .hints =
        {"./ferry inspect work/32_3_counters.cu reports findings of more than one kind. Fix one kind, and run it "
         "again.",
         "Which values does own contain when a block begins? What happens if two threads execute own[b]++ for the same "
         "b at the same time?",
         "When a thread reads own[t], which other threads may still be counting? And which blocks add to counts[t]?",
         "In this order: set own to 0, barrier, count with atomicAdd, barrier, add to counts with atomicAdd."},
    .functions = {"count_on_device"},
    .tests = {{.name = "few elements", .ask = ask_few, .judge = judge, .inspect = true},
              {.name = "four values only", .ask = ask_frequent, .judge = judge, .inspect = true},
              {.name = "20,000 elements", .ask = ask_odd, .judge = judge_atomics, .inspect = true},
              {.name = "one value, very often", .ask = ask_one_number, .judge = judge, .schedules = 1}},
};
