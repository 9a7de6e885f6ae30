// SPDX-License-Identifier: MIT
// Exercise 76: an inclusive scan over blocks.
#include "exercise.h"
#include <string.h>

#define LESSON "docs/25_scan.md"

static const Mistake EXCLUSIVE = {"sums before each element",
                                  "out[i] holds what stands before x[i]; it has to hold x[i], too.",
                                  LESSON "#a-scan-within-a-block"};
static const Mistake PIECES = {
    "each piece for itself",
    "Every block begins at 0 again. What stands before its piece has to be added: the sums of all pieces "
    "before it.",
    LESSON "#over-blocks"};
static const Mistake NEIGHBOUR = {
    "the sum of the one piece before",
    "A block added the sum of the piece before its own. Before it stand all the earlier ones: the "
    "pieces' sums have to be scanned as well.",
    LESSON "#over-blocks"};
static const Mistake OWN = {
    "a piece's own sum added before it",
    "What stands before a piece is the sum of the pieces before it. Its own sum is among the scanned ones as "
    "well: an inclusive scan of the sums has it one place further on.",
    LESSON "#over-blocks"};
static const Mistake WARPS = {
    "each warp for itself",
    "Shuffles reach the 32 lanes of a warp and no further. What the warps before it sum to has to be "
    "added, through shared memory.",
    LESSON "#warps"};
static const Mistake NO_BARRIER = {
    "read and written in the same step",
    "In a step one thread reads an element that another one writes. All have to have read before "
    "anyone writes: two arrays that take turns, or two barriers.",
    LESSON "#a-scan-within-a-block"};
static const Mistake DIVERGENT = {"a barrier that some threads do not reach",
                                  "Threads beyond n returned before a barrier or a shuffle, or skipped it in a branch. "
                                  "They must reach it, with a 0.",
                                  LESSON "#a-scan-within-a-block"};
static const Mistake MANY_PIECES = {
    "more pieces than threads",
    "The first pieces are right, and those beyond what one block can scan at a time are not. There "
    "are up to 400000 elements: the scan of the pieces' sums needs a loop.",
    LESSON "#over-blocks"};
static const Mistake ROUNDED_DOWN = {
    "blocks rounded down", "n / threads is rounded down, so the last elements were left out.", LESSON "#over-blocks"};
static const Mistake BEYOND = {
    "threads beyond n",
    "In the last block there are more threads than elements: they read x behind its end. They have to "
    "bring a 0, and write nothing.",
    LESSON "#over-blocks"};
static const Mistake FAR_APART = {
    "neighbouring lanes far apart",
    "Each thread reads, or writes, elements that lie beside each other, one by one, so that the lanes of a request are "
    "sectors apart. Let neighbouring threads take neighbouring elements, or four of them at once as an int4.",
    "docs/22_global_memory.md#a-ladder-of-strides"};
static const Mistake ALONE = {"one thread adds up everything",
                              "A warp has 32 lanes, and a GPU has room for thousands of warps; one thread worked. That "
                              "is the CPU's loop, on a processor that is much slower "
                              "at it.",
                              LESSON "#a-scan-within-a-block"};
static const Mistake EMPTY_GRID = {"a grid of no blocks", "For n = 0 a grid of no blocks is an invalid configuration.",
                                   LESSON "#over-blocks"};
static const Mistake WAITED = {
    "the host waits in between",
    "What the device alone knows stays there: the next kernel reads it, and the host has all of them queued meanwhile.",
    LESSON "#over-blocks"};
static const Mistake LAUNCHES = {"a launch for every step",
                                 "Three launches do: pieces, their sums, and what stands before them.",
                                 "docs/25_scan.md#over-blocks"};

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

// The scan when each `piece` begins anew, with or without the sum of the piece before it; and without x[i] itself.
static Array *scanned(Case *c, int64_t piece, bool neighbour, bool inclusive) {
  const Array *x = given(c, "x");
  Array *out = new_array(c, FY_INT32, x->shape);
  int32_t sum = 0, earlier = 0;
  for (int64_t i = 0; i < x->count; i++) {
    if (i % piece == 0) {
      earlier = neighbour ? sum : 0;
      sum = 0;
    }
    sum += x->i32[i];
    out->i32[i] = earlier + sum - (inclusive ? 0 : x->i32[i]);
  }
  return out;
}

