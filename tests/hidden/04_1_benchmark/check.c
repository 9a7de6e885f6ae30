// SPDX-License-Identifier: MIT
// Exercise 4.1: a clock that does not wait. The clock is the driver's, and its readings are drawn from the seed.
#include "exercise.h"
#include <math.h>

static const Mistake TOO_EARLY = {
    "the clock stopped before the work was done",
    "The calls had returned, the work had not been done: what was measured is how long it takes "
    "to ask for it.",
    "docs/04_benchmarks.md#the-clock-that-stops-too-early"};
static const Mistake AFTER_THE_STOP = {"synchronised after the clock was stopped",
                                       "The host waits, but the clock has been read before. Wait first, then read.",
                                       "docs/04_benchmarks.md#the-clock-that-stops-too-early"};
static const Mistake STILL_PENDING = {
    "earlier work on the clock",
    "When the clock was started, work queued before was still under way. It is measured "
    "too.",
    "docs/04_benchmarks.md#the-clock-that-stops-too-early"};
static const Mistake AFTER_THE_START = {
    "synchronised after the clock was started",
    "The host waits for earlier work while the clock is running. Wait first, then start.",
    "docs/04_benchmarks.md#the-clock-that-stops-too-early"};
static const Mistake OTHER_QUEUE = {
    "waited for another device or stream",
    "The host did wait, but not for the queue that the work is in. Waiting for the device "
    "that was given waits for all its streams.",
    "docs/04_benchmarks.md#the-clock-that-stops-too-early"};
static const Mistake EACH_TURN = {
    "waits in every turn",
    "Waiting between the turns measures the waits too, and keeps the turns apart. Wait once, "
    "at the end.",
    "docs/07_pitfalls.md#waiting-in-a-loop"};
static const Mistake NO_WARM_UP = {
    "no warm-up",
    "The first call pays for loading kernels and reserving memory. Run one before the clock is "
    "started.",
    "docs/04_benchmarks.md#one-product-with-care"};
static const Mistake FIRST_ALONE = {
    "a warm-up in the first call alone",
    "The first call ran a turn beforehand, a later one did not: what is static keeps its value. Other work, or another "
    "device, has to be warmed up too, so each call runs one.",
    "docs/04_benchmarks.md#one-product-with-care"};
static const Mistake WARM_UP_TIMED = {"the warm-up on the clock", "The warm-up comes before the clock is started.",
                                      "docs/04_benchmarks.md#one-product-with-care"};
static const Mistake TOO_MANY = {
    "more turns than asked for",
    "Between the two readings there were more turns than `turns`, by which the time is divided.",
    "docs/04_benchmarks.md#one-product-with-care"};
static const Mistake TOO_FEW = {
    "fewer turns than asked for",
    "Between the two readings there were fewer turns than `turns`, by which the time is divided.",
    "docs/04_benchmarks.md#one-product-with-care"};
static const Mistake ALL_TURNS = {"the time of all turns", "The time of one turn was asked for.",
                                  "docs/04_benchmarks.md#one-product-with-care"};
static const Mistake NO_CLOCK = {
    "the clock was not read twice",
    "A time is the difference of two readings of seconds_now(), one before the turns and one "
    "after.",
    "docs/04_benchmarks.md#one-product-with-care"};
enum { PENDING, WORK, READING, COLUMNS = 4 };

static void ask_on(Case *c, const char *device, int64_t turns) {
  give_text(c, "device", device);
  give_number(c, "turns", (double)turns);
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
  give_text(c, "and then", "cpu");
}
static void ask_second(Case *c) {
  ask_on(c, "cuda:1", draw_int(c, 3, 9));
}

// ---- what happened, by the driver's notes ------------------------------------------------------------------------------

typedef struct Log {
  const int64_t (*row)[COLUMNS]; // kind, waits, started, arrived
  int64_t events;
} Log;

// Two readings of the clock: their events, and what lies between them.
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
  if (!expect_at_least(c, "turns before the clock was started", start[2] - pending[2], 1,
                       got_number(c, "turns before in the first call") > 0 ? &FIRST_ALONE : &NO_WARM_UP))
    return false;
  bool waits_then = log->row[span->begin + 1][1] > start[1]; // the next event is the first turn
  const Mistake *why = waits_before(log, span->begin) > 0 ? &OTHER_QUEUE
                       : waits_then                       ? &AFTER_THE_START
                                                          : &STILL_PENDING;
  return expect_exactly(c, "earlier work finished when the clock was started", start[3], start[2], why);
}

static bool judge_turns(Case *c, const Log *log, const Span *span) {
  int64_t first = span->begin + 1, last = span->end - 1;
  return expect_exactly(c, "waits between the turns", log->row[last][1] - log->row[first][1], 0, &EACH_TURN);
}

static bool judge_end(Case *c, const Log *log, const Span *span) {
  const int64_t *end = log->row[span->end];
  bool waits_then = log->row[log->events - 1][1] > end[1];
  const Mistake *why = waits_before(log, span->end) > 0 ? &OTHER_QUEUE : waits_then ? &AFTER_THE_STOP : &TOO_EARLY;
  return expect_exactly(c, "work finished when the clock was stopped", end[3], end[2], why);
}

static bool expect_span(Case *c, const Log *log, Span *span) {
  double seconds = got_number(c, "seconds"), turns = given_number(c, "turns");
  int64_t readings = 0;
  for (int64_t i = 0; i < log->events; i++)
    readings += log->row[i][0] == READING;
  if (!expect_at_least(c, "readings of the clock", readings, 2, &NO_CLOCK))
    return false;
  bool all = turns > 1 && find_span(c, log, seconds, 1, span) && span->calls == (int64_t)turns;
  if (!expect_that(c, find_span(c, log, seconds, turns, span), all ? &ALL_TURNS : NULL,
                   "the result is no difference of two readings of the clock, divided by turns"))
    return false;
  int64_t before = log->row[span->begin][2] - log->row[0][2], more = span->calls - (int64_t)turns;
  return expect_exactly(c, "turns between the two readings", span->calls, (int64_t)turns,
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

// On the CPU the same clock is read; there is nothing to wait for.
static void judge_both(Case *c) {
  judge(c);
  expect_number(c, "then seconds", got_number(c, "seconds"), 1e-9);
}

EXERCISE = {
    .id = "04_1_benchmark",
    .title = "Find the bug: a benchmark",
    .after_pass = "A clock read before the device is waited for measures the launch, not the work.",
    .kind = "find the bug",
    .chapter = 4,
    .level = LEVEL_EASY,
    .minutes = 10,
    .essential = true,
    .bug = true,
    .lesson = "docs/04_benchmarks.md#the-clock-that-stops-too-early",
    .hints =
        {"What has happened on the device when work(context) returns? And when the clock is read?",
         "There are two moments at which the device must have nothing left to do: when the clock is started, and when "
         "it is stopped.",
         "fy_synchronize(device) before each of the two readings, and none in the loop."},
    .streams = true,
    .functions = {"seconds_per_turn"},
    .tests = {{.name = "on a GPU", .ask = ask_gpu, .judge = judge},
              {.name = "one turn", .ask = ask_one_turn, .judge = judge},
              {.name = "many turns", .ask = ask_many, .judge = judge},
              {.name = "on another stream", .ask = ask_stream, .judge = judge},
              {.name = "a GPU, then the CPU", .ask = ask_both, .judge = judge_both},
              {.name = "on the second GPU", .ask = ask_second, .judge = judge, .devices = 2}},
};
