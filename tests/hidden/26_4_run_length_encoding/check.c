// SPDX-License-Identifier: MIT
// Exercise 26.4: run-length encoding. Runs cross block boundaries, and values occur again later.
#include "exercise.h"

#define LESSON "docs/26_scan.md"

static const Mistake CUT = {"run cut at a block boundary",
                            "Your kernel treats the first element of each block as a head. It is a head only if it "
                            "differs from the element before it, which belongs to the previous block.",
                            LESSON "#run-length-encoding"};
static const Mistake EDGE_HEADS = {"missing heads at warp boundaries",
                                   "A run that begins with the first lane of a warp was added to the run before it. A "
                                   "shuffle cannot read from a different warp, so read x[i - 1] in that lane.",
                                   LESSON "#run-length-encoding"};
static const Mistake MANY_CHUNKS = {"more chunks than threads",
                                    "There may be more chunk counts than threads in a block. Scan the counts in a loop "
                                    "that carries the sum of all earlier iterations.",
                                    LESSON "#scan-over-several-blocks"};
static const Mistake LAST = {"wrong length of the last run", "No head follows the last run. It ends at n.",
                             LESSON "#run-length-encoding"};
static const Mistake FIRST = {"missing first run", "Element 0 is always a head, whatever its value.",
                              LESSON "#run-length-encoding"};
static const Mistake ENDS = {
    "index instead of length",
    "lengths contains indices of x. Subtract the index of a run's head from that of the next head.",
    LESSON "#run-length-encoding"};
static const Mistake TAILS = {
    "value of the wrong run",
    "values contains the element before or after each run. The value of a run is that of its head.",
    LESSON "#run-length-encoding"};
static const Mistake ORDER = {"order not preserved",
                              "The runs are correct, but in a different order. An atomic counter numbers them in the "
                              "order in which the threads run. Compute each position with a scan.",
                              LESSON "#stream-compaction"};
static const Mistake COUNT = {"count not written", "Write the number of runs to *count, even for n = 0.",
                              LESSON "#run-length-encoding"};
static const Mistake PAST_COUNT = {
    "elements written past the count",
    "A thread wrote to `values` or `lengths` at index *count or beyond. Only a thread that handles a run may write.",
    LESSON "#run-length-encoding"};
static const Mistake OUTSIDE = {"out-of-bounds access",
                                "A thread reads before the first element of x or past the last one. Compare i with 0 "
                                "and n before you read x[i] and x[i - 1].",
                                LESSON "#run-length-encoding"};
static const Mistake NO_BARRIER = {"missing barrier",
                                   "Threads of a block read shared memory that other threads write. Put a "
                                   "__syncthreads() between the writes and the reads.",
                                   LESSON "#scan-within-a-block"};
static const Mistake SERIAL = {"serial kernel",
                               "One lane of a warp does most of the work while the others are idle. Let neighboring "
                               "threads process neighboring elements.",
                               LESSON "#run-length-encoding"};
static const Mistake SINGLE_BLOCK = {
    "single block",
    "A single block runs on one multiprocessor, and all others are idle. Distribute the elements over many blocks.",
    LESSON "#run-length-encoding"};
static const Mistake EMPTY_GRID = {"empty grid",
                                   "For n = 0, a grid with one thread per element has 0 blocks, which is an invalid "
                                   "configuration. Skip such launches, but write *count.",
                                   LESSON "#scan-over-several-blocks"};
static const Mistake ON_HOST = {"copy to the host",
                                "The number of runs was copied to the host, so the host had to wait. Launch enough "
                                "threads for n runs, and let them read *count on the device.",
                                LESSON "#run-length-encoding"};
static const Mistake WAITED = {
    "host synchronization",
    "The host waited for the device. Kernels in the same stream run in order, so launch all of them without waiting.",
    LESSON "#run-length-encoding"};

