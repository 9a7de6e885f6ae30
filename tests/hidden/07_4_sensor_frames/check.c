// SPDX-License-Identifier: MIT
// Exercise 7.4: view on a transposed tensor. Every test calls the answer twice: with readings that must be copied, and
// with readings whose transpose is contiguous, so that a view is enough.
#include "exercise.h"
#include "layouts.h"
#include <string.h>

#define VIEWS "docs/07_pitfalls.md#view-and-reshape"

static const Mistake REFUSED = {
    "view on a non-contiguous tensor",
    "fy_transpose swaps the strides and moves no data, so no strides describe the new shape. Use fy_reshape, or call "
    "fy_contiguous for the transposed tensor before fy_view.",
    VIEWS};
static const Mistake NOT_TRANSPOSED = {
    "missing transpose", "fy_view and fy_reshape keep the order of the elements. Transpose the readings first.", VIEWS};
static const Mistake BY_SENSOR = {
    "wrong dimension order", "Within a frame, the readings must be ordered by time. The sensor index changes fastest.",
    VIEWS};
static const Mistake SWAPPED = {"rows and columns swapped", "Each row of the result must be one frame.", VIEWS};
static const Mistake ALWAYS = {"unnecessary copy",
                               "Readings that are already ordered by time in memory need no copy. fy_reshape and "
                               "fy_contiguous copy only if necessary.",
                               "docs/07_pitfalls.md#questions"};
static const Mistake TWICE = {"tensor copied twice",
                              "One copy is enough to reorder all elements. Remove the first copy.",
                              "docs/07_pitfalls.md#questions"};
static const Mistake PARTS = {"many small copies",
                              "You copy each row separately. A single kernel can copy the whole tensor.",
                              "docs/07_pitfalls.md#one-large-transfer-instead-of-many-small-ones"};
static const Mistake THROUGH_CPU = {"round trip to the host",
                                    "The device can reorder the readings itself. Leave them on the device.",
                                    "docs/07_pitfalls.md#keep-data-on-the-device"};
static const Mistake CUT_OFF = {"detached from the graph",
                                "Gradients must flow from the frames to the readings. Do not detach the readings.",
                                "docs/07_pitfalls.md#in-place-operations-and-autograd"};
static const Mistake EXAMPLE = {
    "hard-coded sizes", "The numbers of sensors and moments differ between calls. Get them from readings and moments.",
    VIEWS};
static const Mistake NOTHING = {"missing return value", "Return the frames.", VIEWS};
static const Mistake STRIDES = {"strides ignored",
                                "With a different memory layout of the same readings, the frames are wrong. Use tensor "
                                "operations, or compute each address from the strides.",
                                VIEWS};

