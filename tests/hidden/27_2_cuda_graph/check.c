// SPDX-License-Identifier: MIT
// Exercise 27.2: a step of three kernels as a graph, launched for each batch.
#include "exercise.h"
#include <math.h>

#define GRAPHS "docs/27_streams.md#graphs"

static const Mistake NO_GRAPH = {
    "no graph", "Each kernel was launched by a call of its own. Capture the step, and launch what was made of it.",
    GRAPHS};
static const Mistake MANY_CAPTURES = {
    "captured more than once",
    "To capture and to instantiate costs more than the launches it saves. Do both once, before the loop.", GRAPHS};
static const Mistake BYTES = {"n bytes of a batch copied",
                              "The first quarter is right: cudaMemcpyAsync counts bytes, and a batch has n numbers.",
                              "docs/20_the_first_kernel.md#five-versions-of-saxpy"};
static const Mistake IN_A_ROW = {
    "one kernel after the other",
    "The graph is a chain: right waits for left, which it does not need. Let `side` wait for an event of "
    "main_stream (the fork), launch right there, and let main_stream wait for side (the join).",
    GRAPHS};
static const Mistake NOT_JOINED = {
    "a stream that was not joined",
    "A stream that has come into the capture has to be waited for by the stream in which it began, before the "
    "capture ends. Else it ends with an error, and there is no graph.",
    GRAPHS};
static const Mistake NOT_FORKED = {
    "a stream outside of the capture",
    "Work went into `side` before that had come into the capture: it has to wait for an event that was recorded "
    "in main_stream since the capture began.",
    GRAPHS};
static const Mistake JOINED_LATE = {"both before what it needs",
                                    "both needs what left and right have made, and the graph does not let it wait for "
                                    "one of them: main_stream waits for "
                                    "the join before both is put in.",
                                    GRAPHS};
static const Mistake OF_ANOTHER_CALL = {
    "the graph of an earlier call",
    "A graph has the addresses that there were when it was captured. Another call has other arrays: it captures anew.",
    GRAPHS};
static const Mistake SAME_BATCH = {
    "the same batch in every step",
    "A graph reads the addresses that it was captured with. Capture it reading `batch`, and copy each batch "
    "there, outside of the graph, before launching it.",
    GRAPHS};
static const Mistake CAPTURE_AS_STEP = {"the capture taken for a step",
                                        "A capture runs nothing: the first batch needs a launch, too.", GRAPHS};
static const Mistake WAITS = {
    "the host waits in every step",
    "Copy and graph are in one stream, and so in order. The host has to wait at the end alone.", GRAPHS};
static const Mistake NOBODY_WAITS = {
    "nobody waited at the end", "The function returned while its steps were only queued.", "docs/27_streams.md#queues"};
static const Mistake UNFINISHED = {"work unfinished on return",
                                   "The host waited, and not for the stream in which the graph was launched last.",
                                   "docs/27_streams.md#queues"};
static const Mistake EXTRA_STEPS = {
    "a step too many", "There are as many steps as batches: what is run to warm up changes x as well.", GRAPHS};

static const Mistake KERNELS_TOO_MANY = {
    "a kernel too many in the graph",
    "A step is three kernels, and more than these were captured: every launch of the graph does them all.", GRAPHS};
static const Mistake COPY_INSIDE = {
    "a copy in the graph",
    "What is captured is done by every launch alike, from the addresses of the capture. "
    "The copy of a batch comes before each launch, outside of the graph.",
    GRAPHS};
static const Mistake PART_OUTSIDE = {
    "a part of the step outside of the graph",
    "A step is three kernels, and the graph has fewer: the rest was launched by calls of its own.", GRAPHS};

