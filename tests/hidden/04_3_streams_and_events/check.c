// SPDX-License-Identifier: MIT
// Exercise 4.3: operations of two streams, and their order. Old values in the result show a missing order.
#include "exercise.h"
#include <math.h>
#include <string.h>

static const Mistake NO_WAIT = {"missing wait between streams",
                                "The product may start before the copy has finished. Record an event on `copying` "
                                "after the copy, and let `computing` wait for this event before the product.",
                                "docs/04_benchmarks.md#timing-without-synchronization"};
static const Mistake WRONG_COPY_STREAM = {
    "copy on the wrong stream",
    "Work on `copying` is still writing the batch. Make `copying` current with fy_stream_guard, then call fy_to.",
    "docs/07_pitfalls.md#reading-an-asynchronous-copy-too-early"};
static const Mistake WRONG_COMPUTE_STREAM = {
    "kernel on the wrong stream",
    "Work on `computing` is still writing the weight. Make `computing` current with fy_stream_guard, then multiply.",
    "docs/04_benchmarks.md#timing-with-cuda-events"};
static const Mistake HOST_WAITS = {"host synchronization between copy and product",
                                   "The host waits before it enqueues the product. Order the streams with an event "
                                   "instead, and pass .non_blocking = true to fy_to.",
                                   "docs/07_pitfalls.md#implicit-synchronization-in-a-loop"};
static const Mistake NOBODY_WAITS = {"missing synchronization at the end",
                                     "Call fy_event_synchronize(end) before you query the elapsed time and return.",
                                     "docs/04_benchmarks.md#timing-without-synchronization"};
static const Mistake NO_TIMING = {"event without timing", "Only events from fy_event_new(true) record the time.",
                                  "docs/04_benchmarks.md#timing-with-cuda-events"};
static const Mistake NOT_RECORDED = {"event not recorded",
                                     "Record both events on `computing`, one before the product and one after it.",
                                     "docs/04_benchmarks.md#timing-with-cuda-events"};
static const Mistake NOT_MEASURED = {"time not measured by events",
                                     "Record one event on `computing` before the product and one after it. Store the "
                                     "result of fy_event_elapsed_time for these two events.",
                                     "docs/04_benchmarks.md#timing-with-cuda-events"};
static const Mistake FETCHED = {"result copied back to the CPU",
                                "Return the tensor that is on the GPU. Do not copy it.",
                                "docs/07_pitfalls.md#keep-data-on-the-device"};
static const Mistake SECONDS = {"seconds instead of milliseconds",
                                "fy_event_elapsed_time returns milliseconds. Store this value unchanged.",
                                "docs/04_benchmarks.md#timing-with-cuda-events"};
static const Mistake OTHER_TIME = {
    "events not around the product",
    "Record one event on `computing` directly before the product, and one directly after it.",
    "docs/04_benchmarks.md#timing-with-cuda-events"};
static const Mistake WAIT_TIMED = {
    "wait for the copy measured",
    "The elapsed time includes the wait for the copy. Call fy_event_wait first, then record the start event.",
    "docs/04_benchmarks.md#timing-with-cuda-events"};
static const Mistake COMPUTED_ON_COPYING = {
    "kernel on the copy stream",
    "A kernel on `copying` is not ordered after the work that writes the weight. Run the product on `computing`.",
    "docs/04_benchmarks.md#timing-with-cuda-events"};
static const Mistake BACKWARDS = {"start and end events swapped",
                                  "Pass the earlier event first: fy_event_elapsed_time(start, end).",
                                  "docs/04_benchmarks.md#timing-with-cuda-events"};
static const Mistake FIRST_GPU = {
    "hard-coded device",
    "\"cuda\" means the current device, usually cuda:0. Use the device of the streams: fy_stream_device(copying).",
    "docs/06_several_gpus.md#choose-a-gpu"};
static const Mistake ON_CPU = {"product computed on the CPU", "Copy the batch to the GPU and multiply there.",
                               "docs/03_tensor_moves.md#copying-with-todevice"};
static const Mistake OTHERS_MEMORY = {"memory reused across streams",
                                      "The copy overwrote memory that pending work on `computing` still reads. "
                                      "Allocate the copy while `copying` is the current stream.",
                                      "docs/08_data_pipeline.md#prefetching-batches"};
static const Mistake KEPT = {"cached event or tensor",
                             "The second call used an event or a tensor from the first call. Create new ones in each "
                             "call, because each call may use a different GPU.",
                             "docs/04_benchmarks.md#several-streams"};
static const Mistake SEVERAL_COPIES = {"several transfers", "Copy the whole batch with one fy_to.",
                                       "docs/07_pitfalls.md#one-large-transfer-instead-of-many-small-ones"};

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

// ---- the order of the operations (event_trace.h) -----------------------------------------------------------------

