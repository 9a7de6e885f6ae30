// SPDX-License-Identifier: MIT
// Exercise 4.1: a benchmark without synchronization. The driver provides the clock, with readings drawn from the seed.
#include "exercise.h"
#include <math.h>

static const Mistake TOO_EARLY = {"missing synchronization before the clock stops",
                                  "The device was still working when you stopped the clock. Call "
                                  "fy_synchronize(device) before the second clock reading.",
                                  "docs/04_benchmarks.md#timing-without-synchronization"};
static const Mistake AFTER_THE_STOP = {
    "synchronization after the clock stops",
    "The host waits for the device only after the second clock reading. Synchronize first, then read the clock.",
    "docs/04_benchmarks.md#timing-without-synchronization"};
static const Mistake STILL_PENDING = {"missing synchronization before the clock starts",
                                      "Earlier work was still running when you started the clock, so you measured it "
                                      "as well. Call fy_synchronize(device) before the first clock reading.",
                                      "docs/04_benchmarks.md#timing-without-synchronization"};
static const Mistake AFTER_THE_START = {
    "synchronization after the clock starts",
    "The host waits for earlier work while the clock runs. Synchronize first, then start the clock.",
    "docs/04_benchmarks.md#timing-without-synchronization"};
static const Mistake OTHER_QUEUE = {
    "wrong stream or device synchronized",
    "The host did not wait for the work of this call. Synchronize the argument `device`, or its current stream.",
    "docs/04_benchmarks.md#timing-without-synchronization"};
static const Mistake EACH_TURN = {
    "synchronization in every iteration",
    "You measured the synchronizations between the iterations as well. Synchronize once, after the last iteration.",
    "docs/07_pitfalls.md#implicit-synchronization-in-a-loop"};
static const Mistake NO_WARM_UP = {"missing warm-up",
                                   "The first iteration also loads kernels and allocates memory. In each call, run one "
                                   "iteration before you start the clock.",
                                   "docs/04_benchmarks.md#warm-up-and-synchronization"};
static const Mistake WARM_UP_TIMED = {"warm-up measured", "Run the warm-up before you start the clock.",
                                      "docs/04_benchmarks.md#warm-up-and-synchronization"};
static const Mistake TOO_MANY = {
    "too many iterations measured",
    "More than `iterations` iterations ran between the two clock readings. Run exactly `iterations` iterations there.",
    "docs/04_benchmarks.md#warm-up-and-synchronization"};
static const Mistake TOO_FEW = {
    "too few iterations measured",
    "Fewer than `iterations` iterations ran between the two clock readings. Run exactly `iterations` iterations there.",
    "docs/04_benchmarks.md#warm-up-and-synchronization"};
static const Mistake ALL_TURNS = {"total time instead of time per iteration",
                                  "Divide the elapsed time by the number of iterations.",
                                  "docs/04_benchmarks.md#warm-up-and-synchronization"};
static const Mistake NO_CLOCK = {
    "clock not read twice",
    "Call seconds_now() once before the iterations and once after them, and subtract the two readings.",
    "docs/04_benchmarks.md#warm-up-and-synchronization"};
enum { PENDING, WORK, READING, COLUMNS = 4 };

static void ask_on(Case *c, const char *device, int64_t turns) {
  give_text(c, "device", device);
  give_number(c, "iterations", (double)turns);
  give_number(c, "pending", (double)draw_int(c, 1, 5));
  Array *clock = new_array(c, FY_FLOAT64, shape(16));
  double now = draw_real(c, 1, 100);
  for (int64_t i = 0; i < clock->count; i++)
    clock->f64[i] = now += draw_real(c, 0.5, 9);
  give_array(c, "clock", clock, (Give){0});
}

static void ask_gpu(Case *c) {
  ask_on(c, "cuda:0", draw_int(c, 3, 9));
}
static void ask_one_turn(Case *c) {
  ask_on(c, "cuda:0", 1);
}
static void ask_many(Case *c) {
  ask_on(c, "cuda:0", draw_odd(c, 301, 499));
}
static void ask_stream(Case *c) {
  ask_on(c, "cuda:0", draw_int(c, 3, 9));
  give_text(c, "stream", "another");
}
static void ask_both(Case *c) {
  ask_on(c, "cuda:0", draw_int(c, 3, 9));
  give_text(c, "second device", "cpu");
}
static void ask_second(Case *c) {
  ask_on(c, "cuda:1", draw_int(c, 3, 9));
}

// ---- what happened, by the driver's log --------------------------------------------------------------------------

typedef struct Log {
  const int64_t (*row)[COLUMNS]; // kind, waits, started, arrived
  int64_t events;
} Log;

// Two readings of the clock: their events, and the work between them.
typedef struct Span {
  int64_t begin, end, calls;
  double seconds;
} Span;

static int64_t calls_between(const Log *log, int64_t begin, int64_t end) {
  return log->row[end][2] - log->row[begin][2];
}

