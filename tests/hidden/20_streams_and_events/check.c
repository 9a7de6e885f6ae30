// Exercise 20: what is queued where, and who waits for whom. Old values in the result tell of work that did not wait.
#include "exercise.h"
#include <math.h>

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
static const Mistake BACKWARDS = {"the events the wrong way round",
                                  "fy_event_elapsed_time(start, end): the earlier event is the first argument.",
                                  "docs/04_benchmarks.md#the-devices-own-clock"};
static const Mistake FIRST_GPU = {
    "always the first GPU",
    "\"cuda\" is the current device, cuda:0 mostly. fy_stream_device(copying) says which device the streams belong to.",
    "docs/06_several_gpus.md#the-gpu-of-your-choice"};
static const Mistake ON_CPU = {"computed on the CPU",
                               "The product belongs on the device where the weight is; the batch has to go there.",
                               "docs/03_tensor_moves.md#todevice"};
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

static void judge(Case *c) {
  bool second = given(c, "weight")->device == 1;
  double milliseconds = got_number(c, "milliseconds");
  suspect_error(c, "enable_timing", &NO_TIMING);
  suspect_error(c, "recorded", &NOT_MEASURED);
  if (second)
    suspect_error(c, "device", &FIRST_GPU);
  suspect_error(c, "device", &ON_CPU);
  suspect_that(c, got(c, "result") && counts(c)->launches == 0, &ON_CPU);
  suspect_that(c, got(c, "result") && counts(c)->synchronizations == 0, &NOBODY_WAITS);
  suspect_array(c, "result", product(c, "old batch", "weight"), &WRONG_COPY_STREAM);
  suspect_array(c, "result", product(c, "batch", "old weight"), &WRONG_COMPUTE_STREAM);
  suspect_array(c, "result", product(c, "old batch", "old weight"), &WRONG_COMPUTE_STREAM);
  suspect_that(c, got(c, "result") && counts(c)->host_to_device > 0, &NO_WAIT);
  if (!expect_array(c, "result", product(c, "batch", "weight"), 1e-6))
    return;
  expect_device(c, "result", second ? "cuda:1" : "cuda:0", counts(c)->launches > 0 ? &FIRST_GPU : &ON_CPU);
  expect_exactly(c, "copies from host to device", counts(c)->host_to_device, 1, &SEVERAL_COPIES);
  expect_at_least(c, "times the host waited", counts(c)->synchronizations, 1, &NOBODY_WAITS);
  expect_at_most(c, "times the host waited", counts(c)->synchronizations, 1, &HOST_WAITS);
  expect_that(c, !isnan(milliseconds), &NOT_MEASURED, "milliseconds: nothing was stored");
  expect_that(c, !(milliseconds < 0), &BACKWARDS, "milliseconds: below 0");
  expect_that(c, milliseconds > 0 && milliseconds <= got_number(c, "longest"), &NOT_MEASURED,
              "milliseconds: expected more than 0 and at most the time of all the work on `computing`");
}

EXERCISE = {
    .id = "20_streams_and_events",
    .title = "Two streams and an event between them",
    .kind = "write",
    .chapter = 4,
    .lesson = "docs/04_benchmarks.md#the-devices-own-clock",
    .hints =
        {"fy_stream_guard(stream) { ... } makes a stream current: what is called inside is queued there.",
         "Behind the copy: fy_event_record(copied, copying). Before the product: fy_event_wait(copied, computing). The "
         "host waits in neither.",
         "The two events that measure are made by fy_event_new(true) and recorded on `computing`, around the product.",
         "fy_event_synchronize(end) is the one time that the host waits."},
    .functions = {"streamed_product"},
    .tests = {{.name = "small and odd", .ask = ask_small, .judge = judge},
              {.name = "one row", .ask = ask_one_row, .judge = judge},
              {.name = "large and odd", .ask = ask_large, .judge = judge},
              {.name = "on the second GPU", .ask = ask_second, .judge = judge, .devices = 2}},
};