// Entries of the trace, -1 if there is none.
typedef struct Found {
  int64_t copy, product;      // the last copy to the device, the last computation
  int64_t copying, computing; // the two streams
  int64_t waits;              // how often the host waited or polled before the product
  bool copy_elsewhere, kernel_on_copying, product_elsewhere;
} Found;

static Found find_in_trace(const Case *c) {
  EventTrace all = event_trace(c);
  Found f = {.copy = -1, .product = -1, .copying = got_count(c, "copying"), .computing = got_count(c, "computing")};
  for (int64_t i = 0; i < all.count; i++) {
    const TraceEntry *e = &all.entries[i];
    const bool computes = e->kind == TRACE_KERNEL || e->kind == TRACE_WITHIN;
    if (e->kind == TRACE_IN) {
      f.copy = i;
      f.copy_elsewhere |= e->stream != f.copying;
    }
    f.product = computes ? i : f.product;
    f.product_elsewhere = computes ? e->stream != f.computing : f.product_elsewhere;
    f.kernel_on_copying |= computes && e->stream == f.copying;
  }
  for (int64_t i = 0; i < f.product; i++)
    f.waits += all.entries[i].kind == TRACE_WAIT || all.entries[i].kind == TRACE_QUERY;
  return f;
}

// The last record of an event before entry `end`.
static int64_t recorded(const EventTrace *all, int64_t event, int64_t end) {
  for (int64_t i = end - 1; i >= 0; i--)
    if (all->entries[i].kind == TRACE_RECORD && all->entries[i].number == event)
      return i;
  return -1;
}

// The last elapsed time that is the stored one, times `factor`.
static int64_t asked_for(const Case *c, double factor) {
  EventTrace all = event_trace(c);
  double milliseconds = got_number(c, "milliseconds");
  for (int64_t i = all.count - 1; i >= 0; i--)
    if (all.entries[i].kind == TRACE_ELAPSED && fabs((double)all.entries[i].result * 1e-6 * factor - milliseconds) <=
                                                    1e-6 * fmax(1e-6, fabs(milliseconds)) + 1e-6 * factor)
      return i;
  return -1;
}

static bool judge_streams(Case *c, const Found *f) {
  return expect_that(c, !f->copy_elsewhere, &WRONG_COPY_STREAM, "expected the copy on `copying`") &&
         expect_that(c, !f->product_elsewhere, &WRONG_COMPUTE_STREAM, "expected the product on `computing`");
}

// Had everything before entry `end` on the stream `computing` finished at entry `asked`?
static bool was_done(const EventTrace *all, int64_t computing, int64_t end, int64_t asked) {
  for (int64_t i = 0; i < end; i++) {
    const TraceEntry *e = &all->entries[i];
    if (e->kind <= TRACE_WITHIN && e->stream == computing && (e->ran < 0 || e->ran > asked))
      return false;
  }
  return true;
}

static void judge_time(Case *c, const Found *f) {
  EventTrace all = event_trace(c);
  int64_t asked = asked_for(c, 1), seconds = asked_for(c, 1e-3);
  if (!expect_that(c, asked >= 0, seconds >= 0 ? &SECONDS : &NOT_MEASURED,
                   "milliseconds: expected the result of fy_event_elapsed_time"))
    return;
  int64_t begin = recorded(&all, all.entries[asked].number, asked),
          end = recorded(&all, all.entries[asked].other, asked);
  int64_t waits = -1;
  for (int64_t i = 0; i < f->product; i++)
    waits = all.entries[i].kind == TRACE_WAIT_EVENT && all.entries[i].stream == f->computing ? i : waits;
  if (!expect_that(c, begin >= 0 && end >= 0, &NOT_RECORDED, "milliseconds: expected two recorded events"))
    return;
  if (!expect_that(c, begin != end, &OTHER_TIME, "milliseconds: expected two different events") ||
      !expect_that(c, begin < end, &BACKWARDS, "milliseconds: the start event was recorded after the end event"))
    return;
  bool on_computing = all.entries[begin].stream == f->computing && all.entries[end].stream == f->computing;
  expect_that(c, on_computing, &OTHER_TIME, "milliseconds: expected events that were recorded on `computing`");
  expect_that(c, begin < f->product, &OTHER_TIME, "milliseconds: the start event was recorded after the product");
  expect_that(c, end > f->product, &OTHER_TIME, "milliseconds: the end event was recorded before the product");
  expect_that(c, begin > waits, &WAIT_TIMED, "milliseconds: the start event was recorded before the wait for the copy");
  expect_that(c, was_done(&all, f->computing, end, asked), &NOBODY_WAITS,
              "milliseconds: queried before the product had finished");
}

static void judge_trace(Case *c) {
  Found f = find_in_trace(c);
  if (!judge_streams(c, &f) ||
      !expect_exactly(c, "host waits and queries before the product is enqueued", f.waits, 0, &HOST_WAITS))
    return;
  judge_time(c, &f);
  expect_exactly(c, "unfinished operations on return", trace_unfinished(c), 0, &NOBODY_WAITS);
}

