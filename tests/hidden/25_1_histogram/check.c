// SPDX-License-Identifier: MIT
// Exercise 25.1: a histogram by atomic operations, first in shared memory. What an addition that is not atomic loses is seen in
// the passes in which threads, or blocks, do not see each other's writes at once.
#include "exercise.h"
#include <math.h>
#include <string.h>

static const Mistake NOT_ATOMIC = {"additions that are not atomic",
                                   "counts[b]++ reads, adds and writes; two threads, or two blocks, that do so at the "
                                   "same time count once. atomicAdd does it in one "
                                   "step.",
                                   "docs/25_scan.md#a-histogram"};
static const Mistake ZEROED_INSIDE = {"zeroed while others add",
                                      "A block zeroes `counts` in the kernel in which others add to it. Blocks begin "
                                      "in any order: what others had added by then is lost. "
                                      "Zero it before the launch.",
                                      "docs/25_scan.md#a-histogram"};
static const Mistake SIXTEEN_BITS = {"counts of too few bits",
                                     "A bin may have more than 65535 elements: count in 32 bits.",
                                     "docs/25_scan.md#a-histogram"};
static const Mistake FEW_BLOCKS = {
    "one block for everything",
    "A block runs on one multiprocessor, and the others have nothing to do. Let several blocks share x.",
    "docs/25_scan.md#a-histogram"};
static const Mistake BYTES_FOR_BINS = {"bins bytes zeroed", "cudaMemset counts bytes: bins * sizeof *counts of them.",
                                       "docs/25_scan.md#a-histogram"};
static const Mistake ELEMENTS_LEFT_OUT = {
    "elements left out",
    "Some elements were counted by nobody. With fewer threads than elements each thread has a "
    "loop.",
    "docs/25_scan.md#a-histogram"};
static const Mistake ALL_GLOBAL = {"all additions in global memory",
                                   "Threads of all blocks queue at the same few addresses of global memory. Count in "
                                   "__shared__ memory first, and add each bin "
                                   "once for each block; with few blocks, each of many elements, that is little.",
                                   "docs/25_scan.md#a-histogram"};
static const Mistake NOT_ZEROED = {"counted on from what was there",
                                   "Neither `counts` nor a block's shared bins begin at 0 by themselves. Both have to "
                                   "be zeroed, the shared ones by the block's "
                                   "threads.",
                                   "docs/25_scan.md#a-histogram"};
static const Mistake NO_BARRIER = {"a barrier is missing",
                                   "Threads counted before the bins were zeroed, or added bins up that others were "
                                   "still counting in. __syncthreads() belongs "
                                   "between each two of the three parts.",
                                   "docs/25_scan.md#a-histogram"};
static const Mistake FEW_BINS = {"more bins than threads",
                                 "A thread took care of one bin, and there are more bins than threads in a block. "
                                 "Zeroing and adding up need a loop over the "
                                 "bins.",
                                 "docs/25_scan.md#a-histogram"};
static const Mistake CLAMPED = {
    "outsiders counted",
    "Values below 0 or beyond the last bin are not to be counted: not in the outermost bins, and not in those that "
    "their last bits are the numbers of.",
    "docs/25_scan.md#a-histogram"};
static const Mistake ONE_BLOCK = {
    "only one block's counts",
    "Each block wrote its bins over those of the others. The blocks' bins are to be added, by atomicAdd.",
    "docs/25_scan.md#a-histogram"};
static const Mistake EMPTY_GRID = {
    "a grid of no blocks",
    "For n = 0 a grid of n / threads blocks is an invalid configuration; the counts are 0 still.",
    "docs/25_scan.md#a-histogram"};
static const Mistake ON_HOST = {"finished on the host", "The counts were copied to the host, which waits for them.",
                                "docs/25_scan.md#a-histogram"};
static const Mistake MANY_BLOCKS = {
    "few elements for each block",
    "Each block adds all of its bins to `counts`. With a block for every few elements that is as much as adding each "
    "element there. Let few blocks have many elements each: a loop over x.",
    "docs/25_scan.md#a-histogram"};
static const Mistake LAUNCHES = {"a launch for every bin", "One launch counts all bins.",
                                 "docs/25_scan.md#a-histogram"};

