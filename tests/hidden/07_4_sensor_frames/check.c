// SPDX-License-Identifier: MIT
// Exercise 7.4: view on a transposed tensor. Every test calls the answer twice: with readings that have to be copied, and
// with readings whose transpose is contiguous, of which a view will do.
#include "exercise.h"
#include "layouts.h"
#include <string.h>

static const Mistake REFUSED = {
    "view on a transposed tensor",
    "transpose swaps the strides and moves nothing, so the elements do not lie in memory in the "
    "order that the view needs.",
    "docs/07_pitfalls.md#view-against-reshape"};
static const Mistake TOO_EARLY = {
    "made contiguous before the transpose",
    "What has to be contiguous is the transposed tensor, and it is what the view is taken of.",
    "docs/07_pitfalls.md#view-against-reshape"};
static const Mistake THROWN_AWAY = {
    "the contiguous copy thrown away",
    "contiguous() leaves its tensor as it is and returns another, which is the one to view.",
    "docs/07_pitfalls.md#view-against-reshape"};
static const Mistake NOT_TRANSPOSED = {"cut without transposing",
                                       "The view of the readings themselves raises nothing, but it cuts them sensor by "
                                       "sensor. view and reshape keep the order of the elements.",
                                       "docs/07_pitfalls.md#view-against-reshape"};
static const Mistake BY_SENSOR = {"frames sensor by sensor",
                                  "Within a frame the readings are to stand moment by moment; the sensors run fastest.",
                                  "docs/07_pitfalls.md#view-against-reshape"};
static const Mistake SWAPPED = {"rows and columns swapped",
                                "A row of the result is a frame; there are as many as frames.",
                                "docs/07_pitfalls.md#view-against-reshape"};
static const Mistake ALWAYS = {
    "always a copy",
    "Readings that lie moment by moment already need no copy. reshape and contiguous copy only "
    "where it is needed.",
    "docs/07_pitfalls.md#questions"};
static const Mistake TWICE = {"copied twice",
                              "One copy puts every element in its place; the first copy was for nothing.",
                              "docs/07_pitfalls.md#questions"};
static const Mistake PIECES = {"a copy per row", "Each row was copied by itself. One kernel copies the whole tensor.",
                               "docs/07_pitfalls.md#many-small-transfers-against-one"};
static const Mistake THROUGH_CPU = {"carried through the CPU", "The device can put its tensors in order by itself.",
                                    "docs/07_pitfalls.md#to-and-fro-against-staying"};
static const Mistake CUT_OFF = {"cut off from the gradient",
                                "The frames come from the readings, and gradients have to find their way back.",
                                "docs/07_pitfalls.md#in-place-and-the-gradients"};
static const Mistake EXAMPLE = {
    "written for the example alone",
    "Two sensors and frames of two moments were an example. The sizes come with the readings.",
    "docs/07_pitfalls.md#view-against-reshape"};
static const Mistake CONSTANT = {"a constant in place of the result",
                                 "What is returned is the same for every input: nothing was computed.",
                                 "docs/07_pitfalls.md#view-against-reshape"};
static const Mistake NOTHING = {"nothing returned", "The function has to return the frames.",
                                "docs/07_pitfalls.md#view-against-reshape"};

static const Mistake STRIDES = {"strides taken for granted",
                                "Rows of readings one behind the other gave the right frames, and the same numbers in "
                                "another layout did not: a slice begins further in and has gaps, an expanded dimension "
                                "has stride 0. The tensor's operations go by its strides.",
                                "docs/07_pitfalls.md#view-against-reshape"};

static void ask_sizes(Case *c, int64_t sensors, int64_t frames, int64_t moments, Give how) {
  Shape s = shape(sensors, frames * moments);
  give_number(c, "moments", (double)moments);
  give_array(c, "readings", draw_array(c, FY_FLOAT32, s, -50, 50), how);
  give_array(c, "turned", draw_array(c, FY_FLOAT32, s, -50, 50),
             (Give){.device = how.device, .transposed = true, .requires_grad = how.requires_grad});
}
static void ask_usual(Case *c, Give how) {
  ask_sizes(c, draw_odd(c, 3, 7), draw_int(c, 4, 9), draw_int(c, 2, 5), how);
}

