// SPDX-License-Identifier: MIT
// Exercise 4.3: what is queued where, and who waits for whom. Old values in the result tell of work that did not wait.
#include "exercise.h"
#include <math.h>
#include <string.h>

static const Mistake NO_WAIT = {
    "computed before the copy arrived",
    "The product ran on memory that the copy had not filled yet: two streams know nothing of each other. Record an "
    "event on "
    "`copying` behind the copy, and let `computing` wait for it before the product is queued.",
    "docs/04_benchmarks.md#the-clock-that-stops-too-early"};
static const Mistake WRONG_COPY_STREAM = {
    "copied outside of its stream",
    "The copy took the batch's old values, because it was not queued behind what still wrote to them. It belongs on "
    "`copying`: make that stream current with fy_stream_guard.",
    "docs/07_pitfalls.md#a-copy-read-before-it-has-arrived"};
static const Mistake WRONG_COMPUTE_STREAM = {
    "computed outside of its stream",
    "The product used the weight's old values, because it was not queued behind what still wrote to them. It belongs "
    "on "
    "`computing`: an operation is queued on the stream that is current when it is called.",
    "docs/04_benchmarks.md#the-devices-own-clock"};
static const Mistake HOST_WAITS = {
    "the host waits in between",
    "The host waited more than once: for the copy (without .non_blocking it waits until it is done) or by "
    "synchronising "
    "between copy and product. An event makes one stream wait for another while the host goes on.",
    "docs/07_pitfalls.md#waiting-in-a-loop"};
static const Mistake POLLED = {
    "asked again and again",
    "The host went round in a loop until the event had passed. fy_event_synchronize waits for it.",
    "docs/04_benchmarks.md#the-clock-that-stops-too-early"};
static const Mistake NOBODY_WAITS = {"nobody waited at the end",
                                     "The function returned while the product was only queued, and the events had not "
                                     "passed. Wait for the last event before "
                                     "asking for the time between them.",
                                     "docs/04_benchmarks.md#the-clock-that-stops-too-early"};
static const Mistake NO_TIMING = {"events without a clock",
                                  "Only events made by fy_event_new(true) write down when they pass.",
                                  "docs/04_benchmarks.md#the-devices-own-clock"};
static const Mistake NOT_MEASURED = {"the time is not the device's",
                                     "*milliseconds has to be the time between two events on `computing`, before and "
                                     "after the product: more than 0, and no "
                                     "longer than all the work there.",
                                     "docs/04_benchmarks.md#the-devices-own-clock"};
static const Mistake FETCHED = {"the result fetched",
                                "The product was made on the device and brought to the host. It is wanted there.",
                                "docs/07_pitfalls.md#to-and-fro-against-staying"};
static const Mistake SECONDS = {"seconds in place of milliseconds",
                                "fy_event_elapsed_time returns milliseconds, and milliseconds are asked for.",
                                "docs/04_benchmarks.md#the-devices-own-clock"};
static const Mistake OTHER_TIME = {
    "not the time of the product",
    "The two events do not stand around the product: they belong on `computing`, one right "
    "before it is queued and one right behind it.",
    "docs/04_benchmarks.md#the-devices-own-clock"};
static const Mistake WAIT_TIMED = {"the wait for the copy on the clock",
                                   "The first event was recorded before `computing` was told to wait, so the time "
                                   "holds the copy too. First the wait, then the "
                                   "event.",
                                   "docs/04_benchmarks.md#the-devices-own-clock"};
static const Mistake COMPUTED_ON_COPYING = {"computed on the copying stream",
                                            "Something was computed on `copying`, where nothing knows whether the "
                                            "weight is there yet. Only the batch's copy belongs there.",
                                            "docs/04_benchmarks.md#the-devices-own-clock"};
static const Mistake BACKWARDS = {"the events the wrong way round",
                                  "fy_event_elapsed_time(start, end): the earlier event is the first argument.",
                                  "docs/04_benchmarks.md#the-devices-own-clock"};
static const Mistake FIRST_GPU = {
    "the first GPU, not the one given",
    "\"cuda\" is the current device, cuda:0 mostly. fy_stream_device(copying) says which device the streams belong to.",
    "docs/06_several_gpus.md#the-gpu-of-your-choice"};
static const Mistake ON_CPU = {"computed on the CPU",
                               "The product belongs on the device where the weight is; the batch has to go there.",
                               "docs/03_tensor_moves.md#todevice"};
static const Mistake OTHERS_MEMORY = {
    "memory that the other stream still uses",
    "The copy went into memory that belongs to `computing`, where earlier work still read it, and `copying` waits for "
    "nothing there. Memory belongs to the stream that is current when it is made: make it where it is written first.",
    "docs/08_data_pipeline.md#waiting-against-prefetching"};