static void ask(Case *c, int64_t n, int64_t steps) {
  give_array(c, "x", draw_array(c, FY_INT32, shape(n), 1, 999), (Give){.device = "cuda:0"});
  give_array(c, "batches", draw_array(c, FY_INT32, shape(steps * n), 1, 999), (Give){.device = "cuda:0"});
  give_number(c, "n", (double)n);
  give_number(c, "steps", (double)steps);
}
static void ask_odd(Case *c) {
  ask(c, draw_odd(c, 301, 699), draw_int(c, 5, 9));
}
static void ask_small(Case *c) {
  ask(c, draw_odd(c, 3, 29), draw_int(c, 4, 6));
}
static void ask_one(Case *c) {
  ask(c, draw_odd(c, 129, 255), 1);
}
static void ask_many(Case *c) {
  ask(c, draw_odd(c, 33, 99), draw_int(c, 40, 60));
}
// A call with other arrays comes before.
static void ask_again(Case *c) {
  ask_odd(c);
  give_number(c, "before", 1);
}
static void ask_large(Case *c) {
  ask(c, draw_odd(c, 20001, 30001), draw_int(c, 4, 5));
}

// x after the steps from `first` to last - 1, with the batches from `first` on; or (same) all with that one.
static Array *stepped(Case *c, int64_t first, int64_t last, bool same) {
  const Array *x = given(c, "x");
  const int32_t *batches = given(c, "batches")->i32;
  Array *out = new_array(c, FY_INT32, x->shape);
  for (int64_t i = 0; i < x->count; i++) {
    int32_t value = x->i32[i];
    for (int64_t s = first; s < last; s++) {
      int32_t batch = batches[(same ? first : s) * x->count + i];
      value = ((3 * value + batch) % 65536 + 2 * ((value + 5 * batch) % 65536)) % 65536;
    }
    out->i32[i] = value;
  }
  return out;
}

// How many of the first elements are right, where all behind them are wrong but for a few that are so by chance.
static int64_t right_before_wrong(const Array *got, const Array *want) {
  int64_t first = 0, right = 0;
  while (first < want->count && got->i32[first] == want->i32[first])
    first++;
  for (int64_t i = first; i < want->count; i++)
    right += got->i32[i] == want->i32[i];
  return right <= (want->count - first) / 8 ? first : -1;
}

static void suspect_mistakes(Case *c) {
  int64_t steps = (int64_t)given_number(c, "steps");
  bool captures = got_count(c, "captures") > 0;
  suspect_that(c, got_count(c, "captures") == 0 && got_count(c, "graph launches") > 0, &OF_ANOTHER_CALL);
  suspect_that(c, counts(c)->launches == 0 && !captures, &NO_KERNEL);
  if (steps > 1) {
    suspect_array(c, "x", stepped(c, 1, steps, false), &CAPTURE_AS_STEP);
    suspect_array(c, "x", stepped(c, 0, steps - 1, false), &CAPTURE_AS_STEP);
    suspect_array(c, "x", stepped(c, 0, steps, true), &SAME_BATCH);
    const Array *x = got_shaped(c, "x", given(c, "x")->shape);
    const int64_t whole = x && x->count >= 64 ? right_before_wrong(x, stepped(c, 0, steps, false)) : -1;
    suspect_that(c, whole >= given(c, "x")->count / 4 && whole <= given(c, "x")->count / 4 + 2, &BYTES);
  }
  suspect_that(c, got_count(c, "kernels of the graph") > 3, &KERNELS_TOO_MANY);
  suspect_that(c, counts(c)->launches > 3 * steps && got_count(c, "kernels of the graph") <= 3, &EXTRA_STEPS);
  suspect_that(c, got_count(c, "copies of the graph") > 0, &COPY_INSIDE);
  // Fork and join of the capture are two waits, and nobody waited for the copy.
  suspect_that(c, got_count(c, "copied in another stream") == 1 && got_count(c, "waits for events") <= 2,
               &STREAMS_APART);
  suspect_that(c, captures && counts(c)->launches > 0 && counts(c)->launches < 3 * steps, &NOT_FORKED);
  suspect_that(c, captures && counts(c)->launches == 0, &NOT_JOINED);
}