// Runs of 1 to `longest`; two neighboring runs always differ.
static void ask(Case *c, int64_t n, int64_t longest) {
  Array *x = new_array(c, FY_INT32, shape(n));
  int32_t value = (int32_t)draw_int(c, 0, 6);
  for (int64_t i = 0; i < n; value = (int32_t)((value + draw_int(c, 1, 6)) % 7))
    for (int64_t k = draw_int(c, 1, longest); k > 0 && i < n; k--)
      x->i32[i++] = value;
  give_array(c, "x", x, (Give){.device = "cuda:0"});
  give_number(c, "n", (double)n);
}
static void ask_whole(Case *c) {
  ask(c, 2048, 9);
}
static void ask_odd(Case *c) {
  ask(c, draw_odd(c, 4097, 5999), 99);
}
static void ask_ones(Case *c) {
  ask(c, draw_odd(c, 1025, 1999), 1);
}
static void ask_long(Case *c) {
  ask(c, draw_odd(c, 3001, 3999), 1800);
}
// One run is longer than 16 bits hold.
static void ask_longest(Case *c) {
  int64_t n = draw_odd(c, 70001, 74001), end = draw_int(c, 66000, 69000);
  Array *x = new_array(c, FY_INT32, shape(n));
  for (int64_t i = 0; i < n; i++)
    x->i32[i] = i < 5 ? (int32_t)i % 3 : i < end ? 6 : (int32_t)(i % 5);
  give_array(c, "x", x, (Give){.device = "cuda:0"});
  give_number(c, "n", (double)n);
}
static void ask_small(Case *c) {
  ask(c, draw_odd(c, 13, 29), 4);
}
static void ask_large(Case *c) {
  ask(c, 1024 * draw_int(c, 79, 96) + 1, 30); // one element more than whole blocks have
}
static void ask_one(Case *c) {
  ask(c, 1, 3);
}
// The first element has a value that an answer may use as if there were an element before it.
static void ask_beginning(Case *c, int32_t first) {
  const int32_t others[] = {INT32_MIN, INT32_MAX, -1, 0, 1};
  int64_t n = draw_odd(c, 13, 29), run = draw_int(c, 1, 3);
  Array *x = new_array(c, FY_INT32, shape(n));
  for (int64_t i = 0; i < n; i++)
    x->i32[i] = i < run ? first : others[draw_int(c, 0, 4)];
  give_array(c, "x", x, (Give){.device = "cuda:0"});
  give_number(c, "n", (double)n);
}
static void ask_smallest(Case *c) {
  ask_beginning(c, INT32_MIN);
}
static void ask_greatest(Case *c) {
  ask_beginning(c, INT32_MAX);
}
static void ask_minus_one(Case *c) {
  ask_beginning(c, -1);
}
static void ask_zero(Case *c) {
  ask_beginning(c, 0);
}
static void ask_none(Case *c) {
  ask(c, 0, 3);
}

typedef struct Runs {
  Array *values, *lengths;
  int64_t count;
} Runs;

// The runs, then -1 (fresh memory); cut at multiples of `chunk`.
static Runs runs_of(Case *c, int64_t chunk) {
  const Array *x = given(c, "x");
  Runs r = {new_array(c, FY_INT32, x->shape), new_array(c, FY_INT32, x->shape), 0};
  for (int64_t i = 0; i < x->count; i++)
    r.values->i32[i] = r.lengths->i32[i] = -1;
  for (int64_t i = 0; i < x->count; i++) {
    if (i == 0 || x->i32[i] != x->i32[i - 1] || (chunk && i % chunk == 0)) {
      r.values->i32[r.count] = x->i32[i];
      r.lengths->i32[r.count++] = 0;
    }
    r.lengths->i32[r.count - 1]++;
  }
  return r;
}

// How many heads there are, without those at a multiple of `edge`.
static int64_t heads_inside(const Case *c, int64_t edge) {
  const Array *x = given(c, "x");
  int64_t heads = x->count > 0;
  for (int64_t i = 1; i < x->count; i++)
    heads += x->i32[i] != x->i32[i - 1] && i % edge != 0;
  return heads;
}

static int64_t number_of_runs(const Case *c) {
  const Array *count = got(c, "count");
  return count && count->count == 1 ? count->i32[0] : -2;
}

// Is a[i] = b[i + from] for i = 0 .. count-1?
static bool same(const Array *a, const Array *b, int64_t from, int64_t count) {
  for (int64_t i = 0; a && i < count; i++)
    if (i + from < b->count && a->i32[i] != b->i32[i + from])
      return false;
  return a != NULL;
}

static bool last_is_wrong(const Case *c, Runs want) {
  const Array *lengths = got_shaped(c, "lengths", want.lengths->shape);
  return want.count > 0 && same(lengths, want.lengths, 0, want.count - 1) &&
         lengths->i32[want.count - 1] != want.lengths->i32[want.count - 1];
}