// The right scan, with each piece's own sum added to it once more, from piece `first` on.
static Array *with_own_sums(Case *c, int64_t piece, int64_t first) {
  const Array *x = given(c, "x");
  Array *out = scanned(c, x->count, false, true);
  for (int64_t begin = first * piece; begin < x->count; begin += piece) {
    const int64_t end = begin + piece < x->count ? begin + piece : x->count;
    int32_t sum = 0;
    for (int64_t i = begin; i < end; i++)
      sum += x->i32[i];
    for (int64_t i = begin; i < end; i++)
      out->i32[i] += sum;
  }
  return out;
}

// Right as far as one block's scan of the sums reaches, and wrong behind it?
static bool right_at_first(const Case *c, const Array *want) {
  const Array *out = got_shaped(c, "out", want->shape);
  int64_t right = 0;
  while (out && right < out->count && out->i32[right] == want->i32[right])
    right++;
  bool whole_scan = false; // as many pieces as a piece has elements
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
  for (int64_t piece = 64; piece <= 4096 && piece < n; piece *= 2) {
    suspect_array(c, "out", scanned(c, piece, false, true), &PIECES);
    suspect_array(c, "out", scanned(c, piece, true, true), &NEIGHBOUR);
    suspect_array(c, "out", with_own_sums(c, piece, 0), &OWN);
    suspect_array(c, "out", with_own_sums(c, piece, 1), &OWN);
  }
  suspect_finding(c, "race-block", &NO_BARRIER);
  suspect_finding(c, "race-warp", &NO_BARRIER);
  suspect_that(c, case_schedule(c) == SCHEDULE_IN_ORDER && right_at_first(c, want), &MANY_PIECES);
}

static void judge(Case *c) {
  const Array *want = scanned(c, given(c, "x")->count, false, true);
  suspect_mistakes(c, want);
  if (!expect_array(c, "out", want, 0) || !expect_by_kernel(c))
    return;
  expect_exactly(c, "waits of the host", counts(c)->synchronizations, 0, &WAITED);
  expect_at_most(c, "launches", counts(c)->launches, 4, &LAUNCHES);
  expect_no_finding(c);
}

static void judge_traffic(Case *c) {
  judge(c);
  expect_threads(c, 128, &ALONE);
  expect_inspected(c, ACTIVE_LANES, (Where){.in_all = true}, 0.2, &ALONE);
  expect_sectors(c, 1.5, &FAR_APART);
}

EXERCISE = {
    .id = "76_scan",
    .title = "Sums up to each element",
    .after_pass = "A scan of any length is a scan of pieces, a scan of their sums, and what comes before each added.",
    .kind = "kernel",
    .chapter = 25,
    .lesson = LESSON "#over-blocks",
    .hints =
        {"A step within a block: sums[!now][t] = sums[now][t] + (t >= before ? sums[now][t - before] : 0), then now = "
         "!now and "
         "a barrier; before = 1, 2, 4, ...",
         "Threads beyond n bring a 0 to every step and write nothing in the end.",
         "room[b] gets the sum of block b. A second launch, of one block, makes of it what stands before each block.",
         "The second launch goes on in pieces of its own: a loop that carries the sum of what it has done."},
    .functions = {"scan_on_device"},
    .tests = {{.name = "whole blocks: values and traffic", .ask = ask_whole, .judge = judge_traffic, .inspect = true},
              {.name = "odd", .ask = ask_odd, .judge = judge, .inspect = true},
              {.name = "less than a block", .ask = ask_block, .judge = judge, .inspect = true},
              {.name = "less than a warp", .ask = ask_small, .judge = judge},
              {.name = "large and odd", .ask = ask_large, .judge = judge, .schedules = 2},
              {.name = "one element", .ask = ask_one, .judge = judge},
              {.name = "no elements, then some", .ask = ask_none_first, .judge = judge}},
};
