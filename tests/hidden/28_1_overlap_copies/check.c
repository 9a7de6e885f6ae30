// SPDX-License-Identifier: MIT
// Exercise 28.1: a pipeline in chunks, judged by its values on return and by its event trace: which work was queued in which stream, and
// when it ran. In the lazy mode, in which answers run, nothing runs before the host waits.
#include "exercise.h"
#include <math.h>

#define LESSON "docs/28_streams.md"
#define PIPELINE LESSON "#overlapping-copies-and-kernels"
#define NO_OVERLAP LESSON "#why-copies-and-kernels-fail-to-overlap"

static const Mistake ONE_CHUNK = {"no chunks",
                                  "You copy the whole array in one call, so nothing can overlap with the copy. Give "
                                  "each chunk its own copy in, launch and copy out.",
                                  PIPELINE};
static const Mistake ONE_STREAM = {"a single stream",
                                   "The operations of a stream run in order, so the next chunk's copy waits for this "
                                   "chunk's kernel. Use different streams for consecutive chunks.",
                                   NO_OVERLAP};
static const Mistake DEFAULT_STREAM = {"kernel in the default stream",
                                       "The kernel runs on the default stream, which does not wait for non-blocking "
                                       "streams. Pass the chunk's stream as the fourth launch argument.",
                                       LESSON "#the-default-stream"};
static const Mistake UNORDERED = {
    "missing dependency between streams",
    "A kernel or a copy out depends on an operation on a different stream, but does not wait for it. Enqueue both on "
    "the same stream, or let the second stream wait for an event.",
    LESSON "#streams-and-events"};
static const Mistake WAITS = {"host synchronization after each chunk",
                              "The host waits for each chunk before it enqueues the next one, so only one chunk is in "
                              "flight. Enqueue all chunks first, and wait after the loop.",
                              NO_OVERLAP};
static const Mistake WAITS_EARLY = {
    "host synchronization in the loop",
    "The host waits for some work before it has enqueued all work. Wait only after the loop.", NO_OVERLAP};
static const Mistake WAITS_FOR_ALL = {
    "needless dependency between chunks",
    "Each chunk depends only on its own operations: its kernel on its copy in, and its copy out on its kernel. Record "
    "one event for each chunk, not one event for all chunks.",
    PIPELINE};
static const Mistake UNFINISHED = {"missing synchronization before return",
                                   "The function returns while work is still running. Synchronize with every stream "
                                   "that you used, after its last operation.",
                                   LESSON "#streams-and-events"};
static const Mistake REMAINDER = {"chunk size rounded down",
                                  "n / count rounds down, so the last elements belong to no chunk. Round up, and make "
                                  "the last chunk shorter.",
                                  PIPELINE};
static const Mistake SAME_CHUNK = {
    "missing chunk offset", "Only the first chunk of out was written. Add the chunk's offset to in, scratch and out.",
    PIPELINE};
static const Mistake EMPTY_CHUNK = {
    "empty grid",
    "If n is small, some chunks are empty, and a grid of 0 blocks is an invalid configuration. Skip empty chunks.",
    PIPELINE};

static void ask(Case *c, int64_t n, int64_t streams) {
  give_array(c, "x", draw_steps(c, shape(n), 2, 30, 0.5), (Give){.device = "cpu"});
  give_number(c, "streams", (double)streams);
  if (n > streams)
    give_number(c, "waits", 1);
}
static void ask_odd(Case *c) {
  ask(c, 4 * draw_int(c, 500, 900) + 3, 4);
}
static void ask_three(Case *c) {
  ask(c, 3 * draw_int(c, 500, 900) + 1, 3);
}
static void ask_whole(Case *c) {
  ask(c, 5 * 256 * draw_int(c, 1, 4), 5);
}
static void ask_one(Case *c) {
  ask(c, 1, 4);
}
static void ask_few(Case *c) {
  ask(c, 2, 4);
}
// Chunks of (n + count - 1) / count elements: none is left for the last stream.
static void ask_few_more(Case *c) {
  ask(c, 7, 5);
}
static void ask_large(Case *c) {
  ask(c, draw_odd(c, 470001, 500001), draw_int(c, 6, 7));
}