// both waits for left and for right, and neither of these for the other. A graph with other nodes than the kernels is not looked at.
static void expect_graph(Case *c) {
  const int64_t kernels = got_count(c, "kernels of the graph");
  if (!expect_exactly(c, "kernels of the graph", kernels, 3, kernels > 3 ? &KERNELS_TOO_MANY : &PART_OUTSIDE) ||
      !expect_exactly(c, "copies and fills of the graph", got_count(c, "copies of the graph"), 0, &COPY_INSIDE) ||
      got_count(c, "graph nodes") != 3)
    return;
  const int64_t waits = got_count(c, "nodes that wait for others"), first = got_count(c, "nodes that wait for none");
  expect_that(c, waits >= 2, &JOINED_LATE, "in the graph, both does not wait for left and right");
  expect_that(c, waits <= 2, &IN_A_ROW, "in the graph, left and right wait for each other");
  expect_that(c, first == 2, &IN_A_ROW, "%lld kernels of the graph wait for no other, and left and right should",
              (long long)first);
}

static void judge(Case *c) {
  int64_t steps = (int64_t)given_number(c, "steps");
  suspect_mistakes(c);
  if (!expect_array(c, "x", stepped(c, 0, steps, false), 0) || !expect_by_kernel(c))
    return;
  expect_at_most(c, "launches of kernels", counts(c)->launches, 3 * steps,
                 got_count(c, "kernels of the graph") > 3 ? &KERNELS_TOO_MANY : &EXTRA_STEPS);
  expect_at_least(c, "synchronisations", counts(c)->synchronizations, 1, &NOBODY_WAITS);
  if (steps > 3)
    expect_at_most(c, "synchronisations", counts(c)->synchronizations, 2, &WAITS);
  if (got_count(c, "captures") < 0) // a real GPU
    return;
  expect_exactly(c, "pieces of work that were not done on return", got_count(c, "unfinished"), 0, &UNFINISHED);
  expect_at_least(c, "captures", got_count(c, "captures"), 1, &NO_GRAPH);
  expect_at_most(c, "captures", got_count(c, "captures"), 1, &MANY_CAPTURES);
  expect_at_most(c, "instantiations", got_count(c, "instantiations"), 1, &MANY_CAPTURES);
  if (expect_exactly(c, "launches of the graph", got_count(c, "graph launches"), steps, &NO_GRAPH))
    expect_graph(c);
  expect_at_least(c, "waits of a stream for an event", got_count(c, "waits for events"), 2, &IN_A_ROW);
}

EXERCISE = {
    .id = "27_2_cuda_graph",
    .title = "Capture and replay a CUDA graph",
    .after_pass = "What is queued the same way at every step is captured once, and launched as one graph.",
    .kind = "kernel",
    .chapter = 27,
    .level = LEVEL_MEDIUM,
    .minutes = 45,
    .lesson = GRAPHS,
    .streams = true,
    .hints = {"cudaStreamBeginCapture(main_stream, cudaStreamCaptureModeGlobal), the three launches, "
              "cudaStreamEndCapture(main_stream, "
              "&graph), cudaGraphInstantiate(&step, graph, 0).",
              "Behind the begin: cudaEventRecord(fork, main_stream), cudaStreamWaitEvent(side, fork, 0). From here on "
              "what is put into `side` "
              "is captured, too.",
              "Before both: cudaEventRecord(join, side), cudaStreamWaitEvent(main_stream, join, 0).",
              "In the loop, in main_stream: cudaMemcpyAsync from batches + i * n to batch, then cudaGraphLaunch."},
    .functions = {"steps_on_device"},
    // A kept graph is seen to be one in the first of these, and elsewhere only to be wrong when called again.
    .tests = {{.name = "the second call", .ask = ask_again, .judge = judge},
              {.name = "some steps", .ask = ask_odd, .judge = judge},
              {.name = "small", .ask = ask_small, .judge = judge},
              {.name = "one step", .ask = ask_one, .judge = judge},
              {.name = "many steps", .ask = ask_many, .judge = judge},
              {.name = "large", .ask = ask_large, .judge = judge}},
};