// Does `computing` wait for an event after the copy?
static bool ordered(const EventTrace *all, const Found *f) {
  for (int64_t i = f->copy; i < f->product; i++)
    if (all->entries[i].kind == TRACE_WAIT_EVENT && all->entries[i].stream == f->computing)
      return true;
  return false;
}

static void suspects(Case *c, bool second) {
  EventTrace all = event_trace(c);
  Found f = find_in_trace(c);
  bool came = got(c, "result") != NULL, called_before = got_number(c, "called before") == 1;
  // An event of another GPU by mistake fails in the first call, on the second GPU.
  suspect_that(c, !second && called_before && strstr(got_error(c), "recording stream's device") != NULL, &KEPT);
  // The first call had a batch of other sizes.
  suspect_that(c, called_before && strstr(got_error(c), "must match the size of tensor") != NULL, &KEPT);
  suspect_error(c, "enable_timing", &NO_TIMING);
  suspect_that(c, strstr(got_error(c), "must be recorded") != NULL, &NOT_RECORDED);
  suspect_that(c, strstr(got_error(c), "must be completed") != NULL, &NOBODY_WAITS);
  const bool apart = strstr(got_error(c), "found at least two devices") != NULL,
             cpu = strstr(got_error(c), "cpu") != NULL;
  suspect_that(c, second && apart && !cpu, &FIRST_GPU);
  suspect_that(c, apart && cpu, &ON_CPU);
  suspect_that(c, came && counts(c)->launches == 0, &ON_CPU);
  suspect_that(c, came && all.known && f.kernel_on_copying && !f.product_elsewhere, &COMPUTED_ON_COPYING);
  suspect_that(c, came && all.known && f.copy_elsewhere && !f.product_elsewhere, &WRONG_COPY_STREAM);
  suspect_that(c, came && all.known && f.product_elsewhere, &WRONG_COMPUTE_STREAM);
  suspect_array(c, "result", product(c, "old batch", "weight"), &WRONG_COPY_STREAM);
  suspect_array(c, "result", product(c, "batch", "old weight"), &WRONG_COMPUTE_STREAM);
  suspect_array(c, "result", product(c, "old batch", "old weight"), &WRONG_COMPUTE_STREAM);
  if (came && case_schedule(c) != SCHEDULE_IN_ORDER)
    suspect_array(c, "result", overwritten(c), &OTHERS_MEMORY);
  if (!came || !all.known || f.copy < 0 || f.product < 0)
    return;
  int64_t copied = all.entries[f.copy].ran, computed = all.entries[f.product].ran, last_record = -1;
  for (int64_t i = 0; i < all.count; i++)
    last_record = all.entries[i].kind == TRACE_RECORD ? i : last_record;
  suspect_that(c, computed >= 0 && (copied < 0 || copied > computed || f.copy > f.product), &NO_WAIT);
  suspect_that(c, computed >= 0 && f.waits == 0 && !ordered(&all, &f), &NO_WAIT);
  suspect_that(c, computed < 0, last_record < f.product ? &OTHER_TIME : &NOBODY_WAITS);
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
  expect_that(c, !isnan(milliseconds), &NOT_MEASURED, "milliseconds: expected a time, but no value was stored");
  expect_that(c, !(milliseconds < 0), &BACKWARDS, "milliseconds: expected a positive time, got a negative one");
  expect_that(c, milliseconds > 0 && milliseconds <= got_number(c, "longest"), &NOT_MEASURED,
              "milliseconds: expected more than 0 and at most the time of all the work on `computing`");
}

EXERCISE = {
    .id = "04_3_streams_and_events",
    .title = "Streams and events",
    .after_pass = "Operations on different streams can run concurrently. An event makes one stream wait for another "
                  "without blocking the host.",
    .kind = "write",
    .chapter = 4,
    .level = LEVEL_HARD,
    .minutes = 30,
    .lesson = "docs/04_benchmarks.md#timing-with-cuda-events",
    .stars = {{"the batch is copied in one transfer", {&SEVERAL_COPIES}}},
    .hints = {"Inside fy_stream_guard(stream) { ... }, `stream` is the current stream. Operations are enqueued on the "
              "current stream.",
              "After the copy: fy_event_record(copied, copying). Before the product: fy_event_wait(copied, computing). "
              "Neither call blocks the host.",
              "Create the two timing events with fy_event_new(true). Record one on `computing` directly before the "
              "product, and the other directly after it.",
              "At the end call fy_event_synchronize(end), then fy_event_elapsed_time(begin, end)."},
    .streams = true,
    .functions = {"streamed_product"},
    .tests = {{.name = "small", .ask = ask_small, .judge = judge},
              {.name = "one row", .ask = ask_one_row, .judge = judge},
              {.name = "large", .ask = ask_large, .judge = judge},
              {.name = "second GPU", .ask = ask_second, .judge = judge, .devices = 2}},
};
