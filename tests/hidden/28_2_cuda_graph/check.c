// SPDX-License-Identifier: MIT
// Exercise 28.2: a step of three kernels as a graph, launched for each batch.
#include "exercise.h"
#include <math.h>

#define GRAPHS "docs/28_streams.md#cuda-graphs"

static const Mistake NO_GRAPH = {
    "no graph", "The host launches each kernel with a separate call. Capture a step as a graph, and launch the graph.",
    GRAPHS};
static const Mistake INSTANTIATED_OFTEN = {
    "graph instantiated in the loop",
    "Instantiating a graph costs more than the launches that it saves. Instantiate the graph once, before the loop.",
    GRAPHS};
static const Mistake BYTES = {
    "byte count without sizeof",
    "Only the first quarter of x is correct: cudaMemcpyAsync takes its size in bytes. Copy n * sizeof(int) bytes.",
    "docs/20_the_first_kernel.md#five-versions-of-saxpy"};
static const Mistake CHAIN = {
    "serial graph",
    "In the graph, one of the kernels left and right waits for the other. Let `side` wait for an event that you record "
    "on main_stream (the fork), and launch one of the two kernels on `side`. Then let main_stream wait for an event "
    "that you record on `side` (the join).",
    GRAPHS};
static const Mistake NOT_JOINED = {
    "unjoined stream at the end of the capture",
    "main_stream must wait for an event recorded on `side` before the capture ends. Otherwise cudaStreamEndCapture "
    "returns cudaErrorStreamCaptureUnjoined and no graph.",
    GRAPHS};
static const Mistake NOT_FORKED = {
    "stream not forked into the capture",
    "The kernel on `side` ran during the capture, because this stream was not part of the capture. Let `side` wait for "
    "an event that you record on main_stream after the capture begins.",
    GRAPHS};
static const Mistake MISSING_JOIN = {"missing dependency in the graph",
                                     "In the graph, the kernel both does not wait for left and right. Let main_stream "
                                     "wait for the join event before you launch both.",
                                     GRAPHS};
static const Mistake STALE_GRAPH = {
    "graph of an earlier call",
    "A graph keeps the addresses of its capture. Each call has different arrays, so capture a step again in each call.",
    GRAPHS};
static const Mistake SAME_BATCH = {
    "same batch in every step",
    "A graph always uses the addresses of its capture, and so does a copy in the graph. Let the kernels of the graph "
    "read `batch`. Before each launch of the graph, copy the next batch to `batch`, outside the graph.",
    GRAPHS};
static const Mistake CAPTURE_AS_STEP = {
    "capture counted as a step",
    "A capture executes nothing. Launch the graph once for every batch, including the first one.", GRAPHS};
static const Mistake EXTRA_STEP = {"warm-up that changes x",
                                   "The first batch was applied twice, because a warm-up step changes x as well. Count "
                                   "the warm-up as the first step, or leave it out.",
                                   GRAPHS};
static const Mistake WAITS = {
    "host synchronization in every step",
    "The copy and the graph are on the same stream, so they run in order. Let the host wait only at the end.", GRAPHS};
static const Mistake UNFINISHED = {"missing synchronization before return",
                                   "The function returns while its steps are still queued. Synchronize with the stream "
                                   "on which you launched the graph.",
                                   "docs/28_streams.md#streams-and-events"};
static const Mistake PART_OUTSIDE = {"kernel launched outside of the graph",
                                     "The graph has fewer than three kernels. Capture all kernels of a step.", GRAPHS};

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
// The counted call follows one with other arrays.
static void ask_again(Case *c) {
  ask_odd(c);
  give_number(c, "before", 1);
}
static void ask_large(Case *c) {
  ask(c, draw_odd(c, 20001, 30001), draw_int(c, 4, 5));
}

// x after the steps from `first` to last - 1, each with its batch; `same`: all with batch number `same`, if that is not negative.
static Array *stepped(Case *c, int64_t first, int64_t last, int64_t same) {
  const Array *x = given(c, "x");
  const int32_t *batches = given(c, "batches")->i32;
  Array *out = new_array(c, FY_INT32, x->shape);
  for (int64_t i = 0; i < x->count; i++) {
    int32_t value = x->i32[i];
    for (int64_t s = first; s < last; s++) {
      int64_t used = same >= 0 ? same : s < 0 ? 0 : s;
      int32_t batch = batches[used * x->count + i];
      value = ((3 * value + batch) % 65536 + 2 * ((value + 5 * batch) % 65536)) % 65536;
    }
    out->i32[i] = value;
  }
  return out;
}
enum { OWN_BATCHES = -1 };

// How many of the first elements are right, where nearly all after them are wrong. (A few are right by chance.)
static int64_t right_before_wrong(const Array *got, const Array *want) {
  int64_t first = 0, right = 0;
  while (first < want->count && got->i32[first] == want->i32[first])
    first++;
  for (int64_t i = first; i < want->count; i++)
    right += got->i32[i] == want->i32[i];
  return right <= (want->count - first) / 8 ? first : -1;
}

