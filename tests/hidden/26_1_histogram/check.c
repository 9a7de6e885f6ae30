// SPDX-License-Identifier: MIT
// Exercise 26.1: a histogram by atomic operations, first in shared memory. An addition that is not atomic loses counts in
// the schedules in which threads, or blocks, see each other's writes late.
#include "exercise.h"
#include <string.h>

#define LESSON "docs/26_scan.md#histogram"

static const Mistake NOT_ATOMIC = {"non-atomic update",
                                   "counts[b]++ reads, adds and writes in separate steps. If two threads do this at "
                                   "the same time, one of the increments is lost. Use atomicAdd.",
                                   LESSON};
static const Mistake BETWEEN_BLOCKS = {
    "data race between blocks",
    "Several blocks write to the same bins of counts. Use atomicAdd: a plain = or += loses the counts of other blocks.",
    LESSON};
static const Mistake BLOCK_ORDER = {"dependence on the block order",
                                    "The counts change when the blocks run in a different order. If a block zeroes "
                                    "counts, other blocks may already have added to it. Zero counts before the launch.",
                                    LESSON};
static const Mistake SIXTEEN_BITS = {
    "16-bit overflow", "A bin may have more than 65,535 elements, even within one block. Count in 32 bits.", LESSON};
static const Mistake SINGLE_BLOCK = {
    "single block", "A single block runs on one multiprocessor, and all others are idle. Let several blocks share x.",
    LESSON};
static const Mistake BYTES_FOR_BINS = {"bytes and elements mixed up",
                                       "cudaMemset expects a number of bytes: bins * sizeof *counts.", LESSON};
static const Mistake NO_LOOP = {"missing loop over the elements",
                                "The grid may have fewer threads than x has elements. Let each thread count several "
                                "elements in a grid-stride loop.",
                                LESSON};
static const Mistake BLOCK_STRIDE = {"block stride instead of grid stride",
                                     "Several blocks count the same elements. The stride of the loop must be the "
                                     "number of threads in the grid: gridDim.x * blockDim.x.",
                                     LESSON};
static const Mistake MANY_ATOMICS = {"too many atomic operations",
                                     "Threads of all blocks add to the same few addresses of global memory. Count in "
                                     "shared memory first, then add each bin once per block.",
                                     LESSON};
static const Mistake FEW_ELEMENTS = {
    "few elements per block",
    "Each block adds its bins to counts. If a block has only a few elements, this takes about one atomic operation per "
    "element. Launch fewer blocks, each with a loop over many elements.",
    LESSON};
static const Mistake NOT_ZEROED = {
    "counts not zeroed",
    "counts may contain any values before the call. Zero it on the device before blocks add to it.", LESSON};
static const Mistake SHARED_NOT_ZEROED = {"uninitialized shared memory",
                                          "A bin in shared memory is used before it is zeroed. Zero all bins first, "
                                          "and count only values from 0 to bins - 1.",
                                          LESSON};
static const Mistake NO_BARRIER = {
    "missing barrier",
    "A thread counts before all bins are zeroed, or reads a bin in which other threads still count. Put a "
    "__syncthreads() between zeroing and counting, and another one between counting and adding to counts.",
    LESSON};
static const Mistake FEW_BINS = {
    "more bins than threads",
    "There may be more bins than threads in a block. Loop over the bins, both to zero them and to add them to counts.",
    LESSON};
static const Mistake CLAMPED = {"out-of-range values counted",
                                "Values below 0, and values greater than or equal to bins, belong to no bin. Compare "
                                "all 32 bits of x[i] with 0 and bins.",
                                LESSON};
static const Mistake SHARED_INDEX = {"out-of-bounds shared memory access",
                                     "A thread uses an index outside of the shared array. Count x[i] only if it is at "
                                     "least 0 and less than bins, and declare the array for 1024 bins.",
                                     LESSON};
static const Mistake OUTSIDE = {"out-of-bounds access",
                                "A thread uses an index outside of x or counts. Compare i with n before you read x[i], "
                                "and b with bins before you add to counts[b].",
                                LESSON};
