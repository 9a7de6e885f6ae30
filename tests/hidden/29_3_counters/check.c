// SPDX-License-Identifier: MIT
// Exercise 29.3, find the bug: counters that nobody set to 0, additions that lose counts, and no barriers.
#include "exercise.h"

#define LESSON "docs/29_debugging_kernels.md#shared-memory-that-nobody-has-set"

static const Mistake UNSET = {"counters that nobody has set",
                              "Shared memory begins with whatever was there. Set it to 0, and let a barrier stand "
                              "between that and the first addition.",
                              LESSON};
static const Mistake UNORDERED = {"an addition that loses counts",
                                  "Two threads read, add and write the same counter, or one reads before others have "
                                  "added: additions to what threads share "
                                  "are atomic, and a barrier stands between setting, adding and reading.",
                                  "docs/29_debugging_kernels.md#a-barrier-that-is-missing"};
static const Mistake NO_BARRIER = {
    "a barrier is missing",
    "The counters are set, added to and read by threads of all warps of the block: between "
    "these three the block has to wait, by __syncthreads().",
    "docs/29_debugging_kernels.md#a-barrier-that-is-missing"};
static const Mistake OF_BLOCK = {
    "atomic for one block alone",
    "atomicAdd_block keeps apart what threads of one block add. Counters that all blocks add to take atomicAdd.",
    "docs/24_reductions.md#atomics"};
static const Mistake LAST_BLOCK = {
    "the counts of one block alone",
    "Each block has counted a part. The parts are added up, not written over each other.", LESSON};
static const Mistake REST_LEFT = {
    "the last elements left out",
    "Where several are read at a time some are left at the end, which have to be counted as well.", LESSON};
static const Mistake GLOBAL = {
    "counted in global memory",
    "An atomic operation on global memory for each element: count in shared memory, and add once for each block.",
    "docs/25_scan.md#a-histogram"};
static const Mistake MANY_BLOCKS = {
    "few elements for each block",
    "Each block adds all of its counters to counts. Let at most 8 blocks share x: a loop over it, as it was.",
    "docs/25_scan.md#a-histogram"};
static const Mistake OVERFLOW = {"a counter that is too small",
                                 "A number can stand in x as often as an int can say: 16 bits count up to 65535.",
                                 LESSON};
static const Mistake REST = {"the rest counted by each block",
                             "The last few elements, fewer than a thread takes at a time, are one block's: the others "
                             "must not count them, too.",
                             LESSON};
static const Mistake SEVERAL = {"more than one launch", "One launch does it: counts is 0 already.", LESSON};

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
// One number alone, more often in each of eight blocks than 16 bits can count.
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

// Fewer elements than 16, which is how many begin at a place for vectors, were counted again in each further block.
static bool rest_by_each(const Case *c, int64_t more) {
  const int64_t *s = launch_shape(c, 0), others = s ? s[0] * s[1] * s[2] - 1 : 0, n = given(c, "x")->count;
  return more > 0 && others > 0 && (more == others * (n % 16) || more == others * (n % 8) || more == others * (n % 4));
}

// Every count is there, and a race between blocks has been found all the same: of additions that are atomic for a block.
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
  suspect_that(c, has_finding(c, "uninitialised") && !raced, &UNSET); // with a race, somebody did set them
  const int64_t lost = x->count - sum; // where two counters share a word, 1 of 65536 comes to the other
  suspect_that(c, lost > 0 && (lost % 65536 == 0 || lost % 65535 == 0) && !raced, &OVERFLOW);
  const bool of_first = sum > 0 && sum < x->count && counts_first(c, sum); // blocks' shares are no beginning of x
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
  const int64_t *s = launch_shape(c, 0);
  const bool shared = inspected(c, SHARED_ATOMICS, (Where){.in_all = true}) >= (double)x->count / 2;
  expect_global_atomics(c, 64 * 8, shared && s && s[0] * s[1] * s[2] > 8 ? &MANY_BLOCKS : &GLOBAL);
}

EXERCISE = {
    .id = "29_3_counters",
    .title = "Find the bug: counters",
    .after_pass = "Shared memory is set before it is used, and what threads share is added to atomically.",
    .kind = "kernel",
    .chapter = 29,
    .level = LEVEL_MEDIUM,
    .minutes = 20,
    .bug = true,
    .lesson = LESSON,
    .hints = {"./ferry inspect has findings of two kinds: memory that nobody has written, and races.",
              "What does shared memory hold when a block begins?",
              "own[b]++ is a read, an addition and a write: two threads can lose a count.",
              "Set, barrier, add by atomicAdd, barrier, add to counts by atomicAdd."},
    .functions = {"count_on_device"},
    .tests = {{.name = "odd", .ask = ask_odd, .judge = judge, .inspect = true},
              {.name = "frequent numbers", .ask = ask_frequent, .judge = judge, .inspect = true},
              {.name = "few", .ask = ask_few, .judge = judge, .inspect = true},
              {.name = "one number, very often", .ask = ask_one_number, .judge = judge, .schedules = 1}},
};