// A third of the values fall into one bin, a few are outside on either side, one of them just beyond the last bin.
static void ask(Case *c, int64_t n, int64_t bins) {
  Array *x = draw_array(c, FY_INT32, shape(n), -2, (double)bins + 1);
  int32_t favourite = (int32_t)draw_int(c, 0, bins - 1);
  for (int64_t i = 0; i < n; i += 3)
    x->i32[i] = favourite;
  if (n > 1)
    x->i32[3 * draw_int(c, 0, (n - 2) / 3) + 1] = (int32_t)bins;
  give_array(c, "x", x, (Give){.device = "cuda:0"});
  give_number(c, "bins", (double)bins);
}
static void ask_small(Case *c) {
  ask(c, draw_odd(c, 33, 99), draw_odd(c, 5, 9));
}
static void ask_odd(Case *c) {
  ask(c, draw_odd(c, 2001, 3999), draw_odd(c, 11, 31));
}
static void ask_one_bin(Case *c) {
  ask(c, draw_odd(c, 501, 999), 1);
}
// Not many elements for so many bins: as many blocks as for millions would add more often than is allowed.
static void ask_many_bins_large(Case *c) {
  ask(c, draw_odd(c, 100003, 109999), draw_odd(c, 961, 1023));
}
static void ask_many_bins(Case *c) {
  ask(c, draw_odd(c, 5001, 5999), draw_odd(c, 801, 1023));
}
static void ask_most_bins(Case *c) {
  ask(c, draw_odd(c, 2001, 3999), 1024);
}
static void ask_large(Case *c) {
  ask(c, 4 * draw_odd(c, 50001, 55001),
      draw_odd(c, 129,
               227)); // a third of them: more than 16 bits hold. Bins that are shared out, 128 to a block, take two
}
// As many elements as may be, and nearly all in one bin, an odd one: what two bins of 16 bits in a word lose goes to no other bin.
// Of 16 blocks each, but for the first, has 65536 of them.
static void ask_one_value(Case *c) {
  int64_t n = 1 << 20, bins = draw_odd(c, 129, 227);
  Array *x = draw_array(c, FY_INT32, shape(n), -2, (double)bins + 1);
  int32_t favourite = (int32_t)draw_odd(c, 1, bins - 2);
  for (int64_t i = 0; i < n; i++)
    if (i >= 256 || i % 64 != 7)
      x->i32[i] = favourite;
  give_array(c, "x", x, (Give){.device = "cuda:0"});
  give_number(c, "bins", (double)bins);
}
// Outside of the bins, and many of them as far as there are ints: what is left of those in fewer bits may be a bin.
static void ask_far(Case *c) {
  ask(c, draw_odd(c, 501, 999), draw_odd(c, 11, 31));
  static const int64_t far[] = {1 << 8, -(1 << 8), 1 << 16, -(1 << 16), 1 << 24, -(1 << 24), INT32_MIN, INT32_MIN};
  const Array *x = given(c, "x");
  for (int64_t i = 1; i < x->count; i += 3) // no favourites
    x->i32[i] = (int32_t)(far[draw_int(c, 0, 7)] + draw_int(c, 0, 31));
  x->i32[2] = INT32_MAX;
}
static void ask_one(Case *c) { // within the bins
  ask(c, 1, draw_odd(c, 3, 9));
}
static void ask_none(Case *c) {
  ask(c, 0, draw_odd(c, 5, 9));
}

static int64_t bins_of(const Case *c) {
  return (int64_t)given_number(c, "bins");
}

// The right counts of the elements begin .. end - 1; with values outside brought to the nearest bin, or left out.
static Array *counted(Case *c, int64_t begin, int64_t end, bool clamp) {
  const Array *x = given(c, "x");
  int64_t bins = bins_of(c);
  Array *result = new_array(c, FY_INT32, shape(bins));
  for (int64_t i = begin; i < end && i < x->count; i++) {
    int64_t b = x->i32[i];
    bool inside = b >= 0 && b < bins;
    if (clamp)
      b = b < 0 ? 0 : b >= bins ? bins - 1 : b;
    if (inside || clamp)
      result->i32[b]++;
  }
  return result;
}

// What is counted where of each value only so many bits are kept, with a sign or without one.
static Array *in_fewer_bits(Case *c, int bits, bool sign) {
  const Array *x = given(c, "x");
  const int64_t bins = bins_of(c), all = INT64_C(1) << bits;
  Array *result = new_array(c, FY_INT32, shape(bins));
  for (int64_t i = 0; i < x->count; i++) {
    const int64_t low = x->i32[i] & (all - 1), b = sign && low >= all / 2 ? low - all : low;
    if (b >= 0 && b < bins)
      result->i32[b]++;
  }
  return result;
}

static int64_t sum_of(const Array *a) {
  int64_t sum = 0;
  for (int64_t i = 0; a && i < a->count; i++)
    sum += a->i32[i];
  return sum;
}

