// SPDX-License-Identifier: MIT
// Exercise 29.4, find the bug: an event that is recorded too early, and none in the other direction. It runs in the three ways of work
// in streams: what comes too late shows in the first, what comes too early in the others.
#include "exercise.h"
#include <math.h>
#include <string.h>

#define LESSON "docs/29_debugging_kernels.md#the-wrong-stream"
#define EVENTS "docs/27_streams.md"

static const Mistake NOT_AWAITED = {"missing wait for the producer",
                                    "Nothing makes second wait for the kernel in first. An event covers the work "
                                    "enqueued before cudaEventRecord, not after it.",
                                    LESSON};
static const Mistake OVERWRITTEN = {"buffer overwritten while in use",
                                    "The next batch is scaled into the array that second still reads. first must wait "
                                    "as well, for an event that second records after its kernel.",
                                    LESSON};
static const Mistake WAITS = {
    "host synchronization",
    "The host waits between the two kernels, so nothing overlaps. Let the streams wait for each other with events.",
    "docs/27_streams.md#when-it-does-not-overlap"};
static const Mistake OTHER_ARRAY = {"a second buffer instead of scaled",
                                    "There is one array, scaled, and it must contain the last batch at the end.",
                                    LESSON};
static const Mistake ONE_STREAM = {"all kernels in one stream",
                                   "In one stream nothing runs side by side. Scale in first, add in second.",
                                   "docs/27_streams.md#queues"};
static const Mistake DEFAULT_STREAM = {
    "default stream used",
    "These streams are non-blocking: the default stream does not wait for them, nor they for it.",
    "docs/27_streams.md#the-default-stream"};
static const Mistake ONE_BATCH = {"only the last batch", "Add up all batches in sum.", LESSON};
static const Mistake OTHER_DEVICE = {"event of another device",
                                     "An event belongs to the device that was current when it was created. Create "
                                     "events in each call, where you use them.",
                                     EVENTS "#queues"};
static const Mistake COPIES = {"copies on the device", "The kernel can read x directly: batch b starts at x + b * n.",
                               "docs/29_debugging_kernels.md#the-wrong-stream"};

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

// A call with streams of the first device, and one with streams of the second.
static void ask_another(Case *c) {
  ask_odd(c);
  give_number(c, "another device", (double)draw_odd(c, 33, 99));
}

static Array *sums(Case *c, int64_t from) {
  const Array *x = given(c, "x");
  const int64_t batches = x->shape.size[0], n = x->shape.size[1];
  Array *sum = new_array(c, FY_FLOAT32, shape(n));
  for (int64_t b = from < 0 ? batches + from : from; b < batches; b++)
    for (int64_t i = 0; i < n; i++)
      sum->f32[i] += 2 * x->f32[b * n + i];
  return sum;
}

// Which streams were used, and is every second kernel in another one than the first?
typedef struct Seen {
  bool known, default_stream, one_stream;
  bool ran; // before the function returned
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

static void judge(Case *c) {
  const Array *x = given(c, "x"), *want = sums(c, 0), *sum = got_shaped(c, "sum", shape(x->shape.size[1]));
  const Seen s = look_at(c);
  const bool two = s.known && counts(c)->launches > 0 && !s.default_stream && !s.one_stream;
  suspect_that(c, got_count(c, "right on the first device") == 1 && strstr(got_error(c), "invalid resource handle"),
               &OTHER_DEVICE);
  suspect_that(c, counts(c)->launches == 0, counts(c)->device_to_host ? &COMPUTED_ON_HOST : &NO_KERNEL);
  suspect_that(c, s.known && s.default_stream, &DEFAULT_STREAM);
  suspect_that(c, s.known && s.one_stream && counts(c)->launches > 1, &ONE_STREAM);
  suspect_array(c, "sum", sums(c, -1), &ONE_BATCH);
  suspect_that(c, two && case_schedule(c) == SCHEDULE_IN_ORDER && has_nan(sum), &NOT_AWAITED);
  suspect_that(c, two && case_schedule(c) != SCHEDULE_IN_ORDER && sum && !has_nan(sum), &OVERWRITTEN);
  if (!expect_array(c, "sum", want, 0) ||
      !expect_exactly(c, "copies to the host", counts(c)->device_to_host, 0, &COMPUTED_ON_HOST) ||
      !expect_at_least(c, "launches", counts(c)->launches, 2 * x->shape.size[0], &NO_KERNEL) ||
      !expect_exactly(c, "copies on the device", counts(c)->device_to_device, 0, &COPIES) ||
      !expect_exactly(c, "waits of the host", counts(c)->synchronizations, 0, &WAITS) || !s.known)
    return;
  if (case_schedule(c) == SCHEDULE_IN_ORDER && !expect_that(c, !s.ran, &WAITS, "some of it had been done on return"))
    return;
  const Array *scaled = got(c, "scaled");
  suspect_that(c, scaled && !(scaled->flags & ARRAY_GUARD_BROKEN), &OTHER_ARRAY);
  if (!expect_array(c, "scaled", sums(c, -1), 0))
    return;
  if (expect_that(c, !s.default_stream, &DEFAULT_STREAM, "a kernel was launched into the default stream"))
    expect_that(c, !s.one_stream, &ONE_STREAM, "all kernels were launched into one stream");
}

EXERCISE = {
    .id = "29_4_two_streams",
    .title = "Find the bug: two streams",
    .after_pass =
        "An event orders one direction only; a shared buffer needs a second one back (a producer-consumer pair).",
    .kind = "kernel",
    .chapter = 29,
    .level = LEVEL_HARD,
    .minutes = 30,
    .bug = true,
    .lesson = LESSON,
    .streams = true,
    .hints = {"For two batches, write down which work must finish before which. There are four arrows.",
              "Two of them follow from the order within each stream. Which calls draw the other two?",
              "An event covers the work that was enqueued before it was recorded. What is that here?",
              "second waits for an event that first records after its kernel. Before the next batch, first waits for "
              "an event that second records after its own."},
    .functions = {"sums_on_device"},
    .tests = {{.name = "some batches", .ask = ask_odd, .judge = judge},
              {.name = "two batches, whole blocks", .ask = ask_two, .judge = judge},
              {.name = "many small batches", .ask = ask_many, .judge = judge},
              {.name = "then on another device", .ask = ask_another, .judge = judge, .devices = 2},
              {.name = "one batch of one element", .ask = ask_one, .judge = judge}},
};