static void ask_sizes(Case *c, int64_t sensors, int64_t frames, int64_t moments, Give how) {
  Shape s = shape(sensors, frames * moments);
  give_number(c, "moments", (double)moments);
  give_array(c, "readings", draw_array(c, FY_FLOAT32, s, -50, 50), how);
  give_array(c, "second readings", draw_array(c, FY_FLOAT32, s, -50, 50),
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
  const bool error = *got_error(c);
  const Array *frames = got(c, "frames"), *want = right(c, x);
  suspect_error(c, "does not require grad", &CUT_OFF);
  suspect_error(c, "view size is not compatible", &REFUSED);
  suspect_sure(c, !error && !frames, &NOTHING);
  suspect_array(c, "frames", not_transposed(c, x), &NOT_TRANSPOSED);
  if (want->shape.size[0] > 1)
    suspect_array(c, "frames", by_sensor(c, x), &BY_SENSOR);
  const bool swapped = frames && frames->shape.rank == 2 && frames->shape.size[0] == want->shape.size[1] &&
                       frames->shape.size[1] == want->shape.size[0] && want->shape.size[0] != want->shape.size[1];
  suspect_that(c, swapped, &SWAPPED);
  suspect_that(c, !swapped && frames && frames->shape.rank == 2 && frames->shape.size[1] == 4,
               &EXAMPLE); // right are 6 or more
}

// The gradient of each reading is that of its element in the frames.
static Array *gradient_of(Case *c, const Array *x) {
  const Array *gradient = given(c, "gradient");
  Array *want = new_array(c, FY_FLOAT32, x->shape);
  int64_t sensors = x->shape.size[0], all = x->shape.size[1];
  for (int64_t k = 0; k < want->count; k++)
    want->f32[k % sensors * all + k / sensors] = gradient->f32[k];
  return want;
}

// The readings in one of the driver's layouts: one sensor or one moment expanded, or only one sensor.
static Array *readings_of(Case *c, int layout) {
  const Array *x = given(c, "readings");
  int64_t sensors = x->shape.size[0], all = x->shape.size[1];
  Array *own = new_array(c, FY_FLOAT32, shape(layout >= 6 ? 1 : sensors, all));
  for (int64_t i = 0; i < own->count; i++)
    own->f32[i] = x->f32[(layout == 3 ? 0 : i / all) * all + (layout == 4 ? 0 : i % all)];
  return own;
}

static void judge_layouts(Case *c) {
  for (int layout = 0; layout < LAYOUTS; layout++)
    if (!expect_array(c, layouts[layout], right(c, readings_of(c, layout)), 0)) {
      suspect_that(c, got(c, layouts[layout]) != NULL, &STRIDES);
      return;
    }
  expect_exactly(c, "copies between host and device", got_count(c, "most crossings"), 0, &THROUGH_CPU);
  expect_that(c, got_number(c, "a sensor shares") == 1, &ALWAYS,
              "readings of one sensor, which are ordered by time: the result is not a view of them");
  expect_that(c, got_number(c, "most kernels") <= 1, &TWICE, "a different memory layout took more than one kernel");
  expect_that(c, got_number(c, "most allocations") <= 1, &TWICE,
              "a different memory layout took more than one allocation");
}

static void judge_counts(Case *c, const Array *x) {
  const Counts *n = counts(c);
  expect_exactly(c, "copies from device to host", n->device_to_host, 0, &THROUGH_CPU);
  expect_exactly(c, "copies from host to device", n->host_to_device, 0, &THROUGH_CPU);
  int64_t kernels = n->launches + n->device_to_device; // a copy within a device may be either
  const Mistake *more = kernels > 2 ? &PARTS : &TWICE;
  expect_at_most(c, "kernels and copies on the device", kernels, 1, more);
  int64_t allocations = x->device < 0 ? n->cpu_allocations : n->cuda_allocations;
  expect_at_most(c, "memory allocations on the device", allocations, 1, more);
  expect_that(c, got_number(c, "second shares") == 1, &ALWAYS,
              "readings ordered by time: the result is not a view of them");
  expect_exactly(c, "kernels for readings ordered by time", got_count(c, "second launches"), 0, &ALWAYS);
  expect_exactly(c, "allocations for readings ordered by time", got_count(c, "second allocations"), 0, &ALWAYS);
}

static void judge(Case *c) {
  const Array *x = given(c, "readings"), *turned = given(c, "second readings");
  const char *device = x->device < 0 ? "cpu" : x->device == 0 ? "cuda:0" : "cuda:1";
  suspect_all(c, x);
  if (!expect_array(c, "frames", right(c, x), 0) || !expect_device(c, "frames", device, &THROUGH_CPU) ||
      !expect_array(c, "second frames", right(c, turned), 0))
    return;
  if (x->flags & ARRAY_REQUIRES_GRAD)
    if (expect_that(c, got(c, "readings.grad") != NULL, &CUT_OFF, "readings.grad: expected a gradient, got NULL") &&
        expect_array(c, "readings.grad", gradient_of(c, x), 0) &&
        expect_that(c, got(c, "second readings.grad") != NULL, &CUT_OFF,
                    "readings ordered by time: expected a gradient, got NULL"))
      expect_array(c, "second readings.grad", gradient_of(c, turned), 0);
  judge_counts(c, x);
  if (strncmp(case_test(c), "other layouts", 13) == 0)
    judge_layouts(c);
}

EXERCISE = {
    .id = "07_4_sensor_frames",
    .title = "Find the bug: sensor frames",
    .after_pass = "fy_view needs strides that describe the new shape. If there are none, fy_reshape copies the tensor.",
    .kind = "find the bug",
    .chapter = 7,
    .level = LEVEL_MEDIUM,
    .minutes = 15,
    .bug = true,
    .lesson = VIEWS,
    .stars = {{"at most one copy of the readings", {&TWICE, &PARTS}},
              {"no copy if the readings are ordered by time in memory", {&ALWAYS}}},
    .hints = {"Print fy_stride_at(time, 0) and fy_stride_at(time, 1). How far apart in memory are neighboring elements "
              "of a row?",
              "fy_view never copies, and raises an error if no strides describe the new shape. Some memory layouts of "
              "the readings need a copy, but not all.",
              "fy_reshape returns a view if possible, and otherwise a copy. fy_view(fy_contiguous(time), ...) does the "
              "same."},
    .functions = {"frames"},
    .tests = {{.name = "on a GPU", .ask = ask_gpu, .judge = judge},
              {.name = "on the CPU", .ask = ask_cpu, .judge = judge},
              {.name = "one frame", .ask = ask_one_frame, .judge = judge},
              {.name = "large", .ask = ask_large, .judge = judge},
              {.name = "a strided view", .ask = ask_gaps, .judge = judge},
              {.name = "with a gradient", .ask = ask_gradient, .judge = judge},
              {.name = "other layouts", .ask = ask_layouts, .judge = judge},
              {.name = "other layouts, on the CPU", .ask = ask_layouts_here, .judge = judge},
              {.name = "on cuda:1", .ask = ask_second, .judge = judge, .devices = 2}},
};
