// SPDX-License-Identifier: MIT
// Exercise 4.2: time a CPU and a GPU. The clock is the driver's, and its readings are drawn from the seed.
#include "exercise.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define CARE "docs/04_benchmarks.md#warm-up-and-synchronization"
#define EARLY "docs/04_benchmarks.md#timing-without-synchronization"

static const Mistake TOO_EARLY = {
    "missing synchronization before the clock stops",
    "On a GPU, product returns before the computation has finished. Synchronize the GPU, then read the clock.", EARLY};
static const Mistake STILL_PENDING = {"missing synchronization before the clock starts",
                                      "Earlier work was still running when you started the clock, so you measured it "
                                      "as well. Synchronize the whole GPU, then start the clock.",
                                      EARLY};
static const Mistake NO_WARM_UP = {"missing warm-up",
                                   "The first product also loads kernels and allocates memory. On each device, compute "
                                   "one product that you do not measure.",
                                   CARE};
static const Mistake MOVED_THERE = {"transfer measured",
                                    "Data was copied between host and device while the clock was running. Copy the "
                                    "matrices before you start the clock.",
                                    "docs/04_benchmarks.md#the-cost-of-a-round-trip"};
static const Mistake ALL_AT_ONCE = {"one measurement for all runs",
                                    "Several products ran between two clock readings, so you measured only their mean. "
                                    "Read the clock before and after each product.",
                                    CARE};
static const Mistake MEAN = {"mean instead of median", "A single disturbed run changes the mean. Return the median.",
                             CARE};
static const Mistake BEST = {"minimum instead of median", "Return the median of the times, not the smallest.", CARE};
static const Mistake UNSORTED = {
    "median of unsorted times",
    "Sort the times before you take the middle one. The comparison must also detect differences of less than 1 s.",
    CARE};
static const Mistake ONE_OF_TWO = {"median of an even count",
                                   "For an even number of runs, the median is the mean of the two middle times.", CARE};
static const Mistake RATIO = {"speedup inverted", "Divide the CPU time by the GPU time.", CARE};
static const Mistake ONE_SIDE = {
    "only one device measured",
    "Measure the product of a and b on the CPU, and the product of their copies on the GPU.", CARE};
static const Mistake OTHER_RUNS = {"wrong number of timed runs",
                                   "Measure `runs` products on each device, each between two clock readings.", CARE};
static const Mistake OTHER_GPU = {"hard-coded device",
                                  "Copy the matrices to the argument `gpu`, which is not always the current device.",
                                  "docs/03_tensor_moves.md#copying-with-todevice"};

enum { BEGIN, ON_CPU, ON_GPU, READING, COLUMNS = 6, MOST = 64 };

// A clock that advances by `least` to `most` ticks of `tick` seconds at each reading. It is exact if `tick` is 1.
static void give_clock(Case *c, double tick, int64_t least, int64_t most) {
  Array *clock = new_array(c, FY_FLOAT64, shape(256));
  double now = (double)draw_int(c, 1, 100);
  for (int64_t i = 0; i < clock->count; i++)
    clock->f64[i] = now += tick * (double)draw_int(c, least, most);
  give_array(c, "clock", clock, (Give){0});
}

static void ask_but_clock(Case *c, const char *device, int64_t runs) {
  int64_t inner = draw_int(c, 3, 9);
  give_text(c, "device", device);
  give_number(c, "runs", (double)runs);
  give_number(c, "pending", (double)draw_int(c, 1, 5));
  give_array(c, "a", draw_array(c, FY_FLOAT32, shape(draw_int(c, 3, 9), inner), -1, 1), (Give){0});
  give_array(c, "b", draw_array(c, FY_FLOAT32, shape(inner, draw_int(c, 3, 9)), -1, 1), (Give){0});
}

static void ask_on(Case *c, const char *device, int64_t runs) {
  ask_but_clock(c, device, runs);
  give_clock(c, 1e-6, 500000, 9000000);
}

static void ask_odd(Case *c) {
  ask_on(c, "cuda:0", 2 * draw_int(c, 2, 4) + 1);
}
static void ask_even(Case *c) {
  ask_on(c, "cuda:0", 2 * draw_int(c, 2, 5));
}
static void ask_one(Case *c) {
  ask_on(c, "cuda:0", 1);
}
static void ask_most(Case *c) {
  ask_on(c, "cuda:0", 25);
}
static void ask_second(Case *c) {
  ask_on(c, "cuda:1", draw_int(c, 3, 9));
}

// Two products take the same time, as they do by a clock with coarse ticks.
static void ask_same_time(Case *c) {
  int64_t each = draw_int(c, 1, 4);
  ask_but_clock(c, "cuda:0", 2);
  give_clock(c, 1, each, each);
}
static void ask_coarse(Case *c) {
  ask_but_clock(c, "cuda:0", 2 * draw_int(c, 2, 5));
  give_clock(c, 1, 1, 2);
}