static const Mistake EMPTY_GRID = {
    "empty grid",
    "For n = 0, the grid has 0 blocks, which is an invalid configuration. Zero counts, and launch nothing.", LESSON};
static const Mistake ON_HOST = {
    "finished on the host",
    "Data was copied to the host, so the host had to wait. Add up the bins of all blocks on the device.", LESSON};

// A third of the values fall into one bin, a few are outside on either side, one of them just past the last bin.
static void ask(Case *c, int64_t n, int64_t bins) {
  Array *x = draw_array(c, FY_INT32, shape(n), -2, (double)bins + 1);
  int32_t favorite = (int32_t)draw_int(c, 0, bins - 1);
  for (int64_t i = 0; i < n; i += 3)
    x->i32[i] = favorite;
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
// Many elements per bin: even blocks of few elements add less often than every second element does.
static void ask_few_bins(Case *c) {
  ask(c, draw_odd(c, 20001, 20999), draw_odd(c, 11, 19));
}
// Few elements per bin: as many blocks as for millions of elements add more often than that.
static void ask_many_bins_large(Case *c) {
  ask(c, draw_odd(c, 40001, 40999), draw_odd(c, 551, 599));
}
static void ask_many_bins(Case *c) {
  ask(c, draw_odd(c, 5001, 5999), draw_odd(c, 801, 1023));
}
static void ask_most_bins(Case *c) {
  ask(c, draw_odd(c, 2001, 3999), 1024);
}
static void ask_large(Case *c) {
  ask(c, 4 * draw_odd(c, 50001, 55001), draw_odd(c, 129, 227)); // a third of them is more than 16 bits hold
}
// The most elements, nearly all in one odd bin: if two bins of 16 bits share a word, its overflow reaches no other bin. Each of 16
// blocks but the first has 65536 of them.
static void ask_one_value(Case *c) {
  int64_t n = 1 << 20, bins = draw_odd(c, 129, 227);
  Array *x = draw_array(c, FY_INT32, shape(n), -2, (double)bins + 1);
  int32_t favorite = (int32_t)draw_odd(c, 1, bins - 2);
  for (int64_t i = 0; i < n; i++)
    if (i >= 256 || i % 64 != 7)
      x->i32[i] = favorite;
  give_array(c, "x", x, (Give){.device = "cuda:0"});
  give_number(c, "bins", (double)bins);
}
// Many values far out of range: in fewer bits they may be in range.
static void ask_far(Case *c) {
  ask(c, draw_odd(c, 501, 999), draw_odd(c, 11, 31));
  static const int64_t far[] = {1 << 8, -(1 << 8), 1 << 16, -(1 << 16), 1 << 24, -(1 << 24), INT32_MIN, INT32_MIN};
  const Array *x = given(c, "x");
  for (int64_t i = 1; i < x->count; i += 3) // no favorites
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

// The right counts of the elements begin .. end - 1; with values out of range clamped to the nearest bin, or left out.
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

// The counts if only so many bits of each value are kept, signed or unsigned.
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

// The counts if every block goes through all elements from its own on, with a stride of its `threads` threads.
static Array *with_block_stride(Case *c, int64_t blocks, int64_t threads) {
  const Array *x = given(c, "x");
  Array *result = new_array(c, FY_INT32, shape(bins_of(c)));
  for (int64_t i = 0; i < x->count; i++)
    if (x->i32[i] >= 0 && x->i32[i] < bins_of(c))
      result->i32[x->i32[i]] += (int32_t)(i / threads < blocks ? i / threads + 1 : blocks);
  return result;
}

static bool all_equal(const Array *a, const Array *b) {
  return memcmp(a->i32, b->i32, (size_t)a->count * sizeof(int32_t)) == 0;
}

// Right in the first `period` bins, and wrong in the later ones.
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
  return wrong >= 8;
}

// Each count began at the filling of fresh memory: of global memory -1, of shared memory 0x7f7f7f7f for each block.
static bool from_filling(const Case *c, const Array *want, bool of_shared) {
  const Array *a = got_shaped(c, "counts", want->shape);
  bool all = a != NULL;
  for (int64_t b = 0; all && b < want->count; b++) {
    uint32_t more = (uint32_t)a->i32[b] - (uint32_t)want->i32[b], blocks = 1;
    while (of_shared && blocks < 4096 && blocks * 0x7f7f7f7fu != more)
      blocks++;
    all = of_shared ? blocks < 4096 : more == 0xffffffffu;
  }
  return all;
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

// Right in the first quarter of the bins, and one too few (from -1) after it.
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

// The result was right in the schedules before this one.
static void suspect_order(Case *c) {
  CaseSchedule schedule = case_schedule(c);
  suspect_that(c, schedule == SCHEDULE_BLOCKS_DOWN, &BLOCK_ORDER);
  suspect_that(c, schedule == SCHEDULE_BETWEEN_BLOCKS, &BETWEEN_BLOCKS);
}

static void suspect_findings(Case *c) {
  const bool outside = has_finding(c, "bounds");
  const bool races = !outside && (has_finding(c, "race-block") || has_finding(c, "race-warp"));
  const bool atomics = case_inspected(c) && inspected(c, SHARED_ATOMICS, (Where){.in_all = true}) > 0;
  suspect_error(c, "outside of the shared array", &SHARED_INDEX);
  suspect_finding(c, "bounds-array", &SHARED_INDEX);
  suspect_finding(c, "bounds-dynamic", &SHARED_INDEX);
  suspect_error(c, ": it reads ", &OUTSIDE);
  suspect_error(c, ": it writes ", &OUTSIDE);
  suspect_finding(c, "bounds-global", &OUTSIDE);
  suspect_that(c, races, atomics ? &NO_BARRIER : &NOT_ATOMIC);
  suspect_finding(c, "uninitialized-shared", &SHARED_NOT_ZEROED);
  suspect_finding(c, "race-grid", &BETWEEN_BLOCKS);
}

// The counts of known mistakes in the loop over x, for the launch's shape.
static void suspect_loops(Case *c, const Array *want) {
  const int64_t *s = launch_shape(c, 0);
  if (!s || counts(c)->launches != 1)
    return;
  const int64_t blocks = s[0] * s[1] * s[2], threads = s[3] * s[4] * s[5];
  const Array *first = counted(c, 0, blocks * threads, false), *twice = with_block_stride(c, blocks, threads);
  if (!all_equal(first, want))
    suspect_array(c, "counts", first, &NO_LOOP);
  if (!all_equal(twice, want))
    suspect_array(c, "counts", twice, &BLOCK_STRIDE);
}

static void suspect_mistakes(Case *c, const Array *want) {
  int64_t n = given(c, "x")->count;
  const Array *clamped = counted(c, 0, n, true);
  suspect_findings(c);
  suspect_faults(c);
  suspect_sure(c, refused_empty_grid(c), &EMPTY_GRID);
  suspect_that(c, counts(c)->launches == 0 && n > 0, &NO_KERNEL);
  if (case_schedule(c) != SCHEDULE_IN_ORDER && !*got_error(c)) {
    suspect_order(c);
    return;
  }
  suspect_that(c, n == 0 && from_filling(c, want, false), &NOT_WRITTEN);
  suspect_that(c, from_filling(c, want, false), &NOT_ZEROED);
  suspect_that(c, from_filling(c, want, true), &SHARED_NOT_ZEROED);
  suspect_that(c, zeroed_in_bytes(c, want), &BYTES_FOR_BINS);
  suspect_that(c, lacks_high_bits(c, want, 65536) || lacks_high_bits(c, want, 256), &SIXTEEN_BITS);
  for (int64_t threads = 64; threads <= 512; threads *= 2)
    suspect_that(c, few_bins(c, want, threads), &FEW_BINS);
  if (!all_equal(clamped, want))
    suspect_array(c, "counts", clamped, &CLAMPED);
  for (int bits = 8; bits <= 24; bits += 8)
    for (int sign = 0; sign < 2 && strcmp(case_test(c), "values far out of range") == 0; sign++)
      suspect_array(c, "counts", in_fewer_bits(c, bits, sign), &CLAMPED);
  suspect_loops(c, want);
}

static bool judge_counts(Case *c) {
  int64_t n = given(c, "x")->count;
  const Array *want = counted(c, 0, n, false);
  suspect_mistakes(c, want);
  if (!expect_array(c, "counts", want, 0))
    return false;
  if (n > 0 && !expect_at_least(c, "launches", counts(c)->launches, 1, &NO_KERNEL))
    return false;
  return expect_exactly(c, "copies from device to host", counts(c)->device_to_host, 0, &ON_HOST) &&
         expect_no_finding(c);
}

static void judge(Case *c) {
  judge_counts(c);
}

static void judge_few_bins(Case *c) {
  if (judge_counts(c))
    expect_global_atomics(c, given(c, "x")->count / 2, &MANY_ATOMICS);
}

static void judge_many_bins(Case *c) {
  int64_t n = given(c, "x")->count, most_blocks = 0;
  if (!judge_counts(c))
    return;
  for (int i = 0; launch_shape(c, i); i++) {
    const int64_t *s = launch_shape(c, i);
    most_blocks = s[0] * s[1] * s[2] > most_blocks ? s[0] * s[1] * s[2] : most_blocks;
  }
  expect_global_atomics(c, n / 2, &FEW_ELEMENTS);
  expect_that(c, most_blocks != 1, &SINGLE_BLOCK, "no launch has more than one block, for %lld elements", (long long)n);
}

EXERCISE = {
    .id = "26_1_histogram",
    .title = "Histogram",
    .after_pass = "Privatization: each block counts in its own shared memory, and adds each bin to global memory once.",
    .kind = "kernel",
    .chapter = 26,
    .level = LEVEL_MEDIUM,
    .minutes = 30,
    .essential = true,
    .lesson = LESSON,
    .stars = {{"at most n / 2 atomic operations on global memory even with 600 bins (at n = 40,000)", {&FEW_ELEMENTS}},
              {"several blocks share x", {&SINGLE_BLOCK}}},
    .hints =
        {"The kernel has three parts, separated by barriers: zero the block's bins, count the block's elements, add "
         "the bins to counts.",
         "for (int b = threadIdx.x; b < bins; b += blockDim.x) visits all bins with any number of threads.",
         "atomicAdd(&shared[x[i]], 1u) counts in shared memory. The same function adds a block's bin to counts[b].",
         "Launch few blocks, each with a grid-stride loop over many elements. Zero counts with cudaMemsetAsync before "
         "the launch. For n = 0, launch nothing."},
    .functions = {"histogram_on_device"},
    .tests =
        {{.name = "small and odd", .inspect = true, .ask = ask_small, .judge = judge},
         {.name = "several blocks", .inspect = true, .ask = ask_odd, .judge = judge},
         {.name = "one element", .ask = ask_one, .judge = judge},
         {.name = "one bin", .ask = ask_one_bin, .judge = judge},
         {.name = "order of threads and blocks", .ask = ask_odd, .judge = judge},
         {.name = "many bins", .ask = ask_many_bins, .judge = judge},
         {.name = "1024 bins", .ask = ask_most_bins, .judge = judge},
         {.name = "20,000 elements, few bins: atomics", .inspect = true, .ask = ask_few_bins, .judge = judge_few_bins},
         {.name = "40,000 elements, many bins: atomics",
          .inspect = true,
          .ask = ask_many_bins_large,
          .judge = judge_many_bins},
         {.name = "large and odd", .ask = ask_large, .judge = judge},
         {.name = "large, nearly all in one bin", .ask = ask_one_value, .judge = judge, .schedules = 1},
         {.name = "values far out of range", .ask = ask_far, .judge = judge, .schedules = 1},
         {.name = "no elements", .ask = ask_none, .judge = judge}},
};
