// SPDX-License-Identifier: MIT
// Exercise 27.1: a pipeline in chunks, judged by its values on return and by its event trace: what was put into which stream, and when
// it ran. In the lazy mode, in which answers run, nothing runs before the host waits.
#include "exercise.h"
#include <math.h>

#define LESSON "docs/27_streams.md"
#define PIPELINE LESSON "#a-pipeline-in-chunks"
#define NO_OVERLAP LESSON "#when-it-does-not-overlap"

static const Mistake ONE_CHUNK = {
    "a single chunk",
    "All of the array went in before anything was computed. Cut it into chunks, each with a copy in, a "
    "launch and a copy out of its own.",
    PIPELINE};
static const Mistake ONE_STREAM = {
    "all in one stream",
    "A stream is in order: the next chunk's copy in waits there for this chunk's kernel and copy out. Let "
    "neighbouring chunks go through different streams.",
    NO_OVERLAP};
static const Mistake DEFAULT_STREAM = {
    "the default stream used",
    "A launch or a copy named no stream, or 0. The streams here are non-blocking: the default stream "
    "does not wait for them, nor they for it. The stream is the launch's fourth argument, and "
    "cudaMemcpyAsync's last.",
    LESSON "#the-default-stream"};
static const Mistake OTHER_STREAM = {
    "computed before the chunk was there",
    "The kernel was in another stream than the chunk's copy, and nothing made it wait for that. Put both into "
    "the same stream, or an event between them.",
    LESSON "#queues"};
static const Mistake WAITS_BETWEEN = {
    "the host waits between chunks",
    "The host waited, for a stream or in a copy that is not Async, before it had put in all the chunks. So "
    "one chunk was done before the next began. Wait behind the loop.",
    NO_OVERLAP};
static const Mistake WAITS_FOR_ALL = {
    "a part that waits for all chunks",
    "A chunk's kernel needs this chunk alone, and so does its copy out. Behind an event that stands for all "
    "copies in, or for all kernels, nothing is done side by side; nor where a chunk's copy in waits for the one "
    "before.",
    PIPELINE};
static const Mistake NOBODY_WAITS = {"work unfinished on return",
                                     "The function returned while work was unfinished: wait for all the streams that "
                                     "were used, at the end of all that was put into "
                                     "them.",
                                     LESSON "#queues"};
static const Mistake REMAINDER = {
    "the last elements left out",
    "n divided by the number of chunks is rounded down, so that the last elements belong to no chunk.", PIPELINE};
static const Mistake SAME_CHUNK = {"the first chunk again and again",
                                   "Each chunk begins at a place of its own, in in, in room and in out.", PIPELINE};
static const Mistake WHOLE_ARRAY = {"more bytes than needed",
                                    "Each element crosses once in each direction: n floats there, n back.", PIPELINE};
static const Mistake EMPTY_CHUNK = {
    "a launch of no blocks",
    "With fewer elements than chunks some chunks are empty, and a grid of 0 blocks is an invalid "
    "configuration.",
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
// Rounded up, an equal share for each stream is more than there is.
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
  bool default_stream, one_stream;
  bool early; // something had run before all was queued
} Seen;

static Seen look_at(const Case *c) {
  EventTrace all = event_trace(c);
  Seen s = {.one_stream = all.count > 0};
  for (int64_t i = 0; i < all.count; i++) {
    const TraceEntry *e = &all.entries[i];
    s.in += e->kind == TRACE_IN;
    s.out += e->kind == TRACE_OUT;
    s.kernels += e->kind == TRACE_KERNEL;
    s.default_stream |= e->stream == 0;
    s.one_stream &= e->stream == all.entries[0].stream;
    s.early |= e->ran >= 0 && e->ran < all.count;
  }
  return s;
}

// Is each kernel in a stream into which copies to the device were put?
static bool kernels_with_copies(const Case *c) {
  EventTrace all = event_trace(c);
  for (int64_t i = 0; i < all.count; i++) {
    bool found = all.entries[i].kind != TRACE_KERNEL;
    for (int64_t j = 0; j < i; j++)
      found = found || (all.entries[j].kind == TRACE_IN && all.entries[j].stream == all.entries[i].stream);
    if (!found)
      return false;
  }
  return true;
}

