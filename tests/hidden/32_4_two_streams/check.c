// SPDX-License-Identifier: MIT
// Exercise 32.4, find the bug: an event that is recorded too early, and a missing one in the other direction. It runs in the three ways of
// work in streams: work that comes too late shows in the first, work that comes too early in the others.
#include "exercise.h"
#include <math.h>

#define LESSON "docs/32_debugging_kernels.md#race-between-streams"

static const Mistake NOT_AWAITED = {
    "event recorded too early",
    "`second` does not wait for the kernel on `first`. An event captures only the work enqueued before you record it. "
    "Record the event after the launch, and let `second` wait for it.",
    LESSON};
static const Mistake OVERWRITTEN = {"missing dependency between streams",
                                    "The next batch is scaled while the previous one is still being added. `first` "
                                    "must wait as well, for an event that you record on `second` after its kernel.",
                                    LESSON};
static const Mistake WAITS = {"host synchronization",
                              "The host waits for the streams, or polls them until they are done, so they hardly "
                              "overlap. Let the streams wait for each other.",
                              "docs/28_streams.md#why-copies-and-kernels-fail-to-overlap"};
static const Mistake ONE_STREAM = {
    "a single stream",
    "On a single stream, the kernels are in order but cannot overlap. Scale on `first`, and add on `second`.",
    "docs/28_streams.md#streams-and-events"};
static const Mistake DEFAULT_STREAM = {
    "kernel in the default stream",
    "The kernel runs on the default stream, which does not wait for non-blocking streams such as `first` and `second`. "
    "Pass the stream as the fourth launch argument.",
    "docs/28_streams.md#the-default-stream"};
static const Mistake ONE_BATCH = {"sum overwritten instead of accumulated",
                                  "sum contains only the last batch. Add each batch to sum.", LESSON};

static void ask(Case *c, int64_t batches, int64_t n) {
  give_array(c, "x", draw_steps(c, shape(batches, n), 1, 99, 0.25), (Give){.device = "cpu"});
}
static void ask_odd(Case *c) {
  ask(c, draw_int(c, 3, 5), draw_odd(c, 301, 999));
}
static void ask_two(Case *c) {
  ask(c, 2, 256 * draw_int(c, 1, 3));
}
static void ask_many(Case *c) {
  ask(c, draw_int(c, 12, 20), draw_odd(c, 33, 99));
}
static void ask_one(Case *c) {
  ask(c, 1, 1);
}

// Of the batches from number `from` on.
static Array *sums(Case *c, int64_t from) {
  const Array *x = given(c, "x");
  const int64_t batches = x->shape.size[0], n = x->shape.size[1];
  Array *sum = new_array(c, FY_FLOAT32, shape(n));
  for (int64_t b = from; b < batches; b++)
    for (int64_t i = 0; i < n; i++)
      sum->f32[i] += 2 * x->f32[b * n + i];
  return sum;
}

typedef struct Seen {
  bool known;
  bool default_stream; // some kernel was in the default stream
  bool one_stream;     // all kernels were in the same stream
  bool ran;            // some work had run before the function returned
} Seen;

static Seen look_at(const Case *c) {
  EventTrace all = event_trace(c);
  Seen s = {.known = all.known, .one_stream = true};
  int64_t stream = -1;
  for (int64_t i = 0; i < all.count; i++) {
    const TraceEntry *e = &all.entries[i];
    s.ran |= e->ran >= 0;
    if (e->kind != TRACE_KERNEL)
      continue;
    s.default_stream |= e->stream == 0;
    s.one_stream &= stream < 0 || e->stream == stream;
    stream = e->stream;
  }
  s.one_stream &= stream >= 0;
  return s;
}

static bool has_nan(const Array *a) {
  for (int64_t i = 0; a && i < a->count; i++)
    if (isnan(a->f32[i]))
      return true;
  return false;
}

static void suspect_mistakes(Case *c, Seen s) {
  const int64_t batches = given(c, "x")->shape.size[0];
  const Array *sum = got_shaped(c, "sum", shape(given(c, "x")->shape.size[1]));
  const bool two = s.known && counts(c)->launches > 0 && !s.default_stream && !s.one_stream;
  suspect_that(c, counts(c)->launches == 0, counts(c)->device_to_host ? &COMPUTED_ON_HOST : &NO_KERNEL);
  suspect_that(c, s.known && s.default_stream, &DEFAULT_STREAM);
  if (batches > 1)
    suspect_array(c, "sum", sums(c, batches - 1), &ONE_BATCH);
  suspect_that(c, two && case_schedule(c) == SCHEDULE_IN_ORDER && has_nan(sum), &NOT_AWAITED);
  suspect_that(c, two && case_schedule(c) != SCHEDULE_IN_ORDER && sum && !has_nan(sum), &OVERWRITTEN);
}

static void judge(Case *c) {
  const Seen s = look_at(c);
  suspect_mistakes(c, s);
  if (!expect_array(c, "sum", sums(c, 0), 0) ||
      !expect_exactly(c, "copies to the host", counts(c)->device_to_host, 0, &COMPUTED_ON_HOST) ||
      !expect_at_least(c, "kernel launches", counts(c)->launches, 1, &NO_KERNEL) ||
      !expect_exactly(c, "host synchronizations", counts(c)->synchronizations, 0, &WAITS) || !s.known)
    return;
  if (case_schedule(c) == SCHEDULE_IN_ORDER) // in which nothing runs before something waits or asks for it
    expect_that(c, !s.ran, &WAITS, "some work had run before the function returned");
  expect_that(c, !s.one_stream, &ONE_STREAM, "all kernels ran on one stream");
}

EXERCISE = {
    .id = "32_4_two_streams",
    .title = "Find the bug: two streams",
    .after_pass = "An event captures the work enqueued on its stream before it was recorded. A wait for it orders two "
                  "streams in one direction only.",
    .kind = "kernel",
    .chapter = 32,
    .level = LEVEL_HARD,
    .minutes = 30,
    .bug = true,
    .lesson = LESSON,
    .streams = true,
    .stars = {{"scale runs on `first`, add on `second`", {&ONE_STREAM}}},
    .hints =
        {"Write down, for two batches, the order in which the four kernels must run.",
         "Each stream keeps its own kernels in order. Which lines order a kernel on `first` and a kernel on `second`?",
         "An event captures the work that is enqueued on its stream when you call cudaEventRecord. Which work is that "
         "here?",
         "Let `second` wait for an event that you record on `first` after scale. Before the next batch, let `first` "
         "wait for an event that you record on `second` after add."},
    .functions = {"sums_on_device"},
    .tests = {{.name = "one batch of one element", .ask = ask_one, .judge = judge},
              {.name = "two batches, whole blocks", .ask = ask_two, .judge = judge},
              {.name = "several batches", .ask = ask_odd, .judge = judge},
              {.name = "many small batches", .ask = ask_many, .judge = judge}},
};