// Right in the first `period` bins, and later bins have nothing of theirs.
static bool few_bins(const Case *c, const Array *want, int64_t period) {
  const Array *a = got_shaped(c, "counts", want->shape);
  int64_t wrong = 0;
  if (!a || want->count <= period)
    return false;
  for (int64_t b = 0; b < want->count; b++) {
    wrong += a->i32[b] != want->i32[b];
    if ((b < period && wrong > 0) || (b >= period && want->i32[b] > 0 && a->i32[b] == want->i32[b]) ||
        (b >= period && a->i32[b] > want->i32[b] && a->i32[b] < 1 << 20))
      return false;
  }
  return wrong > 0;
}

// Each count began at the filling of fresh memory: -1, or 0x7f7f7f7f for each block in shared memory.
static bool from_filling(const Case *c, const Array *want) {
  const Array *a = got_shaped(c, "counts", want->shape);
  bool all_less = a != NULL, all_filled = a != NULL;
  for (int64_t b = 0; a && b < want->count; b++) {
    uint32_t more = (uint32_t)a->i32[b] - (uint32_t)want->i32[b], blocks = 1;
    while (blocks < 4096 && blocks * 0x7f7f7f7fu != more)
      blocks++;
    all_less = all_less && more == 0xffffffffu;
    all_filled = all_filled && blocks < 4096;
  }
  return all_less || all_filled;
}

static bool knows_atomics(const Case *c) {
  return !isnan(got_number(c, "barriers"));
}

// Right but for multiples of 65536, or of 256.
static bool lacks_high_bits(const Case *c, const Array *want, int32_t size) {
  const Array *a = got_shaped(c, "counts", want->shape);
  bool differs = false;
  for (int64_t b = 0; a && b < want->count; b++) {
    if ((a->i32[b] - want->i32[b]) % size != 0)
      return false;
    differs = differs || a->i32[b] != want->i32[b];
  }
  return a && differs && want->count > 1;
}

// Right in the first quarter of the bins, and one too few (from -1) behind it.
static bool zeroed_in_bytes(const Case *c, const Array *want) {
  const Array *a = got_shaped(c, "counts", want->shape);
  int64_t quarter = want->count / 4, shorter = 0;
  for (int64_t b = 0; a && b < want->count; b++) {
    if (b < quarter ? a->i32[b] != want->i32[b] : b > quarter && a->i32[b] != want->i32[b] - 1)
      return false;
    shorter += b > quarter;
  }
  return a && shorter > 0;
}

static bool none_is_above(const Case *c, const Array *want) {
  const Array *a = got_shaped(c, "counts", want->shape);
  for (int64_t b = 0; a && b < want->count; b++)
    if (a->i32[b] > want->i32[b] || a->i32[b] < 0)
      return false;
  return a && want->count > 1;
}

// The result was right in the passes before this one.
static void suspect_order(Case *c) {
  bool known = knows_atomics(c), shared = known && got_number(c, "shared atomics") > 0;
  bool global = known && got_number(c, "global atomics") > 0;
  CaseSchedule schedule = case_schedule(c);
  suspect_that(c, schedule == SCHEDULE_WITHIN_BLOCKS && known && !shared && got_number(c, "barriers") >= 2,
               &NOT_ATOMIC);
  suspect_that(c, schedule == SCHEDULE_THREADS_DOWN || schedule == SCHEDULE_WITHIN_BLOCKS, &NO_BARRIER);
  suspect_that(c, (schedule == SCHEDULE_BLOCKS_DOWN || schedule == SCHEDULE_BETWEEN_BLOCKS) && global, &ZEROED_INSIDE);
  suspect_that(c, schedule == SCHEDULE_BETWEEN_BLOCKS && known && !global, &NOT_ATOMIC);
}

static void suspect_mistakes(Case *c, const Array *want) {
  int64_t n = given(c, "x")->count;
  const Array *a = got(c, "counts"), *clamped = counted(c, 0, n, true);
  suspect_faults(c);
  suspect_that(c, refused_empty_grid(c), &EMPTY_GRID);
  suspect_that(c, counts(c)->launches == 0 && n > 0, &NO_KERNEL);
  if (case_schedule(c) != SCHEDULE_IN_ORDER && !*got_error(c)) {
    suspect_order(c);
    return;
  }
  suspect_that(c, n == 0 && from_filling(c, want), &NOT_WRITTEN);
  suspect_that(c, from_filling(c, want), &NOT_ZEROED);
  suspect_that(c, zeroed_in_bytes(c, want), &BYTES_FOR_BINS);
  suspect_that(c, lacks_high_bits(c, want, 65536) || lacks_high_bits(c, want, 256), &SIXTEEN_BITS);
  for (int64_t threads = 64; threads <= 512; threads *= 2)
    suspect_that(c, few_bins(c, want, threads), &FEW_BINS);
  if (sum_of(clamped) > sum_of(want))
    suspect_array(c, "counts", clamped, &CLAMPED);
  for (int bits = 8; bits <= 24; bits += 8)
    for (int sign = 0; sign < 2 && strcmp(case_test(c), "values far outside") == 0; sign++)
      suspect_array(c, "counts", in_fewer_bits(c, bits, sign), &CLAMPED);
  bool barriers =
      knows_atomics(c) && !*got_error(c) && got_number(c, "shared atomics") > 0 && got_number(c, "barriers") < 2;
  suspect_that(c, barriers, &NO_BARRIER);
  bool short_of_some = a && n > 1024 && none_is_above(c, want) && sum_of(a) > 0;
  suspect_that(c, short_of_some && knows_atomics(c) && got_number(c, "global atomics") == 0, &ONE_BLOCK);
  suspect_that(c, short_of_some, &ELEMENTS_LEFT_OUT);
  suspect_that(c, a && sum_of(a) > sum_of(want), &NOT_ZEROED);
}