static void ask_elsewhere(Case *c) {
  ask_on(c, "cuda:0", draw_int(c, 3, 9));
  give_number(c, "pending in another stream", (double)draw_int(c, 1, 5));
}
static void ask_stream(Case *c) {
  ask_on(c, "cuda:0", draw_int(c, 3, 9));
  give_number(c, "another stream", 1);
}

// ---- what happened, by the driver's log --------------------------------------------------------------------------

typedef struct Log {
  const int64_t (*row)[COLUMNS]; // kind, waits, started, arrived, copies, pending elsewhere
  int64_t events;
} Log;

// The products on one device.
typedef struct Runs {
  int64_t all, timed, before; // before: those before the first timed one
  int64_t together;           // those with another product before the next reading
  double times[MOST];         // in order of measurement
} Runs;

static double reading(const Case *c, const Log *log, int64_t at) {
  int64_t number = 0;
  for (int64_t i = 0; i < at; i++)
    number += log->row[i][0] == READING;
  const Array *clock = given(c, "clock");
  return number < clock->count ? clock->f64[number] : NAN;
}

static bool is_between_readings(const Log *log, int64_t i) {
  return i > 0 && i + 1 < log->events && log->row[i - 1][0] == READING && log->row[i + 1][0] == READING;
}

static int64_t between_readings(const Log *log, int64_t kind) {
  int64_t found = 0;
  for (int64_t i = 0; i < log->events; i++)
    found += log->row[i][0] == kind && is_between_readings(log, i);
  return found;
}

// A timed product has a reading directly before it and directly after it. A warm-up may have them as well. If there are
// more than `runs` such products, only the last ones count, or with `every` all of them.
static Runs runs_of(const Case *c, const Log *log, int64_t kind, bool every) {
  Runs r = {0};
  int64_t skipped = every ? 0 : between_readings(log, kind) - (int64_t)given_number(c, "runs");
  for (int64_t i = 1; i + 1 < log->events; i++) {
    if (log->row[i][0] != kind)
      continue;
    r.all++;
    r.together += log->row[i + 1][0] == kind;
    if (is_between_readings(log, i) && skipped-- <= 0 && r.timed < MOST)
      r.times[r.timed++] = reading(c, log, i + 1) - reading(c, log, i - 1);
    r.before += r.timed == 0;
  }
  return r;
}

