// SPDX-License-Identifier: MIT
// Exercise 26.2: an inclusive scan.
#include "exercise.h"
#include <string.h>

#define LESSON "docs/26_scan.md"

static const Mistake EXCLUSIVE = {"exclusive scan",
                                  "out[i] is the sum of the elements before x[i]. An inclusive scan adds x[i] as well.",
                                  LESSON "#scan-within-a-block"};
static const Mistake CHUNKS = {
    "chunk offsets missing",
    "The scan of each block starts again at 0. Add the sum of all earlier chunks to each element.",
    LESSON "#scan-over-several-blocks"};
static const Mistake NEIGHBOR = {
    "only the previous chunk's total added",
    "A chunk's offset is the sum of all earlier chunks, not only of the previous one. Scan the totals.",
    LESSON "#scan-over-several-blocks"};
static const Mistake OWN = {"own chunk total in the offset",
                            "A chunk's offset must not include its own total. After an inclusive scan of the totals, "
                            "the offset of chunk b is at index b - 1.",
                            LESSON "#scan-over-several-blocks"};
static const Mistake WARPS = {"warp offsets missing",
                              "A shuffle exchanges values only among the 32 lanes of a warp. Add the totals of all "
                              "earlier warps, through shared memory.",
                              LESSON "#warp-level-scan-with-shuffles"};
static const Mistake NO_BARRIER = {"missing barrier between read and write",
                                   "In the same step, one thread reads an element that another thread overwrites. Use "
                                   "two buffers alternately, or put a barrier between the reads and the writes.",
                                   LESSON "#scan-within-a-block"};
static const Mistake DIVERGENT = {"divergent barrier",
                                  "Threads past the end returned before a barrier or a shuffle. All threads of the "
                                  "block must reach it. Let threads past the end take part with a 0.",
                                  LESSON "#scan-within-a-block"};
static const Mistake MANY_CHUNKS = {"more chunks than threads",
                                    "There may be more chunk totals than threads in a block. Scan the totals in a loop "
                                    "that carries the sum of all earlier iterations.",
                                    LESSON "#scan-over-several-blocks"};
static const Mistake ROUNDED_DOWN = {"grid size rounded down",
                                     "n / threads rounds down, so the last elements have no thread. Round up: (n + "
                                     "threads - 1) / threads.",
                                     LESSON "#scan-over-several-blocks"};
static const Mistake BEYOND = {"missing bounds check",
                               "The last block may have more threads than elements. Threads past the end must not read "
                               "x. Let them take part with a 0 and write nothing.",
                               LESSON "#scan-over-several-blocks"};
static const Mistake UNCOALESCED = {
    "uncoalesced access",
    "Each thread accesses a group of neighboring elements one by one, so the lanes of a request are sectors apart. Let "
    "neighboring threads access neighboring elements, or an int4 each.",
    "docs/22_global_memory.md#strided-access"};
static const Mistake SERIAL = {"serial kernel",
                               "One thread does all the work of a kernel, and the other lanes of its warp are idle. "
                               "Let all threads of a block scan the totals.",
                               LESSON "#scan-within-a-block"};
static const Mistake EMPTY_GRID = {
    "empty grid", "For n = 0, the grid has 0 blocks, which is an invalid configuration. Launch nothing.",
    LESSON "#scan-over-several-blocks"};
static const Mistake WAITED = {"host synchronization",
                               "The host waited for the device between the kernels. Leave the totals on the device: "
                               "kernels in the same stream run in order.",
                               LESSON "#scan-over-several-blocks"};
static const Mistake LAUNCHES = {"too many launches",
                                 "With one launch per step, each launch reads and writes the whole array. Three "
                                 "launches are enough: chunks, totals, offsets.",
                                 LESSON "#scan-over-several-blocks"};

static void ask(Case *c, int64_t n) {
  give_array(c, "x", draw_array(c, FY_INT32, shape(n), -1000, 9000), (Give){.device = "cuda:0"});
  give_number(c, "n", (double)n);
}
static void ask_whole(Case *c) {
  ask(c, 2048);
}
static void ask_odd(Case *c) {
  ask(c, draw_odd(c, 4097, 5999));
}
static void ask_small(Case *c) {
  ask(c, draw_odd(c, 3, 29));
}
static void ask_block(Case *c) {
  ask(c, draw_odd(c, 33, 199));
}
static void ask_large(Case *c) {
  ask(c, 1024 * draw_int(c, 257, 274) + 1); // one element more than whole blocks have
}
static void ask_one(Case *c) {
  ask(c, 1);
}
static void ask_none_first(Case *c) {
  ask(c, draw_odd(c, 1025, 1999));
  give_number(c, "none first", 1);
}

// The scan when each `chunk` starts at 0, with or without the total of the chunk before it, and with or without x[i] itself.
static Array *scanned(Case *c, int64_t chunk, bool neighbor, bool inclusive) {
  const Array *x = given(c, "x");
  Array *out = new_array(c, FY_INT32, x->shape);
  int32_t sum = 0, earlier = 0;
  for (int64_t i = 0; i < x->count; i++) {
    if (i % chunk == 0) {
      earlier = neighbor ? sum : 0;
      sum = 0;
    }
    sum += x->i32[i];
    out->i32[i] = earlier + sum - (inclusive ? 0 : x->i32[i]);
  }
  return out;
}

