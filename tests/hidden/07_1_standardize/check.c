// SPDX-License-Identifier: MIT
// Exercise 7.1: tensors on two devices.
#include "exercise.h"
#include <string.h>

#define MISMATCH "docs/07_pitfalls.md#mismatched-devices"
#define TRANSFERS "docs/07_pitfalls.md#keep-data-on-the-device"

static const Mistake OTHER_DEVICE = {
    "device mismatch", "All operands of an operation must be on the same device. Print fy_device_of for each operand.",
    "docs/03_tensor_moves.md#all-operands-on-the-same-device"};
static const Mistake IGNORED = {
    "result of fy_to ignored",
    "fy_to does not move its argument. It returns a new tensor on the device. Use this tensor.",
    "docs/03_tensor_moves.md#questions"};
static const Mistake ON_CPU = {
    "computed on the CPU",
    "All operands are on the CPU instead of x's device. Copy the small tensors to x's device, not x to the CPU.",
    MISMATCH};
static const Mistake TO_HOST = {
    "copy back to the host",
    "x is large and already on the correct device. Leave it there, and compute the result on this device.", TRANSFERS};
static const Mistake HARD_CODED = {
    "hard-coded device",
    "\"cuda\" means the current CUDA device, but x may be on a different GPU or on the CPU. Use fy_device_of(x).",
    "docs/03_tensor_moves.md#copying-with-cuda-and-cpu"};
static const Mistake MADE_AND_MOVED = {
    "tensor created on the CPU and copied",
    "Create the tensor directly on the device: every factory function takes `.device =`.",
    "docs/03_tensor_moves.md#creating-tensors-on-the-device"};
static const Mistake BROUGHT_BACK = {
    "result copied to the host",
    "You computed the result on x's device and then copied it to the host. Return it without a copy.", TRANSFERS};
static const Mistake TWICE = {"repeated copy of the same tensor",
                              "Copy mean and std only once each, and reuse the copies.", TRANSFERS};
static const Mistake KEPT = {"values cached from an earlier call",
                             "The second call used mean or std from the first call. Copy both in each call.", MISMATCH};
static const Mistake EACH_ELEMENT = {"one transfer per element",
                                     "Each copy has a fixed cost. Copy the whole tensor with one call.",
                                     "docs/07_pitfalls.md#one-large-transfer-instead-of-many-small-ones"};
static const Mistake NO_NUMBER = {"missing column number", "Add the column index to each element.", MISMATCH};
static const Mistake NOTHING = {"missing return value", "Return the standardized table.", MISMATCH};

static int64_t ask_shape(Case *c, int64_t rows, int64_t columns, Give how) {
  give_array(c, "x", draw_array(c, FY_FLOAT32, shape(rows, columns), -8, 8), how);
  give_array(c, "mean", draw_array(c, FY_FLOAT32, shape(columns), -2, 2), (Give){0});
  give_array(c, "std", draw_array(c, FY_FLOAT32, shape(columns), 2, 5), (Give){0});
  return columns;
}

static void ask_gpu(Case *c) {
  ask_shape(c, draw_odd(c, 5, 9), draw_int(c, 10, 20), (Give){.device = "cuda:0"});
}
static void ask_gaps(Case *c) {
  ask_shape(c, draw_odd(c, 11, 19), draw_odd(c, 3, 9), (Give){.device = "cuda:0", .strided = true});
}
static void ask_transposed(Case *c) {
  ask_shape(c, draw_odd(c, 11, 19), draw_odd(c, 3, 9), (Give){.device = "cuda:0", .transposed = true});
}
static void ask_large(Case *c) {
  ask_shape(c, draw_odd(c, 41, 49), draw_odd(c, 2201, 2499), (Give){.device = "cuda:0"});
}
static void ask_no_rows(Case *c) {
  ask_shape(c, 0, draw_int(c, 2, 9), (Give){.device = "cuda:0"});
}
static void ask_second(Case *c) {
  ask_shape(c, draw_odd(c, 5, 9), draw_int(c, 10, 20), (Give){.device = "cuda:1"});
}
static void ask_again(Case *c, const char *device) {
  int64_t columns = ask_shape(c, draw_odd(c, 5, 9), draw_int(c, 10, 20), (Give){.device = "cuda:0"});
  give_array(c, "second x", draw_array(c, FY_FLOAT32, shape(draw_odd(c, 5, 9), columns), -8, 8),
             (Give){.device = device});
  give_array(c, "second mean", draw_array(c, FY_FLOAT32, shape(columns), -2, 2), (Give){0});
  give_array(c, "second std", draw_array(c, FY_FLOAT32, shape(columns), 2, 5), (Give){0});
}

static void ask_both(Case *c) {
  ask_again(c, "cpu");
}
static void ask_twice(Case *c) {
  ask_again(c, "cuda:0");
}