static int by_size(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

// By an order that sees no difference of less than a second.
static int by_whole_seconds(const void *a, const void *b) {
  return (int)(*(const double *)a - *(const double *)b);
}

typedef struct Middle {
  double whole_seconds; // of the two in the middle, in that order
  double median, lower, upper, mean, least, unsorted;
} Middle;

static Middle middle_of(const Runs *r) {
  double sorted[MOST];
  int64_t n = r->timed;
  Middle m = {.unsorted = (r->times[(n - 1) / 2] + r->times[n / 2]) / 2};
  memcpy(sorted, r->times, sizeof sorted);
  qsort(sorted, (size_t)n, sizeof *sorted, by_size);
  m.lower = sorted[(n - 1) / 2];
  m.upper = sorted[n / 2];
  m.median = (m.lower + m.upper) / 2;
  m.least = sorted[0];
  memcpy(sorted, r->times, sizeof sorted);
  qsort(sorted, (size_t)n, sizeof *sorted, by_whole_seconds);
  m.whole_seconds = (sorted[(n - 1) / 2] + sorted[n / 2]) / 2;
  for (int64_t i = 0; i < n; i++)
    m.mean += sorted[i] / (double)n;
  return m;
}

static bool is(double got, double wrong, double right) {
  return fabs(got - wrong) < 1e-9 && fabs(wrong - right) > 1e-6;
}

enum { WAYS = 4 };
static const Mistake *const ways[WAYS] = {&MEAN, &BEST, &ONE_OF_TWO, &UNSORTED};

// Which of the ways lead to this time: a bit for each.
static unsigned ways_to(const Runs *r, double had) {
  const Middle m = middle_of(r);
  const double middle = r->times[r->timed / 2];
  return (unsigned)is(had, m.mean, m.median) | (unsigned)is(had, m.least, m.median) << 1 |
         (unsigned)(is(had, m.lower, m.median) || is(had, m.upper, m.median)) << 2 |
         (unsigned)(is(had, m.unsorted, m.median) || is(had, middle, m.median) || is(had, m.whole_seconds, m.median))
             << 3;
}

// If two ways give the same time by chance, the times of the other device decide. Otherwise there is no name.
static const Mistake *wrong_middle(const Runs *r, double had, const Runs *others, double other_had) {
  unsigned found = ways_to(r, had), there = others->timed > 0 ? ways_to(others, other_had) : 0;
  if (found & there)
    found &= there;
  for (int i = 0; i < WAYS; i++)
    if (found == 1u << i)
      return ways[i];
  return NULL;
}

// ---- judging -----------------------------------------------------------------------------------------------------

static bool judge_times(Case *c, const Log *log, int64_t kind, const char *name) {
  Runs r = runs_of(c, log, kind, false), every = runs_of(c, log, kind, true);
  int64_t runs = (int64_t)given_number(c, "runs");
  const bool none = runs_of(c, log, kind == ON_CPU ? ON_GPU : ON_CPU, true).all == 0;
  if (!expect_at_least(c, kind == ON_CPU ? "products on the CPU" : "products on the GPU", r.all, 1,
                       none ? NULL : &ONE_SIDE) ||
      !expect_exactly(c,
                      kind == ON_CPU ? "products on the CPU between two clock readings"
                                     : "products on the GPU between two clock readings",
                      r.timed, runs, runs > 1 && r.timed == 0 && r.together >= runs - 1 ? &ALL_AT_ONCE : &OTHER_RUNS) ||
      !expect_at_least(c, "products before the first timed one", r.before, 1, &NO_WARM_UP))
    return false;
  double want = middle_of(&r).median, had = got_number(c, name);
  Runs others = runs_of(c, log, kind == ON_CPU ? ON_GPU : ON_CPU, false);
  const Mistake *why = wrong_middle(&r, had, &others, got_number(c, kind == ON_CPU ? "gpu" : "cpu"));
  if (is(had, middle_of(&every).median, want))
    why = why ? NULL : &OTHER_RUNS;
  return expect_that(c, fabs(had - want) < 1e-9, why, "%s: expected %.6g s, the median of %d times, got %.6g", name,
                     want, (int)runs, had);
}

// At both readings around each product on the GPU.
static bool judge_clock(Case *c, const Log *log) {
  int64_t skipped = between_readings(log, ON_GPU) - (int64_t)given_number(c, "runs");
  for (int64_t i = 1; i + 1 < log->events; i++) {
    const int64_t *start = log->row[i - 1], *stop = log->row[i + 1];
    if (log->row[i][0] != ON_GPU || !is_between_readings(log, i) || skipped-- > 0)
      continue;
    if (!expect_exactly(c, "copies while the clock runs", stop[4] - start[4], 0, &MOVED_THERE) ||
        !expect_exactly(c, "unfinished work of another stream when the clock starts", start[5], 0, &STILL_PENDING) ||
        !expect_exactly(c, "finished work when the clock stops", stop[3], stop[2], &TOO_EARLY) ||
        !expect_exactly(c, "finished work when the clock starts", start[3], start[2], &STILL_PENDING))
      return false;
  }
  return true;
}

static void judge(Case *c) {
  const Array *events = got(c, "events");
  suspect_error(c, "another GPU", &OTHER_GPU);
  if (!expect_that(c,
                   events && events->dtype == FY_INT64 && events->shape.rank == 2 && events->shape.size[1] == COLUMNS,
                   NULL, "compare did not return"))
    return;
  Log log = {(const int64_t(*)[COLUMNS])events->i64, events->shape.size[0]};
  const bool none = runs_of(c, &log, ON_CPU, true).all == 0;
  if (!expect_at_least(c, "products on the GPU", runs_of(c, &log, ON_GPU, true).all, 1, none ? NULL : &ONE_SIDE) ||
      !judge_times(c, &log, ON_CPU, "cpu") || !judge_times(c, &log, ON_GPU, "gpu") || !judge_clock(c, &log))
    return;
  double want = got_number(c, "cpu") / got_number(c, "gpu"), had = got_number(c, "times as fast");
  expect_that(c, fabs(had - want) < 1e-9 * want, is(had, 1 / want, want) ? &RATIO : NULL,
              "times as fast: expected %.6g, got %.6g", want, had);
}

EXERCISE = {
    .id = "04_2_time_cpu_and_gpu",
    .title = "Time the CPU and the GPU",
    .after_pass = "A fair benchmark has a warm-up, synchronizes around each run, and reports the median.",
    .kind = "write",
    .chapter = 4,
    .level = LEVEL_MEDIUM,
    .minutes = 30,
    .essential = true,
    .lesson = CARE,
    .hints = {"Write one function that measures the product on any device. Call it once with a and b, and once with "
              "their copies on the GPU.",
              "In each run: synchronize the device, read the clock, call product, synchronize the device again, read "
              "the clock again.",
              "Sort the times. The median is (times[(n - 1) / 2] + times[n / 2]) / 2, for odd and for even n."},
    .functions = {"compare"},
    .tests = {{.name = "odd number of runs", .ask = ask_odd, .judge = judge},
              {.name = "even number of runs", .ask = ask_even, .judge = judge},
              {.name = "one run", .ask = ask_one, .judge = judge},
              {.name = "25 runs", .ask = ask_most, .judge = judge},
              {.name = "two equal times", .ask = ask_same_time, .judge = judge},
              {.name = "times in whole seconds", .ask = ask_coarse, .judge = judge},
              {.name = "other stream busy", .ask = ask_elsewhere, .judge = judge},
              {.name = "another current stream", .ask = ask_stream, .judge = judge},
              {.name = "second GPU", .ask = ask_second, .judge = judge, .devices = 2}},
};