// The right scan, with each chunk's own sum added to it once more, from chunk `first` on.
static Array *with_own_sums(Case *c, int64_t chunk, int64_t first) {
  const Array *x = given(c, "x");
  Array *out = scanned(c, x->count, false, true);
  for (int64_t begin = first * chunk; begin < x->count; begin += chunk) {
    const int64_t end = begin + chunk < x->count ? begin + chunk : x->count;
    int32_t sum = 0;
    for (int64_t i = begin; i < end; i++)
      sum += x->i32[i];
    for (int64_t i = begin; i < end; i++)
      out->i32[i] += sum;
  }
  return out;
}

// Right as far as one round of the totals reaches, and wrong after it?
static bool right_at_first(const Case *c, const Array *want) {
  const Array *out = got_shaped(c, "out", want->shape);
  int64_t right = 0;
  while (out && right < out->count && out->i32[right] == want->i32[right])
    right++;
  bool whole_scan = false; // as many chunks as a chunk has elements
  for (int64_t threads = 32; threads <= 1024; threads *= 2)
    whole_scan |= right >= threads * threads && right <= threads * threads + threads;
  return out && right < out->count && whole_scan;
}

static bool last_missing(const Case *c, const Array *want) {
  const Array *out = got_shaped(c, "out", want->shape);
  const int64_t end = columns_written(out);
  int64_t right = 0;
  while (right < end && out->i32[right] == want->i32[right])
    right++;
  return end > 0 && end < want->count && end % 32 == 0 && right >= 32;
}

static void suspect_mistakes(Case *c, const Array *want) {
  int64_t n = want->count;
  suspect_that(c, refused_empty_grid(c) && strcmp(case_test(c), "no elements, then some") != 0, &ROUNDED_DOWN);
  suspect_error(c, "invalid configuration", &EMPTY_GRID);
  suspect_that(c, counts(c)->launches == 0, &NO_KERNEL);
  suspect_finding(c, "divergent", &DIVERGENT);
  suspect_finding(c, "bounds", &BEYOND);
  suspect_array(c, "out", scanned(c, n, false, false), &EXCLUSIVE);
  suspect_that(c, last_missing(c, want), &ROUNDED_DOWN);
  if (n > 32)
    suspect_array(c, "out", scanned(c, 32, false, true), &WARPS);
  for (int64_t chunk = 64; chunk <= 4096 && chunk < n; chunk *= 2) {
    suspect_array(c, "out", scanned(c, chunk, false, true), &CHUNKS);
    suspect_array(c, "out", scanned(c, chunk, true, true), &NEIGHBOR);
    suspect_array(c, "out", with_own_sums(c, chunk, 0), &OWN);
    suspect_array(c, "out", with_own_sums(c, chunk, 1), &OWN);
  }
  suspect_finding(c, "race-block", &NO_BARRIER);
  suspect_finding(c, "race-warp", &NO_BARRIER);
  suspect_that(c, case_schedule(c) == SCHEDULE_IN_ORDER && right_at_first(c, want), &MANY_CHUNKS);
}

static void judge(Case *c) {
  const Array *want = scanned(c, given(c, "x")->count, false, true);
  suspect_mistakes(c, want);
  if (!expect_array(c, "out", want, 0) || !expect_by_kernel(c))
    return;
  expect_exactly(c, "host synchronizations", counts(c)->synchronizations, 0, &WAITED);
  expect_at_most(c, "launches", counts(c)->launches, 4, &LAUNCHES);
  expect_no_finding(c);
}

static void judge_traffic(Case *c) {
  judge(c);
  expect_parallel(c, 0.2, &SERIAL);
  expect_sectors(c, 1.5, &UNCOALESCED);
}

EXERCISE = {
    .id = "26_2_inclusive_scan",
    .title = "Inclusive scan",
    .after_pass =
        "Scan-then-propagate: scan each chunk, scan the chunk totals, add the offsets. This works for any length.",
    .kind = "kernel",
    .chapter = 26,
    .level = LEVEL_MEDIUM,
    .minutes = 45,
    .essential = true,
    .lesson = LESSON "#scan-over-several-blocks",
    .stars = {{"coalesced: at most 1.5 x the ideal sectors per request", {&UNCOALESCED}},
              {"no serial kernel: at least 20 % active lanes in each", {&SERIAL}}},
    .hints = {"Within a block, scan in steps with stride = 1, 2, 4, ... A step is: sums[!now][t] = sums[now][t] + (t "
              ">= stride ? sums[now][t - stride] : 0); then now = !now and a barrier.",
              "Let threads past the end take part in every step with a 0, and write nothing at the end.",
              "Store the total of block b in scratch[b]. In a second launch, let one block replace each total with the "
              "offset of its chunk.",
              "There may be more totals than threads. Let the second launch loop over the totals and carry the sum of "
              "all earlier iterations."},
    .functions = {"scan_on_device"},
    .tests = {{.name = "whole blocks: values and traffic", .ask = ask_whole, .judge = judge_traffic, .inspect = true},
              {.name = "odd", .ask = ask_odd, .judge = judge, .inspect = true},
              {.name = "less than a block", .ask = ask_block, .judge = judge, .inspect = true},
              {.name = "less than a warp", .ask = ask_small, .judge = judge},
              {.name = "large and odd", .ask = ask_large, .judge = judge, .schedules = 2},
              {.name = "one element", .ask = ask_one, .judge = judge},
              {.name = "no elements, then some", .ask = ask_none_first, .judge = judge}},
};