static const Mistake KEPT = {"kept from an earlier call",
                             "The second call, with other sizes and on another GPU where there is one, found what the "
                             "first had left in a static variable. An event belongs to the GPU on which it was first "
                             "recorded, memory to where it was made: make both anew in each call.",
                             "docs/04_benchmarks.md#two-queues"};
static const Mistake SEVERAL_COPIES = {"more than one copy", "The batch crosses once, whole.",
                                       "docs/07_pitfalls.md#many-small-transfers-against-one"};

static Array *whole_numbers(Case *c, int64_t rows, int64_t columns) {
  return array_cast(c, draw_array(c, FY_INT32, shape(rows, columns), 1, 9), FY_FLOAT32);
}

static void ask_on(Case *c, const char *device, int64_t rows, int64_t inner, int64_t columns) {
  give_array(c, "old batch", whole_numbers(c, rows, inner), (Give){.pinned = true});
  give_array(c, "batch", whole_numbers(c, rows, inner), (Give){.device = device});
  give_array(c, "old weight", whole_numbers(c, inner, columns), (Give){.device = device});
  give_array(c, "weight", whole_numbers(c, inner, columns), (Give){.device = device});
}
static void ask_small(Case *c) {
  ask_on(c, "cuda:0", draw_odd(c, 3, 9), draw_int(c, 10, 16), draw_odd(c, 17, 23));
}
static void ask_one_row(Case *c) {
  ask_on(c, "cuda:0", 1, draw_odd(c, 33, 63), draw_odd(c, 3, 9));
}
static void ask_large(Case *c) {
  ask_on(c, "cuda:0", draw_odd(c, 101, 131), draw_odd(c, 201, 231), draw_odd(c, 65, 85));
}
static void ask_second(Case *c) {
  ask_on(c, "cuda:1", draw_odd(c, 3, 9), draw_int(c, 10, 16), draw_odd(c, 17, 23));
}

static Array *product(Case *c, const char *left, const char *right) {
  const Array *a = given(c, left), *b = given(c, right);
  int64_t rows = a->shape.size[0], inner = a->shape.size[1], columns = b->shape.size[1];
  Array *result = new_array(c, FY_FLOAT32, shape(rows, columns));
  for (int64_t i = 0; i < rows; i++)
    for (int64_t j = 0; j < columns; j++)
      for (int64_t k = 0; k < inner; k++)
        result->f32[i * columns + j] += a->f32[i * inner + k] * b->f32[k * columns + j];
  return result;
}

// The product with a weight whose beginning the batch had overwritten, both one after the other in memory.
static Array *overwritten(Case *c) {
  const Array *batch = given(c, "batch"), *weight = given(c, "weight");
  int64_t inner = weight->shape.size[0], columns = weight->shape.size[1], rows = batch->shape.size[0];
  Array *result = new_array(c, FY_FLOAT32, shape(rows, columns));
  for (int64_t i = 0; i < rows; i++)
    for (int64_t at = 0; at < weight->count; at++)
      result->f32[i * columns + at % columns] +=
          batch->f32[i * inner + at / columns] * (at < batch->count ? batch : weight)->f32[at];
  return result;
}

// ---- what was queued where, and when (event_trace.h) ----------------------------------------------------------------------------

// Where things stand in the trace; -1: nowhere.
typedef struct Places {
  int64_t copy, first_kernel, last_kernel, wait,
      waits_before_kernel;    // the batch's copy; the product; the host's last wait
  int64_t copying, computing; // the two streams
  bool copy_elsewhere, kernel_on_copying, kernel_elsewhere;
} Places;

static Places places_of(const Case *c) {
  EventTrace all = event_trace(c);
  Places p = {-1, -1, -1, -1, 0, got_count(c, "copying"), got_count(c, "computing"), false, false, false};
  for (int64_t i = 0; i < all.count; i++) {
    const TraceEntry *e = &all.entries[i];
    bool computes = e->kind == TRACE_KERNEL || e->kind == TRACE_WITHIN;
    if (e->kind == TRACE_IN) {
      p.copy = i;
      p.copy_elsewhere |= e->stream != p.copying;
    }
    if (computes) {
      p.first_kernel = p.first_kernel < 0 ? i : p.first_kernel;
      p.last_kernel = i;
      p.kernel_elsewhere |= e->stream != p.computing;
    }
    p.kernel_on_copying |= (computes || e->kind == TRACE_FILL) && e->stream == p.copying;
    if (e->kind == TRACE_WAIT)
      p.wait = i;
    p.waits_before_kernel += p.first_kernel < 0 && (e->kind == TRACE_WAIT || e->kind == TRACE_QUERY);
  }
  return p;
}