static void suspect_values(Case *c, int64_t steps) {
  suspect_array(c, "x", stepped(c, 1, steps, OWN_BATCHES), &CAPTURE_AS_STEP);
  suspect_array(c, "x", stepped(c, 0, steps - 1, OWN_BATCHES), &CAPTURE_AS_STEP);
  suspect_array(c, "x", stepped(c, 0, steps, 0), &SAME_BATCH);
  suspect_array(c, "x", stepped(c, 0, steps, steps - 1), &SAME_BATCH);
  suspect_array(c, "x", stepped(c, -1, steps, OWN_BATCHES), &EXTRA_STEP);
  const Array *x = got_shaped(c, "x", given(c, "x")->shape);
  const int64_t right = x && x->count >= 64 ? right_before_wrong(x, stepped(c, 0, steps, OWN_BATCHES)) : -1;
  suspect_that(c, right >= given(c, "x")->count / 4 && right <= given(c, "x")->count / 4 + 2, &BYTES);
}

// What cudaStreamEndCapture returned, as CUDA numbers its errors.
enum { UNJOINED = 904 };

static void suspect_mistakes(Case *c) {
  int64_t steps = (int64_t)given_number(c, "steps");
  bool graphs = got_count(c, "instantiations") > 0;
  suspect_that(c, got_count(c, "instantiations") == 0 && got_count(c, "graph launches") > 0, &STALE_GRAPH);
  suspect_that(c, counts(c)->launches == 0 && got_count(c, "captures") == 0 && !graphs, &NO_KERNEL);
  suspect_that(c, got_count(c, "capture error") == UNJOINED, &NOT_JOINED);
  if (steps > 1)
    suspect_values(c, steps);
  // Fork and join of the capture are two waits: nothing waits for the copy.
  suspect_that(c, got_count(c, "copied in another stream") == 1 && got_count(c, "waits for events") <= 2,
               &STREAMS_APART);
  suspect_that(c, got_count(c, "kernels while capturing") > 0, &NOT_FORKED);
}

// both waits for left and for right, and neither of these for the other. Known only of a graph of three kernels.
static void expect_edges(Case *c) {
  if (got_count(c, "graph nodes") != 3 || got_count(c, "kernels of the graph") != 3)
    return;
  const int64_t waits = got_count(c, "nodes that wait for others"), first = got_count(c, "nodes that wait for none");
  expect_that(c, waits >= 2, &MISSING_JOIN, "in the graph, the kernel both does not wait for left and right");
  expect_that(c, waits <= 2 && first == 2, &CHAIN, "in the graph, left and right cannot run at the same time");
}

static void judge(Case *c) {
  int64_t steps = (int64_t)given_number(c, "steps");
  suspect_mistakes(c);
  if (!expect_array(c, "x", stepped(c, 0, steps, OWN_BATCHES), 0) || !expect_by_kernel(c))
    return;
  if (steps > 3)
    expect_at_most(c, "host synchronizations", counts(c)->synchronizations, 3, &WAITS);
  if (got_count(c, "captures") < 0) // a real GPU
    return;
  expect_exactly(c, "operations that were unfinished on return", got_count(c, "unfinished"), 0, &UNFINISHED);
  expect_at_least(c, "graphs instantiated", got_count(c, "instantiations"), 1, &NO_GRAPH);
  expect_at_most(c, "graphs instantiated", got_count(c, "instantiations"), 1, &INSTANTIATED_OFTEN);
  const int64_t launches = got_count(c, "graph launches");
  if (expect_at_least(c, "launches of the graph", launches, steps - 1, launches == 0 ? &NO_GRAPH : NULL) &&
      launches > 0 &&
      expect_at_least(c, "kernels of the graph", got_count(c, "kernels of the graph"), 3, &PART_OUTSIDE))
    expect_edges(c);
}

EXERCISE = {
    .id = "28_2_cuda_graph",
    .title = "Capture and replay a CUDA graph",
    .after_pass = "You capture a step once as a CUDA graph, and then launch the whole step with one call.",
    .kind = "kernel",
    .chapter = 28,
    .level = LEVEL_MEDIUM,
    .minutes = 45,
    .lesson = GRAPHS,
    .streams = true,
    .stars = {{"left and right can run at the same time in the graph", {&CHAIN}},
              {"the host waits only at the end", {&WAITS}}},
    .hints = {"Between cudaStreamBeginCapture and cudaStreamEndCapture, launches are recorded and not executed. "
              "cudaGraphInstantiate turns the recorded graph into an executable graph.",
              "The graph reads `batch`. In the loop, copy from batches + i * n to batch with cudaMemcpyAsync on "
              "main_stream, then call cudaGraphLaunch on the same stream.",
              "Fork, after the capture begins: cudaEventRecord(fork, main_stream), cudaStreamWaitEvent(side, fork, 0). "
              "From then on, launches on `side` are captured as well. Join, before you launch both: "
              "cudaEventRecord(join, side), cudaStreamWaitEvent(main_stream, join, 0).",
              "In this order: cudaStreamBeginCapture(main_stream, cudaStreamCaptureModeGlobal), fork, left on "
              "main_stream, right on side, join, both on main_stream, cudaStreamEndCapture(main_stream, &graph), "
              "cudaGraphInstantiate(&step, graph, 0)."},
    .functions = {"steps_on_device"},
    .tests = {{.name = "one step", .ask = ask_one, .judge = judge},
              {.name = "several steps", .ask = ask_odd, .judge = judge},
              {.name = "small", .ask = ask_small, .judge = judge},
              {.name = "the second call", .ask = ask_again, .judge = judge},
              {.name = "many steps", .ask = ask_many, .judge = judge},
              {.name = "large", .ask = ask_large, .judge = judge}},
};