static void ask_gpu(Case *c) {
  ask_usual(c, (Give){.device = "cuda:0"});
}
static void ask_cpu(Case *c) {
  ask_usual(c, (Give){0});
}
static void ask_layouts(Case *c) {
  ask_usual(c, (Give){.device = "cuda:0"});
  give_number(c, "layouts", 1);
}
static void ask_layouts_here(Case *c) {
  ask_usual(c, (Give){0});
  give_number(c, "layouts", 1);
}
static void ask_gaps(Case *c) {
  ask_usual(c, (Give){.device = "cuda:0", .strided = true});
}
static void ask_large(Case *c) {
  ask_sizes(c, draw_odd(c, 33, 65), draw_odd(c, 51, 99), draw_odd(c, 7, 13), (Give){.device = "cuda:0"});
}
static void ask_one_frame(Case *c) {
  ask_sizes(c, draw_odd(c, 3, 7), 1, draw_odd(c, 5, 15), (Give){.device = "cuda:0"});
}
static void ask_gradient(Case *c) {
  ask_usual(c, (Give){.device = "cuda:0", .requires_grad = true});
  const Array *x = given(c, "readings");
  int64_t moments = (int64_t)given_number(c, "moments"), frames = x->shape.size[1] / moments;
  Array *gradient = draw_array(c, FY_FLOAT32, shape(frames, moments * x->shape.size[0]), -9, 9);
  give_array(c, "gradient", gradient, (Give){.device = "cuda:0"});
}
static void ask_second(Case *c) {
  ask_usual(c, (Give){.device = "cuda:1"});
}

static Array *new_frames(Case *c, const Array *x) {
  int64_t moments = (int64_t)given_number(c, "moments");
  return new_array(c, FY_FLOAT32, shape(x->shape.size[1] / moments, moments * x->shape.size[0]));
}

static Array *right(Case *c, const Array *x) {
  Array *want = new_frames(c, x);
  int64_t sensors = x->shape.size[0], all = x->shape.size[1];
  for (int64_t k = 0; k < want->count; k++)
    want->f32[k] = x->f32[k % sensors * all + k / sensors];
  return want;
}

static Array *not_transposed(Case *c, const Array *x) {
  Array *wrong = new_frames(c, x);
  memcpy(wrong->data, x->data, (size_t)x->count * sizeof(float));
  return wrong;
}

static Array *by_sensor(Case *c, const Array *x) {
  Array *wrong = new_frames(c, x);
  int64_t sensors = x->shape.size[0], all = x->shape.size[1], moments = (int64_t)given_number(c, "moments");
  for (int64_t k = 0; k < wrong->count; k++) {
    int64_t frame = k / (moments * sensors), inside = k % (moments * sensors);
    wrong->f32[k] = x->f32[inside / moments * all + frame * moments + inside % moments];
  }
  return wrong;
}

static void suspect_all(Case *c, const Array *x) {
  bool error = *got_error(c), gaps = x->flags & ARRAY_STRIDED, copied = counts(c)->launches > 0;
  const Array *frames = got(c, "frames"), *want = right(c, x);
  suspect_that(c, error && copied && gaps, &TOO_EARLY);
  suspect_that(c, error && copied && !gaps && !frames, &THROWN_AWAY);
  suspect_error(c, "does not require grad", &CUT_OFF);
  suspect_error(c, "view size is not compatible", &REFUSED);
  suspect_that(c, !error && !frames, &NOTHING);
  suspect_array(c, "frames", not_transposed(c, x), &NOT_TRANSPOSED);
  if (want->shape.size[0] > 1)
    suspect_array(c, "frames", by_sensor(c, x), &BY_SENSOR);
  const bool swapped = frames && frames->shape.rank == 2 && frames->shape.size[0] == want->shape.size[1] &&
                       frames->shape.size[1] == want->shape.size[0] && want->shape.size[0] != want->shape.size[1];
  suspect_that(c, swapped, &SWAPPED);
  suspect_that(c, !swapped && frames && frames->shape.rank == 2 && frames->shape.size[1] == 4,
               &EXAMPLE); // not right: 6 or more
  suspect_array(c, "frames", new_frames(c, x), &CONSTANT);
}

// Row k of the readings' gradient is gathered from where the frames took it.
static Array *gradient_of(Case *c, const Array *x) { // the same for the turned ones
  const Array *gradient = given(c, "gradient");
  Array *want = new_array(c, FY_FLOAT32, x->shape);
  int64_t sensors = x->shape.size[0], all = x->shape.size[1];
  for (int64_t k = 0; k < want->count; k++)
    want->f32[k % sensors * all + k / sensors] = gradient->f32[k];
  return want;
}

// The readings as a layout of the driver's has them: one sensor's for all, one moment's for all, or one sensor alone.
static Array *readings_of(Case *c, int layout) {
  const Array *x = given(c, "readings");
  int64_t sensors = x->shape.size[0], all = x->shape.size[1];
  Array *own = new_array(c, FY_FLOAT32, shape(layout >= 6 ? 1 : sensors, all));
  for (int64_t i = 0; i < own->count; i++)
    own->f32[i] = x->f32[(layout == 3 ? 0 : i / all) * all + (layout == 4 ? 0 : i % all)];
  return own;
}