// The last record of an event before entry `end`.
static int64_t recorded(const EventTrace *all, int64_t event, int64_t end) {
  for (int64_t i = end - 1; i >= 0; i--)
    if (all->entries[i].kind == TRACE_RECORD && all->entries[i].number == event)
      return i;
  return -1;
}

// The last time that was asked for and is what the answer stored, times `factor`.
static int64_t asked_for(const Case *c, double factor) {
  EventTrace all = event_trace(c);
  double milliseconds = got_number(c, "milliseconds");
  for (int64_t i = all.count - 1; i >= 0; i--)
    if (all.entries[i].kind == TRACE_ELAPSED && fabs((double)all.entries[i].result * 1e-6 * factor - milliseconds) <=
                                                    1e-6 * fmax(1e-6, fabs(milliseconds)) + 1e-6 * factor)
      return i;
  return -1;
}

static bool judge_streams(Case *c, const Places *p) {
  return expect_that(c, !p->copy_elsewhere, &WRONG_COPY_STREAM, "the copy was not queued on `copying`") &&
         expect_that(c, !p->kernel_on_copying, &COMPUTED_ON_COPYING, "something was computed on `copying`") &&
         expect_that(c, !p->kernel_elsewhere, &WRONG_COMPUTE_STREAM, "the product was not queued on `computing`");
}

// Was all that came before entry `end` on the stream `computing` done when entry `asked` was made?
static bool was_done(const EventTrace *all, int64_t computing, int64_t end, int64_t asked) {
  for (int64_t i = 0; i < end; i++) {
    const TraceEntry *e = &all->entries[i];
    if (e->kind <= TRACE_WITHIN && e->stream == computing && (e->ran < 0 || e->ran > asked))
      return false;
  }
  return true;
}

static void judge_time(Case *c, const Places *p) {
  EventTrace all = event_trace(c);
  int64_t asked = asked_for(c, 1), seconds = asked_for(c, 1e-3);
  if (!expect_that(c, asked >= 0, seconds >= 0 ? &SECONDS : &NOT_MEASURED,
                   "milliseconds: it is not what fy_event_elapsed_time returned"))
    return;
  int64_t begin = recorded(&all, all.entries[asked].number, asked),
          end = recorded(&all, all.entries[asked].other, asked);
  int64_t waits = -1;
  for (int64_t i = 0; i < p->first_kernel; i++)
    waits = all.entries[i].kind == TRACE_WAIT_EVENT && all.entries[i].stream == p->computing ? i : waits;
  if (!expect_that(c, begin >= 0 && end >= 0, &NOT_MEASURED, "milliseconds: its events were not recorded"))
    return;
  if (!expect_that(c, begin != end, &OTHER_TIME, "milliseconds: both events are the same") ||
      !expect_that(c, begin < end, &BACKWARDS, "milliseconds: the event given first was recorded last"))
    return;
  bool on_computing = all.entries[begin].stream == p->computing && all.entries[end].stream == p->computing;
  expect_that(c, on_computing, &OTHER_TIME, "milliseconds: its events were not recorded on `computing`");
  expect_that(c, begin < p->first_kernel, &OTHER_TIME, "milliseconds: the first event came after the product");
  expect_that(c, end > p->last_kernel, &OTHER_TIME, "milliseconds: the second event came before the product");
  expect_that(c, begin > waits, &WAIT_TIMED, "milliseconds: the first event came before the wait for the copy");
  expect_that(c, was_done(&all, p->computing, end, asked), &NOBODY_WAITS,
              "the time was asked for before the product was done");
}

static void judge_trace(Case *c) {
  Places p = places_of(c);
  if (!judge_streams(c, &p) ||
      !expect_exactly(c, "waits before the product was queued", p.waits_before_kernel, 0, &HOST_WAITS))
    return;
  judge_time(c, &p);
  expect_exactly(c, "pieces of work that were not done on return", trace_unfinished(c), 0, &NOBODY_WAITS);
}

// Was `computing` told to wait for anything behind the copy?
static bool ordered(const EventTrace *all, const Places *p) {
  for (int64_t i = p->copy; i < p->first_kernel; i++)
    if (all->entries[i].kind == TRACE_WAIT_EVENT && all->entries[i].stream == p->computing)
      return true;
  return false;
}

