// SPDX-License-Identifier: MIT
// Exercise 4.2: a CPU against a GPU. The clock is the driver's, and its readings are drawn from the seed.
#include "exercise.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define CARE "docs/04_benchmarks.md#one-product-with-care"
#define EARLY "docs/04_benchmarks.md#the-clock-that-stops-too-early"

static const Mistake TOO_EARLY = {
    "the clock stopped before the product was done",
    "On a GPU the call returns when the work is queued. Wait for the device, then read the clock.", EARLY};
static const Mistake STILL_PENDING = {"earlier work on the clock",
                                      "When the clock was started, work queued before was still under way. It is "
                                      "measured too: wait for the device first.",
                                      EARLY};
static const Mistake NO_WARM_UP = {
    "no warm-up", "The first product pays for loading kernels and reserving memory. Run one without a clock, on each.",
    CARE};
static const Mistake MOVED_THERE = {"the moves on the clock",
                                    "The matrices crossed while the clock was running. Move them before.",
                                    "docs/04_benchmarks.md#where-the-time-of-a-round-trip-goes"};
static const Mistake ALL_AT_ONCE = {"one clock for all runs",
                                    "Several products lay between two readings: that gives a mean, in which one "
                                    "disturbed run spoils all. Read the clock "
                                    "around each.",
                                    CARE};
static const Mistake MEAN = {"the mean in place of the median",
                             "One run that something disturbed moves the mean, and leaves the median.", CARE};
static const Mistake BEST = {"the best in place of the median",
                             "The least time tells what the machine can do, not what it usually does.", CARE};
static const Mistake UNSORTED = {"the middle one unsorted",
                                 "The median is in the middle of the times in their order of size.", CARE};
static const Mistake ONE_OF_TWO = {
    "one of the two in the middle",
    "With an even number of runs two are in the middle, and the median is the mean of them.", CARE};
static const Mistake RATIO = {"the wrong way round",
                              "How many times as fast the GPU is: the CPU's time divided by the GPU's.", CARE};
static const Mistake ONE_SIDE = {"measured on one of the two alone",
                                 "Both have to be measured: the product of a and b, and the product of their copies on "
                                 "the GPU.",
                                 CARE};
static const Mistake OTHER_RUNS = {"another number of runs",
                                   "On each, `runs` products are measured, no more and no fewer.", CARE};
static const Mistake OTHER_GPU = {"another GPU than the one given",
                                  "The GPU to be measured is a parameter, and not always the current one.",
                                  "docs/03_tensor_moves.md#todevice"};

enum { BEGIN, ON_CPU, ON_GPU, READING, COLUMNS = 6, MOST = 64 };

// A clock that goes on by multiples of `tick` seconds, from `least` to `most` of them at each reading: exact where it is 1.
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
  give_number(c, "pending elsewhere", (double)draw_int(c, 1, 5));
}
static void ask_stream(Case *c) {
  ask_on(c, "cuda:0", draw_int(c, 3, 9));
  give_number(c, "another stream", 1);
}

// ---- what happened, by the driver's notes ------------------------------------------------------------------------------

typedef struct Log {
  const int64_t (*row)[COLUMNS]; // kind, waits, started, arrived, copies, pending elsewhere
  int64_t events;
} Log;

// The products of one kind.
typedef struct Runs {
  int64_t all, timed, before; // before: those that came before the first that was timed
  int64_t together;           // those with another product before the next reading
  double times[MOST];         // in the order in which they were measured
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

// A product is timed that has a reading right before it and right behind it. A warm-up can have them too, the last of one
// measurement and the first of the next: of more than were asked for the last ones count, or with `every` all of them.
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

// By chance two ways lead to one time. Then the other device's times tell, or nobody does.
static const Mistake *wrong_middle(const Runs *r, double had, const Runs *others, double other_had) {
  unsigned found = ways_to(r, had), there = others->timed > 0 ? ways_to(others, other_had) : 0;
  if (found & there)
    found &= there;
  for (int i = 0; i < WAYS; i++)
    if (found == 1u << i)
      return ways[i];
  return NULL;
}

// ---- judging -------------------------------------------------------------------------------------------------------------

static bool judge_times(Case *c, const Log *log, int64_t kind, const char *name) {
  Runs r = runs_of(c, log, kind, false), every = runs_of(c, log, kind, true);
  int64_t runs = (int64_t)given_number(c, "runs");
  if (!expect_at_least(c, kind == ON_CPU ? "products on the CPU" : "products on the GPU", r.all, 1, &ONE_SIDE) ||
      !expect_exactly(c, "products that have a reading of the clock right before and behind them", r.timed, runs,
                      r.together > 0 && runs > 1 && r.timed < runs ? &ALL_AT_ONCE : &OTHER_RUNS) ||
      !expect_at_least(c, "products before the first that is measured", r.before, 1, &NO_WARM_UP))
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
    if (!expect_exactly(c, "copies while the clock is running", stop[4] - start[4], 0, &MOVED_THERE) ||
        !expect_exactly(c, "pieces of work in another stream that were left when the clock was started", start[5], 0,
                        &STILL_PENDING) ||
        !expect_exactly(c, "work finished when the clock was stopped", stop[3], stop[2], &TOO_EARLY) ||
        !expect_exactly(c, "earlier work finished when the clock was started", start[3], start[2], &STILL_PENDING))
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
  if (!expect_at_least(c, "products on the GPU", runs_of(c, &log, ON_GPU, true).all, 1, &ONE_SIDE) ||
      !judge_times(c, &log, ON_CPU, "cpu") || !judge_times(c, &log, ON_GPU, "gpu") || !judge_clock(c, &log))
    return;
  double want = got_number(c, "cpu") / got_number(c, "gpu"), had = got_number(c, "times as fast");
  expect_that(c, fabs(had - want) < 1e-9 * want, is(had, 1 / want, want) ? &RATIO : NULL,
              "times as fast: expected %.6g, got %.6g", want, had);
}

EXERCISE = {
    .id = "04_2_time_cpu_and_gpu",
    .title = "Time the CPU and the GPU",
    .after_pass = "A fair time has a warm-up, waits for the device, and is the middle one of several.",
    .kind = "write",
    .chapter = 4,
    .level = LEVEL_MEDIUM,
    .minutes = 30,
    .essential = true,
    .lesson = CARE,
    .hints =
        {"One function that measures on a device, called twice: with a and b, and with their copies on the GPU.",
         "Around each product: wait for the device, read the clock, multiply, wait for the device, read the clock.",
         "Sort the times. (times[(n - 1) / 2] + times[n / 2]) / 2 is the median of an odd and of an even number."},
    .functions = {"compare"},
    .tests = {{.name = "an odd number of runs", .ask = ask_odd, .judge = judge},
              {.name = "an even number of runs", .ask = ask_even, .judge = judge},
              {.name = "one run", .ask = ask_one, .judge = judge},
              {.name = "25 runs", .ask = ask_most, .judge = judge},
              {.name = "two runs of the same time", .ask = ask_same_time, .judge = judge},
              {.name = "times in whole seconds", .ask = ask_coarse, .judge = judge},
              {.name = "work pending in another stream", .ask = ask_elsewhere, .judge = judge},
              {.name = "another stream current", .ask = ask_stream, .judge = judge},
              {.name = "on the second GPU", .ask = ask_second, .judge = judge, .devices = 2}},
};