static bool are_indices(const Case *c, Runs want) {
  const Array *lengths = got_shaped(c, "lengths", want.lengths->shape);
  int64_t begin = 0;
  for (int64_t r = 0; lengths && r < want.count; r++) {
    int64_t end = begin + want.lengths->i32[r];
    if (lengths->i32[r] != begin && lengths->i32[r] != end)
      return false;
    begin = end;
  }
  return lengths && want.count > 1;
}

static bool written_past(const Case *c, const char *name, int64_t count) {
  const Array *a = got(c, name);
  for (int64_t i = count; a && i < a->count; i++)
    if (a->i32[i] != -1)
      return true;
  return false;
}

// The right number of runs of each value, in another order.
static bool reordered(const Case *c, Runs want) {
  const Array *values = got_shaped(c, "values", want.values->shape);
  const Array *lengths = got_shaped(c, "lengths", want.lengths->shape);
  int64_t runs[7] = {0}, difference = 0, differ = 0;
  if (!values || !lengths)
    return false;
  for (int64_t r = 0; r < want.count; r++) {
    if (values->i32[r] < 0 || values->i32[r] > 6 || want.values->i32[r] < 0 || want.values->i32[r] > 6)
      return false;
    runs[values->i32[r]]++;
    runs[want.values->i32[r]]--;
    differ += values->i32[r] != want.values->i32[r];
  }
  for (int v = 0; v < 7; v++)
    difference += runs[v] != 0;
  return difference == 0 && differ > 0;
}

static int64_t heads_before(const Case *c, int64_t end) {
  const Array *x = given(c, "x");
  int64_t heads = x->count > 0;
  for (int64_t i = 1; i < x->count && i < end; i++)
    heads += x->i32[i] != x->i32[i - 1];
  return heads;
}

static void suspect_mistakes(Case *c, Runs want) {
  int64_t n = given(c, "x")->count, count = number_of_runs(c);
  const Array *values = got_shaped(c, "values", want.values->shape);
  suspect_error(c, "invalid configuration", &EMPTY_GRID);
  suspect_that(c, counts(c)->launches == 0 && n > 0, &NO_KERNEL);
  suspect_finding(c, "bounds-global", &OUTSIDE);
  suspect_error(c, ": it reads ", &OUTSIDE);
  suspect_error(c, ": it writes ", &OUTSIDE);
  suspect_that(c, count == -1 && !*got_error(c), &COUNT);
  for (int64_t chunk = 32; chunk <= 1024; chunk += 32)
    suspect_that(c, count > want.count && count == runs_of(c, chunk).count, &CUT);
  for (int64_t edge = 32; edge <= 1024; edge *= 2) // if only one is missing it may be the first run
    suspect_that(c, count < want.count - 1 && count == heads_inside(c, edge), &EDGE_HEADS);
  for (int64_t threads = 32; threads <= 256; threads *= 2) // 1024 chunks are enough for the largest n
    suspect_that(c, count < want.count - 1 && count == heads_before(c, threads * threads), &MANY_CHUNKS);
  suspect_that(c, count == want.count - 1 && same(values, want.values, 1, count), &FIRST);
  const bool races = has_finding(c, "race-block") || has_finding(c, "race-warp");
  suspect_that(c, races && !has_finding(c, "bounds"), &NO_BARRIER);
  const bool shifted = count == want.count && want.count > 1 && same(values, want.values, 1, want.count - 1);
  const bool moved = reordered(c, want); // so is a shift if the first and the last run have the same value
  suspect_that(c, moved && !shifted, &ORDER);
  suspect_that(c, last_is_wrong(c, want), &LAST);
  suspect_that(c, are_indices(c, want), &ENDS);
  suspect_that(c, shifted && !moved, &TAILS);
  suspect_that(c,
               count == want.count && (written_past(c, "values", want.count) || written_past(c, "lengths", want.count)),
               &PAST_COUNT);
}