static Array *standardized_by(Case *c, const Array *x, const Array *mean, const Array *std, double number) {
  Array *want = new_array(c, FY_FLOAT32, x->shape);
  int64_t columns = x->shape.size[1];
  for (int64_t i = 0; i < x->count; i++) {
    int64_t j = i % columns;
    want->f32[i] = (float)((x->f32[i] - mean->f32[j]) / std->f32[j] + number * (double)j);
  }
  return want;
}

static Array *standardized(Case *c, const Array *x, double number) {
  return standardized_by(c, x, given(c, "mean"), given(c, "std"), number);
}

static void suspect_all(Case *c, const Array *x) {
  const Counts *n = counts(c);
  const bool error = *got_error(c), mismatch = strstr(got_error(c), "same device") != NULL;
  const bool second = mismatch && got(c, "result"); // the second call raised it
  // Without a copy it may also be a tensor of the first call, which was on the GPU.
  suspect_that(c,
               second && given(c, "second x")->device < 0 && got_number(c, "copies to a device in the second call") > 0,
               &HARD_CODED);
  suspect_that(c, mismatch && x->device > 0 && strstr(got_error(c), "cuda:0"), &HARD_CODED);
  // With moved tensors two kernels run before the number is added.
  suspect_that(c, mismatch && !second && n->host_to_device >= 2 && n->launches < 2, &IGNORED);
  suspect_sure(c, mismatch && !second, &OTHER_DEVICE);
  suspect_array(c, "result", standardized(c, x, 0), &NO_NUMBER);
  suspect_sure(c, !error && !got(c, "result"), &NOTHING);
}

static void judge(Case *c) {
  const Array *x = given(c, "x");
  const Counts *n = counts(c);
  bool on_cpu = n->host_to_device == 0; // mean and std stayed on the CPU
  suspect_all(c, x);
  if (!expect_array(c, "result", standardized(c, x, 1), 1e-5))
    return;
  if (!expect_device(c, "result", x->device == 0 ? "cuda:0" : "cuda:1",
                     got(c, "result")->device >= 0 ? &HARD_CODED
                     : on_cpu                      ? &ON_CPU
                                                   : &BROUGHT_BACK))
    return;
  expect_exactly(c, "copies from device to host", n->device_to_host, 0, &TO_HOST);
  expect_at_most(c, "copies from host to device", n->host_to_device, 2,
                 n->host_to_device >= 2 * x->shape.size[1] ? &EACH_ELEMENT
                 : n->cpu_allocations > 0                  ? &MADE_AND_MOVED
                                                           : &TWICE);
}

static void judge_both(Case *c) {
  judge(c);
  const Array *x = given(c, "second x");
  const Array *mean = given(c, "mean"), *std = given(c, "std");
  suspect_array(c, "second result", standardized_by(c, x, mean, std, 1), &KEPT);
  suspect_array(c, "second result", standardized_by(c, x, mean, given(c, "second std"), 1), &KEPT);
  suspect_array(c, "second result", standardized_by(c, x, given(c, "second mean"), std, 1), &KEPT);
  if (*got_error(c))
    return;
  if (expect_array(c, "second result", standardized_by(c, x, given(c, "second mean"), given(c, "second std"), 1), 1e-5))
    expect_device(c, "second result", x->device < 0 ? "cpu" : "cuda:0", x->device < 0 ? &HARD_CODED : NULL);
}

EXERCISE = {
    .id = "07_1_standardize",
    .title = "Find the bug: standardize a table",
    .after_pass = "A function should create its tensors on the device of its input: fy_device_of(x).",
    .kind = "find the bug",
    .chapter = 7,
    .level = LEVEL_EASY,
    .minutes = 10,
    .essential = true,
    .bug = true,
    .lesson = MISMATCH,
    .stars = {{"mean and std are copied once each, and nothing else is copied",
               {&MADE_AND_MOVED, &TWICE, &EACH_ELEMENT}}},
    .hints =
        {"The error names two devices, but not the tensors. Print fy_device_of for each operand of each operation.",
         "Three tensors are combined with x. The caller passes two of them, and the function creates the third.",
         "Take the device from x: fy_to(mean, fy_device_of(x)), the same for std, and `.device = fy_device_of(x)` "
         "for fy_arange."},
    .functions = {"standardize"},
    .tests = {{.name = "on a GPU", .ask = ask_gpu, .judge = judge},
              {.name = "a strided view", .ask = ask_gaps, .judge = judge},
              {.name = "a transposed view", .ask = ask_transposed, .judge = judge},
              {.name = "large", .ask = ask_large, .judge = judge},
              {.name = "no rows", .ask = ask_no_rows, .judge = judge},
              {.name = "called twice", .ask = ask_twice, .judge = judge_both},
              {.name = "a GPU, then the CPU", .ask = ask_both, .judge = judge_both},
              {.name = "on cuda:1", .ask = ask_second, .judge = judge, .devices = 2}},
};