static Array *right(Case *c) {
  const Array *x = given(c, "x");
  Array *out = new_array(c, FY_FLOAT32, x->shape);
  for (int64_t i = 0; i < x->count; i++)
    out->f32[i] = x->f32[i] * x->f32[i] + 1;
  return out;
}

// How many of the elements, from the first on, are right.
static int64_t right_at_first(const Case *c, const Array *want) {
  const Array *out = got(c, "out");
  int64_t n = 0;
  while (out && n < out->count && n < want->count && out->f32[n] == want->f32[n])
    n++;
  return n;
}

typedef struct Seen {
  int64_t in, kernels, out; // how many
  bool one_stream;
  bool early; // some work had run before all was queued
} Seen;

static Seen look_at(const Case *c) {
  EventTrace all = event_trace(c);
  Seen s = {.one_stream = all.count > 0};
  for (int64_t i = 0; i < all.count; i++) {
    const TraceEntry *e = &all.entries[i];
    s.in += e->kind == TRACE_IN;
    s.out += e->kind == TRACE_OUT;
    s.kernels += e->kind == TRACE_KERNEL;
    s.one_stream &= e->stream == all.entries[0].stream;
    s.early |= e->ran >= 0 && e->ran < all.count;
  }
  return s;
}

static bool is_work(const TraceEntry *e) {
  return e->kind == TRACE_IN || e->kind == TRACE_KERNEL || e->kind == TRACE_OUT;
}

// When some work was queued, work of another stream was queued already and had not run.
static bool two_in_flight(const Case *c) {
  EventTrace all = event_trace(c);
  for (int64_t j = 0; j < all.count; j++)
    for (int64_t i = 0; i < j; i++) {
      const TraceEntry *e = &all.entries[i], *later = &all.entries[j];
      if (is_work(e) && is_work(later) && e->stream != later->stream && (e->ran < 0 || e->ran > j))
        return true;
    }
  return false;
}

// Work of `kind` has nothing before it that could order it after work of the kind that it needs: not such work in the same stream, no
// event, and no wait of the host. `in_default`: the first that is so is in the default stream.
static bool is_unordered(const Case *c, int64_t kind, int64_t needs, bool in_default) {
  EventTrace all = event_trace(c);
  for (int64_t i = 0; i < all.count; i++) {
    const TraceEntry *e = &all.entries[i];
    bool ordered = e->kind != kind;
    for (int64_t j = 0; j < i; j++) {
      const TraceEntry *before = &all.entries[j];
      ordered |= before->kind == TRACE_WAIT;
      ordered |= before->stream == e->stream && (before->kind == needs || before->kind == TRACE_WAIT_EVENT);
    }
    if (!ordered)
      return (e->stream == 0) == in_default;
  }
  return false;
}

// Only the first `chunk` elements came back, though there were several copies out.
static void suspect_same_chunk(Case *c, const Array *want, int64_t chunk) {
  Array *first = new_array(c, FY_FLOAT32, want->shape);
  for (int64_t i = 0; i < want->count; i++)
    first->f32[i] = i < chunk ? want->f32[i] : NAN;
  suspect_array(c, "out", first, &SAME_CHUNK);
}

static void suspect_mistakes(Case *c, const Array *want) {
  EventTrace all = event_trace(c);
  Seen s = look_at(c);
  int64_t n = want->count, streams = (int64_t)given_number(c, "streams"), done = right_at_first(c, want);
  suspect_error(c, "invalid configuration", &EMPTY_CHUNK);
  suspect_that(c, counts(c)->launches == 0 && n > streams, &NO_KERNEL);
  suspect_that(c, counts(c)->host_to_device_bytes + counts(c)->device_to_host_bytes == 0, &COMPUTED_ON_HOST);
  suspect_that(c, all.known && is_unordered(c, TRACE_KERNEL, TRACE_IN, true), &DEFAULT_STREAM);
  suspect_that(c, all.known && trace_unfinished(c) > 0, &UNFINISHED);
  suspect_that(c, all.known && is_unordered(c, TRACE_KERNEL, TRACE_IN, false), &UNORDERED);
  suspect_that(c, all.known && is_unordered(c, TRACE_OUT, TRACE_KERNEL, false), &UNORDERED);
  suspect_that(c, n > streams && done == n / streams * streams && done < n, &REMAINDER);
  if (n > streams && s.out > 1 && case_schedule(c) == SCHEDULE_IN_ORDER) {
    suspect_same_chunk(c, want, (n + streams - 1) / streams);
    suspect_same_chunk(c, want, n / streams);
  }
}