// The runs, then unwritten elements, which expect_array would refuse.
static bool expect_runs(Case *c, const char *name, const Array *want) {
  const Array *a = got_shaped(c, name, want->shape);
  if (!expect_that(c, a != NULL, NULL, "%s did not come back", name) ||
      !expect_that(c, !(a->flags & ARRAY_GUARD_BROKEN), &PAST_THE_END, "memory around %s was written", name))
    return false;
  for (int64_t i = 0; i < a->count; i++)
    if (a->i32[i] != want->i32[i])
      return expect_that(c, false, NULL, "%s[%lld]: expected %d, got %d (-1: unwritten)", name, (long long)i,
                         want->i32[i], a->i32[i]);
  return true;
}

static bool judge_runs(Case *c) {
  Runs want = runs_of(c, 0);
  Array *count = new_array(c, FY_INT32, shape(1));
  count->i32[0] = (int32_t)want.count;
  suspect_mistakes(c, want);
  if (!expect_array(c, "count", count, 0) || !expect_runs(c, "values", want.values) ||
      !expect_runs(c, "lengths", want.lengths))
    return false;
  if (want.count > 0 && !expect_at_least(c, "launches", counts(c)->launches, 1, &NO_KERNEL))
    return false;
  if (counts(c)->host_to_device > 0 && !expect_by_kernel(c))
    return false;
  return expect_exactly(c, "copies from device to host", counts(c)->device_to_host, 0, &ON_HOST) &&
         expect_exactly(c, "host synchronizations", counts(c)->synchronizations, 0, &WAITED) && expect_no_finding(c);
}

static void judge(Case *c) {
  judge_runs(c);
}

static void judge_lanes(Case *c) {
  if (judge_runs(c))
    expect_inspected(c, ACTIVE_LANES, (Where){.in_all = true}, 0.2, &SERIAL);
}

static void judge_blocks(Case *c) {
  int64_t most = 0;
  if (!judge_runs(c))
    return;
  for (int i = 0; launch_shape(c, i); i++) {
    const int64_t *s = launch_shape(c, i);
    most = s[0] * s[1] * s[2] > most ? s[0] * s[1] * s[2] : most;
  }
  expect_that(c, most != 1, &SINGLE_BLOCK, "no launch has more than one block, for %lld elements",
              (long long)given(c, "x")->count);
}

EXERCISE = {
    .id = "26_4_run_length_encoding",
    .title = "Run-length encoding",
    .after_pass = "Run-length encoding is a stream compaction of the runs' first elements, which is itself a scan.",
    .kind = "kernel",
    .chapter = 26,
    .level = LEVEL_HARD,
    .minutes = 60,
    .lesson = LESSON "#run-length-encoding",
    .stars = {{"parallel: several blocks, and at least 20 % active lanes overall", {&SERIAL, &SINGLE_BLOCK}}},
    .hints = {"Call the first element of a run its head: element i is a head if i is 0 or x[i] != x[i - 1]. The first "
              "thread of a block compares its element with the last one of the previous block.",
              "Compact the heads as in exercise 26.3, but write the index instead of the element: starts[run] = i.",
              "Then use one thread per run: values[run] = x[starts[run]], lengths[run] = starts[run + 1] - "
              "starts[run]. The last run ends at n.",
              "Launch this kernel with one thread for each of the n elements. Let each thread read *count on the "
              "device, and return if run >= *count."},
    .functions = {"runs_on_device"},
    .tests = {{.name = "short runs", .ask = ask_whole, .judge = judge_lanes, .inspect = true},
              {.name = "one element", .ask = ask_one, .judge = judge},
              {.name = "less than a warp", .ask = ask_small, .judge = judge, .inspect = true},
              {.name = "odd", .ask = ask_odd, .judge = judge, .inspect = true},
              {.name = "all runs have one element", .ask = ask_ones, .judge = judge},
              {.name = "runs longer than a block", .ask = ask_long, .judge = judge},
              {.name = "a run of more than 65,535", .ask = ask_longest, .judge = judge, .schedules = 1},
              {.name = "large and odd", .ask = ask_large, .judge = judge_blocks, .schedules = 2},
              {.name = "the smallest int first", .ask = ask_smallest, .judge = judge, .schedules = 1},
              {.name = "the largest int first", .ask = ask_greatest, .judge = judge, .schedules = 1},
              {.name = "-1 first", .ask = ask_minus_one, .judge = judge, .schedules = 1},
              {.name = "0 first", .ask = ask_zero, .judge = judge, .schedules = 1},
              {.name = "no elements", .ask = ask_none, .judge = judge}},
};