// The two readings whose difference, divided by `divisor`, is `seconds`.
static bool find_span(const Case *c, const Log *log, double seconds, double divisor, Span *span) {
  const double *clock = given(c, "clock")->f64;
  for (int64_t i = 0, first = 0; i < log->events; i++) {
    if (log->row[i][0] != READING)
      continue;
    for (int64_t k = i + 1, second = first + 1; k < log->events; k++) {
      if (log->row[k][0] != READING)
        continue;
      if (second < given(c, "clock")->count && fabs((clock[second] - clock[first]) / divisor - seconds) < 1e-9) {
        *span = (Span){i, k, calls_between(log, i, k), clock[second] - clock[first]};
        return true;
      }
      second++;
    }
    first++;
  }
  return false;
}

// How often the host had waited since the last work before event `at`.
static int64_t waits_before(const Log *log, int64_t at) {
  int64_t work = at - 1;
  while (work > 0 && log->row[work][0] == READING)
    work--;
  return log->row[at][1] - log->row[work][1];
}

static bool judge_start(Case *c, const Log *log, const Span *span) {
  const int64_t *start = log->row[span->begin], *pending = log->row[0];
  if (!expect_at_least(c, "iterations before the clock starts", start[2] - pending[2], 1, &NO_WARM_UP))
    return false;
  bool waits_then = log->row[span->begin + 1][1] > start[1]; // the next event is the first iteration
  const Mistake *why = waits_before(log, span->begin) > 0 ? &OTHER_QUEUE
                       : waits_then                       ? &AFTER_THE_START
                                                          : &STILL_PENDING;
  return expect_exactly(c, "finished work when the clock starts", start[3], start[2], why);
}

static bool judge_turns(Case *c, const Log *log, const Span *span) {
  int64_t first = span->begin + 1, last = span->end - 1;
  return expect_exactly(c, "synchronizations between the iterations", log->row[last][1] - log->row[first][1], 0,
                        &EACH_TURN);
}

static bool judge_end(Case *c, const Log *log, const Span *span) {
  const int64_t *end = log->row[span->end];
  bool waits_then = log->row[log->events - 1][1] > end[1];
  const Mistake *why = waits_before(log, span->end) > 0 ? &OTHER_QUEUE : waits_then ? &AFTER_THE_STOP : &TOO_EARLY;
  return expect_exactly(c, "finished work when the clock stops", end[3], end[2], why);
}

static bool expect_span(Case *c, const Log *log, Span *span) {
  double seconds = got_number(c, "seconds"), turns = given_number(c, "iterations");
  int64_t readings = 0;
  for (int64_t i = 0; i < log->events; i++)
    readings += log->row[i][0] == READING;
  if (!expect_at_least(c, "clock readings", readings, 2, &NO_CLOCK))
    return false;
  bool all = turns > 1 && find_span(c, log, seconds, 1, span) && span->calls == (int64_t)turns;
  if (!expect_that(c, find_span(c, log, seconds, turns, span), all ? &ALL_TURNS : NULL,
                   "seconds: expected the difference between two clock readings, divided by the number of iterations"))
    return false;
  int64_t before = log->row[span->begin][2] - log->row[0][2], more = span->calls - (int64_t)turns;
  return expect_exactly(c, "iterations between the two clock readings", span->calls, (int64_t)turns,
                        more == 1 && before == 0 ? &WARM_UP_TIMED
                        : more > 0               ? &TOO_MANY
                                                 : &TOO_FEW);
}

static void judge(Case *c) {
  const Array *events = got(c, "events");
  if (!expect_that(c,
                   events && events->dtype == FY_INT64 && events->shape.rank == 2 && events->shape.size[1] == COLUMNS,
                   NULL, "seconds_per_turn did not return"))
    return;
  Log log = {(const int64_t(*)[COLUMNS])events->i64, events->shape.size[0]};
  Span span;
  if (expect_span(c, &log, &span) && judge_turns(c, &log, &span) && judge_end(c, &log, &span))
    judge_start(c, &log, &span);
}

// On the CPU the same clock is read, and nothing is pending.
static void judge_both(Case *c) {
  judge(c);
  expect_number(c, "second call: seconds", got_number(c, "seconds"), 1e-9);
}

EXERCISE = {
    .id = "04_1_benchmark",
    .title = "Find the bug: a benchmark",
    .after_pass = "A kernel launch returns before the kernel has finished. Synchronize before you start the clock and "
                  "before you stop it.",
    .kind = "find the bug",
    .chapter = 4,
    .level = LEVEL_EASY,
    .minutes = 10,
    .essential = true,
    .bug = true,
    .lesson = "docs/04_benchmarks.md#timing-without-synchronization",
    .stars = {{"no synchronization between the iterations", {&EACH_TURN}}},
    .hints = {"Has the device finished its work when work(context) returns? Has it finished when you read the clock?",
              "The device must be idle at two moments: when the clock starts, and when the clock stops.",
              "Kernel launches are asynchronous. Call fy_synchronize(device) before each of the two clock readings, "
              "but not in the loop."},
    .streams = true,
    .functions = {"seconds_per_turn"},
    .tests = {{.name = "GPU", .ask = ask_gpu, .judge = judge},
              {.name = "one iteration", .ask = ask_one_turn, .judge = judge},
              {.name = "many iterations", .ask = ask_many, .judge = judge},
              {.name = "another stream", .ask = ask_stream, .judge = judge},
              {.name = "GPU, then CPU", .ask = ask_both, .judge = judge_both},
              {.name = "second GPU", .ask = ask_second, .judge = judge, .devices = 2}},
};