static void expect_overlap(Case *c, Seen s) {
  if (!expect_that(c, s.in > 1 && s.out > 1, &ONE_CHUNK, "the whole array was copied in one call") ||
      !expect_that(c, !s.one_stream, &ONE_STREAM, "all operations were on one stream") ||
      !expect_that(c, two_in_flight(c), &WAITS, "no two streams had work in flight at the same time"))
    return;
  expect_that(c, !s.early, &WAITS_EARLY, "some work had run before all work was enqueued");
  if (s.early) // what an operation waited for is then not known
    return;
  expect_that(c, got_count(c, "copies in before the first kernel") < s.in, &WAITS_FOR_ALL,
              "the first kernel waits for all copies in");
  expect_that(c, got_count(c, "kernels before the first copy out") < s.kernels, &WAITS_FOR_ALL,
              "the first copy out waits for all kernels");
  expect_that(c, got_count(c, "kernels before the last copy in") < s.kernels - 1, &WAITS_FOR_ALL,
              "the last copy in waits for all kernels before it");
}

static void judge(Case *c) {
  const Array *want = right(c);
  EventTrace all = event_trace(c);
  int64_t bytes = 4 * want->count;
  suspect_mistakes(c, want);
  if (!expect_array(c, "out", want, 0) || !expect_at_least(c, "launches", counts(c)->launches, 1, &NO_KERNEL) ||
      !expect_at_least(c, "bytes copied to the device", counts(c)->host_to_device_bytes, bytes, NULL) ||
      !expect_at_least(c, "bytes copied to the host", counts(c)->device_to_host_bytes, bytes, NULL))
    return;
  if (!all.known || case_schedule(c) != SCHEDULE_IN_ORDER) // other schedules run work before it is waited for
    return;
  if (expect_exactly(c, "operations that were unfinished on return", trace_unfinished(c), 0, &UNFINISHED) &&
      want->count > (int64_t)given_number(c, "streams"))
    expect_overlap(c, look_at(c));
}

static void judge_inspected(Case *c) {
  judge(c);
  expect_no_finding(c);
}

EXERCISE = {
    .id = "28_1_overlap_copies",
    .title = "Overlap copies and kernels",
    .after_pass = "In a pipeline, chunks on several streams let copies in, kernels and copies out overlap.",
    .kind = "kernel",
    .streams = true,
    .chapter = 28,
    .level = LEVEL_MEDIUM,
    .minutes = 40,
    .essential = true,
    .lesson = PIPELINE,
    .stars = {{"the host waits only after it has enqueued all work", {&WAITS_EARLY}}},
    .hints = {"Operations of one stream run in order. Operations of different streams may overlap. So enqueue all "
              "operations of a chunk on the same stream.",
              "Chunk i starts at element i * each, where each = (n + count - 1) / count. The last chunk may be "
              "shorter, and there may be fewer chunks than streams.",
              "kernel<<<blocks, threads, 0, stream>>>(...): the third launch argument is the size of the dynamic "
              "shared memory, and the fourth is the stream. cudaMemcpyAsync takes the stream as its last argument.",
              "For each chunk, enqueue the copy in, the launch and the copy out on streams[i]. After the loop, call "
              "cudaStreamSynchronize for each stream, or cudaDeviceSynchronize."},
    .functions = {"pipeline_on_device"},
    .tests = {{.name = "four streams", .ask = ask_odd, .judge = judge},
              {.name = "three streams, inspected", .ask = ask_three, .judge = judge_inspected, .inspect = true},
              {.name = "whole chunks", .ask = ask_whole, .judge = judge},
              {.name = "one element", .ask = ask_one, .judge = judge},
              {.name = "fewer elements than streams", .ask = ask_few, .judge = judge},
              {.name = "slightly more elements than streams", .ask = ask_few_more, .judge = judge},
              {.name = "large", .ask = ask_large, .judge = judge}},
};