static void suspects(Case *c, bool second) {
  EventTrace all = event_trace(c);
  Places p = places_of(c);
  bool came = got(c, "result") != NULL, called_before = got_number(c, "called before") == 1;
  // Who records on another GPU's stream by mistake fails in the first call, on the second GPU.
  suspect_that(c, !second && called_before && strstr(got_error(c), "recording stream's device") != NULL, &KEPT);
  // The first call had a batch of other sizes.
  suspect_that(c, called_before && strstr(got_error(c), "must match the size of tensor") != NULL, &KEPT);
  suspect_error(c, "enable_timing", &NO_TIMING);
  suspect_that(c, strstr(got_error(c), "must be recorded") != NULL, &NOT_MEASURED);
  suspect_that(c, strstr(got_error(c), "must be completed") != NULL, &NOBODY_WAITS);
  const bool apart = strstr(got_error(c), "found at least two devices") != NULL,
             cpu = strstr(got_error(c), "cpu") != NULL;
  suspect_that(c, second && apart && !cpu, &FIRST_GPU);
  suspect_that(c, apart && cpu, &ON_CPU);
  suspect_that(c, came && counts(c)->launches == 0, &ON_CPU);
  suspect_that(c, came && all.known && p.kernel_on_copying, &COMPUTED_ON_COPYING);
  suspect_that(c, came && all.known && p.copy_elsewhere && !p.kernel_elsewhere, &WRONG_COPY_STREAM);
  suspect_that(c, came && all.known && p.kernel_elsewhere, &WRONG_COMPUTE_STREAM);
  suspect_array(c, "result", product(c, "old batch", "weight"), &WRONG_COPY_STREAM);
  suspect_array(c, "result", product(c, "batch", "old weight"), &WRONG_COMPUTE_STREAM);
  suspect_array(c, "result", product(c, "old batch", "old weight"), &WRONG_COMPUTE_STREAM);
  if (came && case_schedule(c) != SCHEDULE_IN_ORDER)
    suspect_array(c, "result", overwritten(c), &OTHERS_MEMORY);
  if (!came || !all.known || p.copy < 0 || p.first_kernel < 0)
    return;
  int64_t copied = all.entries[p.copy].ran, computed = all.entries[p.first_kernel].ran, last_record = -1;
  for (int64_t i = 0; i < all.count; i++)
    last_record = all.entries[i].kind == TRACE_RECORD ? i : last_record;
  suspect_that(c, computed >= 0 && (copied < 0 || copied > computed || p.copy > p.first_kernel), &NO_WAIT);
  suspect_that(c, computed >= 0 && !ordered(&all, &p), &NO_WAIT);
  suspect_that(c, computed < 0, last_record < p.first_kernel ? &OTHER_TIME : &NOBODY_WAITS);
}

static void judge(Case *c) {
  bool second = given(c, "weight")->device == 1;
  double milliseconds = got_number(c, "milliseconds");
  suspects(c, second);
  if (!expect_array(c, "result", product(c, "batch", "weight"), 1e-6))
    return;
  expect_device(c, "result", second ? "cuda:1" : "cuda:0",
                counts(c)->launches == 0                      ? &ON_CPU
                : strcmp(got_device(c, "result"), "cpu") == 0 ? &FETCHED
                                                              : &FIRST_GPU);
  expect_exactly(c, "copies from host to device", counts(c)->host_to_device, 1, &SEVERAL_COPIES);
  if (event_trace(c).known)
    judge_trace(c);
  expect_at_least(c, "times the host waited", counts(c)->synchronizations, 1,
                  event_trace(c).known && !isnan(milliseconds) ? &POLLED : &NOBODY_WAITS);
  expect_at_most(c, "times the host waited", counts(c)->synchronizations, 1, &HOST_WAITS);
  expect_that(c, !isnan(milliseconds), &NOT_MEASURED, "milliseconds: nothing was stored");
  expect_that(c, !(milliseconds < 0), &BACKWARDS, "milliseconds: below 0");
  expect_that(c, milliseconds > 0 && milliseconds <= got_number(c, "longest"), &NOT_MEASURED,
              "milliseconds: expected more than 0 and at most the time of all the work on `computing`");
}

EXERCISE = {
    .id = "04_3_streams_and_events",
    .title = "Streams and events",
    .after_pass = "Streams run side by side, and an event makes one wait for what another has done.",
    .kind = "write",
    .chapter = 4,
    .level = LEVEL_HARD,
    .minutes = 30,
    .lesson = "docs/04_benchmarks.md#the-devices-own-clock",
    .hints =
        {"fy_stream_guard(stream) { ... } makes a stream current: what is called inside is queued there.",
         "Behind the copy: fy_event_record(copied, copying). Before the product: fy_event_wait(copied, computing). The "
         "host waits in neither.",
         "The two events that measure are made by fy_event_new(true) and recorded on `computing`, around the product.",
         "fy_event_synchronize(end) is the one time that the host waits."},
    .streams = true,
    .functions = {"streamed_product"},
    .tests = {{.name = "small and odd", .ask = ask_small, .judge = judge},
              {.name = "one row", .ask = ask_one_row, .judge = judge},
              {.name = "large and odd", .ask = ask_large, .judge = judge},
              {.name = "on the second GPU", .ask = ask_second, .judge = judge, .devices = 2}},
};
