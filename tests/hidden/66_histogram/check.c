// Exercise 66: a histogram by atomic operations, first in shared memory. Simulated devices run the threads of a block one after
// another, so that an addition that is not atomic loses nothing; the number of atomic operations tells.
#include "exercise.h"
#include <math.h>

static const Mistake NOT_ATOMIC = {
    "additions that are not atomic",
    "There were fewer atomic operations than there is to add. counts[b]++ reads, adds and writes; two threads that do "
    "so at the "
    "same time count once. It went well here only because a simulated device runs threads one by one.",
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
    "Values below 0 or beyond the last bin are not to be counted, and not in the outermost bins "
    "either.",
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
                                "docs/07_pitfalls.md#to-and-fro-against-staying"};
static const Mistake LAUNCHES = {"a launch for every bin", "One launch counts all bins.",
                                 "docs/07_pitfalls.md#many-small-transfers-against-one"};

// A third of the values fall into one bin, a few are outside on either side.
static void ask(Case *c, int64_t n, int64_t bins) {
  Array *x = draw_array(c, FY_INT32, shape(n), -2, (double)bins + 1);
  int32_t favourite = (int32_t)draw_int(c, 0, bins - 1);
  for (int64_t i = 0; i < n; i += 3)
    x->i32[i] = favourite;
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
static void ask_many_bins(Case *c) {
  ask(c, draw_odd(c, 5001, 5999), draw_odd(c, 801, 1023));
}
static void ask_most_bins(Case *c) {
  ask(c, draw_odd(c, 2001, 3999), 1024);
}
static void ask_large(Case *c) {
  ask(c, draw_odd(c, 100001, 120001), draw_odd(c, 101, 199));
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

static int64_t sum_of(const Array *a) {
  int64_t sum = 0;
  for (int64_t i = 0; a && i < a->count; i++)
    sum += a->i32[i];
  return sum;
}

// Right in the first `period` bins, wrong in a later one.
static bool few_bins(const Case *c, const Array *want, int64_t period) {
  const Array *a = got_shaped(c, "counts", want->shape);
  int64_t wrong = 0;
  if (!a || want->count <= period)
    return false;
  for (int64_t b = 0; b < want->count; b++) {
    wrong += a->i32[b] != want->i32[b];
    if (b < period && wrong > 0)
      return false;
  }
  return wrong > 0;
}

// Some count is one less than it should be: it began at the filling of fresh memory, -1.
static bool from_filling(const Case *c, const Array *want) {
  const Array *a = got_shaped(c, "counts", want->shape);
  for (int64_t b = 0; a && b < want->count; b++)
    if (a->i32[b] != want->i32[b] - 1)
      return false;
  return a != NULL;
}

static bool knows_atomics(const Case *c) {
  return !isnan(got_number(c, "barriers"));
}

static void suspect_mistakes(Case *c, const Array *want) {
  int64_t n = given(c, "x")->count;
  const Array *a = got(c, "counts"), *clamped = counted(c, 0, n, true);
  suspect_error(c, "invalid configuration", &EMPTY_GRID);
  suspect_that(c, counts(c)->launches == 0 && n > 0, &NO_KERNEL);
  suspect_that(c, from_filling(c, want), &NOT_ZEROED);
  for (int64_t threads = 64; threads <= 512; threads *= 2)
    suspect_that(c, few_bins(c, want, threads), &FEW_BINS);
  if (sum_of(clamped) > sum_of(want))
    suspect_array(c, "counts", clamped, &CLAMPED);
  bool barriers = knows_atomics(c) && got_number(c, "shared atomics") > 0 && got_number(c, "barriers") < 2;
  suspect_that(c, barriers, &NO_BARRIER);
  suspect_that(c, a && n > 1024 && sum_of(a) > 0 && sum_of(a) <= 3 * sum_of(want) / 4, &ONE_BLOCK);
  suspect_that(c, a && sum_of(a) > sum_of(want), &NOT_ZEROED);
}

// Each bin that has counts was added to at least once, and each element once, here or there.
static void expect_atomics(Case *c, const Array *want) {
  int64_t n = given(c, "x")->count, global = got_count(c, "global atomics");
  int64_t shared = got_count(c, "shared atomics"), used = 0;
  for (int64_t b = 0; b < want->count; b++)
    used += want->i32[b] > 0;
  if (n > 100000)
    expect_at_most(c, "atomic operations on global memory", global, n / 8, &ALL_GLOBAL);
  expect_that(c, global >= used, &NOT_ATOMIC,
              "%lld bins have counts, and there were %lld atomic operations on `counts`", (long long)used,
              (long long)global);
  expect_that(c, global + shared >= sum_of(want), &NOT_ATOMIC, "%lld elements were counted with %lld atomic operations",
              (long long)sum_of(want), (long long)(global + shared));
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
  if (knows_atomics(c) && n > 0)
    expect_atomics(c, want);
}

EXERCISE = {
    .id = "66_histogram",
    .title = "Counting in shared memory",
    .kind = "kernel",
    .chapter = 25,
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
              {.name = "large and odd", .ask = ask_large, .judge = judge},
              {.name = "no elements", .ask = ask_none, .judge = judge}},
};