static void suspect_mistakes(Case *c, const Array *want) {
  EventTrace all = event_trace(c);
  Seen s = look_at(c);
  int64_t n = want->count, streams = (int64_t)given_number(c, "streams"), done = right_at_first(c, want);
  suspect_error(c, "invalid configuration", &EMPTY_CHUNK);
  suspect_that(c, counts(c)->launches == 0 && n > streams, &NO_KERNEL);
  suspect_that(c, all.known && s.default_stream, &DEFAULT_STREAM);
  suspect_that(c, all.known && trace_unfinished(c) > 0, &NOBODY_WAITS);
  suspect_that(c, n > streams && done == n / streams * streams && done < n, &REMAINDER);
  if (n > streams && case_schedule(c) == SCHEDULE_IN_ORDER) {
    Array *same = new_array(c, FY_FLOAT32, want->shape);
    for (int64_t i = 0; i < n; i++)
      same->f32[i] = i < (n + streams - 1) / streams ? want->f32[i] : NAN;
    suspect_array(c, "out", same, &SAME_CHUNK);
    Array *down = new_array(c, FY_FLOAT32, want->shape);
    for (int64_t i = 0; i < n; i++)
      down->f32[i] = i < n / streams ? want->f32[i] : NAN;
    suspect_array(c, "out", down, &SAME_CHUNK);
  }
  suspect_that(c, all.known && counts(c)->launches > 0 && !kernels_with_copies(c), &OTHER_STREAM);
}

static void expect_side_by_side(Case *c, Seen s) {
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
  Seen s = look_at(c);
  int64_t bytes = 4 * want->count;
  suspect_mistakes(c, want);
  if (!expect_array(c, "out", want, 0) || !expect_at_least(c, "launches", counts(c)->launches, 1, &NO_KERNEL) ||
      !expect_at_least(c, "bytes copied to the device", counts(c)->host_to_device_bytes, bytes, &COMPUTED_ON_HOST) ||
      !expect_at_least(c, "bytes copied to the host", counts(c)->device_to_host_bytes, bytes, &COMPUTED_ON_HOST) ||
      !expect_at_most(c, "bytes copied to the device", counts(c)->host_to_device_bytes, bytes, &WHOLE_ARRAY) ||
      !expect_at_most(c, "bytes copied to the host", counts(c)->device_to_host_bytes, bytes, &WHOLE_ARRAY) ||
      !all.known)
    return;
  if (case_schedule(c) != SCHEDULE_IN_ORDER) // others run work before it is waited for
    return;
  if (!expect_that(c, !s.default_stream, &DEFAULT_STREAM, "something was put into the default stream") ||
      !expect_that(c, want->count == 1 || (s.in > 1 && s.out > 1), &ONE_CHUNK,
                   "the array went in or came back in one piece"))
    return;
  expect_that(c, !s.early, &WAITS_BETWEEN, "something had run before all was put in");
  expect_that(c, !s.one_stream || want->count <= (int64_t)given_number(c, "streams"), &ONE_STREAM,
              "all chunks went through one stream");
  if (expect_exactly(c, "pieces of work that were not done on return", trace_unfinished(c), 0, &NOBODY_WAITS) &&
      want->count > (int64_t)given_number(c, "streams"))
    expect_side_by_side(c, s);
}

static void judge_inspected(Case *c) {
  judge(c);
  expect_no_finding(c);
}

EXERCISE = {
    .id = "27_1_overlap_copies",
    .title = "Overlap copies and kernels",
    .after_pass = "Chunks in several streams let copies in, kernels and copies out overlap; the host waits once.",
    .kind = "kernel",
    .streams = true,
    .chapter = 27,
    .level = LEVEL_MEDIUM,
    .minutes = 40,
    .essential = true,
    .lesson = PIPELINE,
    .hints =
        {"Chunk i has the elements from i * each on, `each` of them or what is left; each = (n + count - 1) / count.",
         "Its three parts, copy in, launch, copy out, go into streams[i]: in a stream they are in order.",
         "kernel<<<blocks, threads, 0, stream>>>(...): the third argument is dynamic shared memory, the fourth the "
         "stream.",
         "Behind the loop, and not in it: cudaStreamSynchronize for each stream, or cudaDeviceSynchronize."},
    .functions = {"pipeline_on_device"},
    .tests = {{.name = "four streams", .ask = ask_odd, .judge = judge},
              {.name = "three streams, looked at", .ask = ask_three, .judge = judge_inspected, .inspect = true},
              {.name = "whole chunks", .ask = ask_whole, .judge = judge},
              {.name = "one element", .ask = ask_one, .judge = judge},
              {.name = "fewer elements than streams", .ask = ask_few, .judge = judge},
              {.name = "a few elements more than streams", .ask = ask_few_more, .judge = judge},
              {.name = "large", .ask = ask_large, .judge = judge}},
};