static void judge_layouts(Case *c) {
  for (int layout = 0; layout < LAYOUTS; layout++) {
    suspect_that(c, got(c, layouts[layout]) != NULL, &STRIDES);
    if (!expect_array(c, layouts[layout], right(c, readings_of(c, layout)), 0))
      return;
  }
  expect_that(c, got_number(c, "a sensor shares") == 1, &ALWAYS,
              "readings of one sensor without gaps, which lie moment by moment: the result is no view of them");
  expect_number(c, "most crossings", 0, 0);
  expect_that(c, got_number(c, "most kernels") <= 1, &TWICE, "another layout took more than one kernel");
  expect_that(c, got_number(c, "most allocations") <= 1, &TWICE, "another layout took more than one allocation");
}

static void judge_counts(Case *c, const Array *x) {
  const Counts *n = counts(c);
  expect_exactly(c, "copies from device to host", n->device_to_host, 0, &THROUGH_CPU);
  expect_exactly(c, "copies from host to device", n->host_to_device, 0, &THROUGH_CPU);
  int64_t kernels = n->launches + n->device_to_device; // a copy within a device may be either
  const Mistake *more = kernels > 2 ? &PIECES : &TWICE;
  expect_at_most(c, "kernels and copies on the device", kernels, 1, more);
  int64_t allocations = x->device < 0 ? n->cpu_allocations : n->cuda_allocations;
  expect_at_most(c, "allocations of memory on the device", allocations, 1, more);
  expect_that(c, got_number(c, "second shares") == 1, &ALWAYS,
              "readings that lie moment by moment: the result is no view of them");
  expect_number(c, "second launches", 0, 0);
  expect_number(c, "second allocations", 0, 0);
}

static void judge(Case *c) {
  const Array *x = given(c, "readings"), *turned = given(c, "turned");
  const char *device = x->device < 0 ? "cpu" : x->device == 0 ? "cuda:0" : "cuda:1";
  suspect_all(c, x);
  if (!expect_array(c, "frames", right(c, x), 0) || !expect_device(c, "frames", device, &THROUGH_CPU) ||
      !expect_array(c, "second frames", right(c, turned), 0))
    return;
  if (x->flags & ARRAY_REQUIRES_GRAD)
    if (expect_that(c, got(c, "readings.grad") != NULL, &CUT_OFF, "readings.grad: there is none") &&
        expect_array(c, "readings.grad", gradient_of(c, x), 0) &&
        expect_that(c, got(c, "turned.grad") != NULL, &CUT_OFF,
                    "readings that lie moment by moment: there is no gradient"))
      expect_array(c, "turned.grad", gradient_of(c, turned), 0);
  judge_counts(c, x);
  if (strncmp(case_test(c), "other layouts", 13) == 0)
    judge_layouts(c);
}

EXERCISE = {
    .id = "07_4_sensor_frames",
    .title = "Find the bug: sensor frames",
    .after_pass = "A view needs its elements in an order that strides can express; reshape copies where they are not.",
    .kind = "find the bug",
    .chapter = 7,
    .level = LEVEL_MEDIUM,
    .minutes = 20,
    .bug = true,
    .lesson = "docs/07_pitfalls.md#view-against-reshape",
    .hints =
        {"Print fy_stride_at(time, 0) and fy_stride_at(time, 1). How far apart in memory are two neighbours of a row?",
         "view never copies, so it refuses where no strides describe the new shape. Something has to copy, but only "
         "when it must.",
         "fy_reshape is a view where that is possible and a copy where it is not; fy_contiguous followed by fy_view "
         "comes to the same."},
    .functions = {"frames"},
    .tests = {{.name = "on a GPU", .ask = ask_gpu, .judge = judge},
              {.name = "on the CPU", .ask = ask_cpu, .judge = judge},
              {.name = "a view with gaps", .ask = ask_gaps, .judge = judge},
              {.name = "other layouts", .ask = ask_layouts, .judge = judge},
              {.name = "other layouts, on the CPU", .ask = ask_layouts_here, .judge = judge},
              {.name = "large and odd", .ask = ask_large, .judge = judge},
              {.name = "one frame", .ask = ask_one_frame, .judge = judge},
              {.name = "with a gradient", .ask = ask_gradient, .judge = judge},
              {.name = "on the second GPU", .ask = ask_second, .judge = judge, .devices = 2}},
};