static void expect_spread(Case *c) {
  int64_t n = given(c, "x")->count, most_blocks = 0;
  for (int i = 0; launch_shape(c, i); i++) {
    const int64_t *s = launch_shape(c, i);
    most_blocks = s[0] * s[1] * s[2] > most_blocks ? s[0] * s[1] * s[2] : most_blocks;
  }
  if (n <= 100000 || bins_of(c) <= 128 || !launch_shape(c, 0))
    return;
  expect_at_most(c, "atomic operations on global memory", got_count(c, "global atomics"), n / 8,
                 got_number(c, "shared atomics") >= (double)n / 2 ? &MANY_BLOCKS : &ALL_GLOBAL);
  expect_that(c, most_blocks > 1, &FEW_BLOCKS, "the launch has one block, for %lld elements", (long long)n);
}

static void judge(Case *c) {
  int64_t n = given(c, "x")->count;
  const Array *want = counted(c, 0, n, false);
  suspect_mistakes(c, want);
  if (!expect_array(c, "counts", want, 0))
    return;
  if (n > 0)
    expect_at_least(c, "launches", counts(c)->launches, 1, &NO_KERNEL);
  expect_exactly(c, "copies from device to host", counts(c)->device_to_host, 0, &ON_HOST);
  expect_at_most(c, "launches", counts(c)->launches, 2, &LAUNCHES);
  if (knows_atomics(c))
    expect_spread(c);
}

// Threads that see each other's accesses: what every order of them hides is found here.
static void judge_inspected(Case *c) {
  const Array *want = counted(c, 0, given(c, "x")->count, false);
  if (!expect_array(c, "counts", want, 0))
    suspect_mistakes(c, want);
  else
    expect_no_finding(c);
}

EXERCISE = {
    .id = "25_1_histogram",
    .title = "Histogram",
    .after_pass = "Counting in a block's shared memory first leaves few atomic operations for global memory.",
    .kind = "kernel",
    .chapter = 25,
    .level = LEVEL_MEDIUM,
    .minutes = 30,
    .essential = true,
    .lesson = "docs/25_scan.md#a-histogram",
    .hints =
        {"for (int b = threadIdx.x; b < bins; b += blockDim.x) reaches all bins, however many threads there are.",
         "atomicAdd(&of_block[x[i]], 1u) counts in shared memory; the same function adds a block's bin to counts[b].",
         "Few blocks, each with many elements (a grid-stride loop): then there is little to add up at the end.",
         "cudaMemsetAsync(counts, 0, ...) before the launch; for n = 0 that is all."},
    .functions = {"histogram_on_device"},
    .tests = {{.name = "small and odd", .ask = ask_small, .judge = judge},
              {.name = "several blocks, odd", .ask = ask_odd, .judge = judge},
              {.name = "one bin", .ask = ask_one_bin, .judge = judge},
              {.name = "many bins", .ask = ask_many_bins, .judge = judge},
              {.name = "as many bins as may be", .ask = ask_most_bins, .judge = judge},
              {.name = "many elements and many bins", .ask = ask_many_bins_large, .judge = judge, .schedules = 2},
              {.name = "large and odd", .ask = ask_large, .judge = judge},
              {.name = "large, nearly all in one bin", .ask = ask_one_value, .judge = judge, .schedules = 1},
              {.name = "values far outside", .ask = ask_far, .judge = judge, .schedules = 1},
              {.name = "one element", .ask = ask_one, .judge = judge},
              {.name = "no elements", .ask = ask_none, .judge = judge},
              {.name = "what its threads share", .inspect = true, .ask = ask_odd, .judge = judge_inspected}},
};
