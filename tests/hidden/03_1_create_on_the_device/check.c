// SPDX-License-Identifier: MIT
// Exercise 3.1: a tensor that is created on its device.
#include "exercise.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

static const Mistake CARRIED = {"created on the CPU and moved",
                                "Create the tensor directly on the device: every factory function takes `.device =`.",
                                "docs/03_tensor_moves.md#creating-tensors-on-the-device"};
static const Mistake NUMBER_BY_NUMBER = {
    "one transfer per element",
    "Your function copies each element separately, and every copy has a fixed cost. Create the tensor on the device.",
    "docs/07_pitfalls.md#one-large-transfer-instead-of-many-small-ones"};
static const Mistake LEFT_ON_CPU = {"tensor left on the CPU",
                                    "Pass the device to every factory function: `.device = device`.",
                                    "docs/03_tensor_moves.md#creating-tensors-on-the-device"};
static const Mistake BROUGHT_BACK = {
    "result copied back to the CPU",
    "The grid was created on the device and then copied to the host. Return the tensor that is on the device.",
    "docs/07_pitfalls.md#keep-data-on-the-device"};
static const Mistake FIRST_GPU = {"hard-coded device",
                                  "\"cuda\" means the current device, usually cuda:0. Use the argument `device`.",
                                  "docs/06_several_gpus.md#choose-a-gpu"};
static const Mistake COUNTED_ON = {"row offset added",
                                   "All rows are equal, and each one starts at offset. Create one row and expand it.",
                                   "docs/03_tensor_moves.md#creating-tensors-on-the-device"};
static const Mistake SWAPPED = {"rows and columns swapped",
                                "The values increase along the second dimension: element (i, j) is offset + j.",
                                "docs/03_tensor_moves.md#creating-tensors-on-the-device"};
static const Mistake NO_OFFSET = {
    "result of an out-of-place operation ignored",
    "The offset is missing. fy_add_scalar returns a new tensor and does not change its argument. Use its result.",
    "docs/03_tensor_moves.md#questions"};
static const Mistake EXPANDED = {
    "expanded view returned",
    "fy_expand repeats one row with a stride of 0. Call fy_contiguous to give every element its own memory.",
    "docs/07_pitfalls.md#view-and-reshape"};

static const Mistake NOT_CONTIGUOUS = {
    "non-contiguous result", "The values are correct, but the rows are not consecutive in memory. Call fy_contiguous.",
    "docs/07_pitfalls.md#view-and-reshape"};
static const Mistake CUT = {"offset converted to an integer",
                            "The offset is a double and may have a fraction. Do not store it in an int.",
                            "docs/03_tensor_moves.md#creating-tensors-on-the-device"};
static const Mistake BY_ANOTHER_GPU = {
    "copy from another GPU", "The grid was created on one GPU and then copied to another GPU. Create it on `device`.",
    "docs/03_tensor_moves.md#creating-tensors-on-the-device"};
static const Mistake ANOTHER_TYPE = {"wrong dtype", "Pass `.dtype = FY_FLOAT32` to the factory function.",
                                     "docs/03_tensor_moves.md#creating-tensors-on-the-device"};
static const Mistake ROUNDED_END = {
    "floating-point range end",
    "offset + columns is rounded, so the range may have one element too many. Count from 0, then add the offset.",
    "docs/03_tensor_moves.md#creating-tensors-on-the-device"};
static const Mistake MINUS_ONE = {"size of -1 in an empty view",
                                  "A size of -1 is computed from the number of elements, and for 0 elements any size "
                                  "would fit. Pass both sizes explicitly.",
                                  "docs/07_pitfalls.md#view-and-reshape"};

static const Mistake KEPT = {"cached result",
                             "The result shares memory with an earlier result. Create a new tensor in every call, "
                             "because the caller may write to it.",
                             "docs/03_tensor_moves.md#creating-tensors-on-the-device"};

enum { CALLS = 7 }; // the last two are the first again: see the driver

static void ask_with(Case *c, const char *device, int64_t rows, int64_t columns, double offset) {
  give_text(c, "device", device);
  give_number(c, "rows", (double)rows);
  give_number(c, "columns", (double)columns);
  give_number(c, "offset", offset);
}
static void ask_on(Case *c, const char *device, int64_t rows, int64_t columns) {
  ask_with(c, device, rows, columns, (double)draw_odd(c, 9, 199) / 4); // never a whole number
}

static void ask_whole(Case *c) {
  ask_with(c, "cuda:0", draw_odd(c, 3, 9), draw_int(c, 10, 20), (double)draw_int(c, -99, 99));
}

// A double cannot hold offset + columns: the rounded sum is more than `columns` above the offset.
static void ask_rounded(Case *c) {
  int64_t columns = draw_int(c, 10, 20), tenths;
  double offset;
  do {
    tenths = draw_int(c, 10 * columns, 25 * columns);
    offset = (double)tenths / 10;
  } while (!((offset + (double)columns) - offset > (double)columns));
  ask_with(c, "cuda:0", draw_odd(c, 3, 9), columns, offset);
}

static void ask_gpu(Case *c) {
  ask_on(c, "cuda:0", draw_odd(c, 3, 9), draw_int(c, 10, 20));
}
static void ask_cpu(Case *c) {
  ask_on(c, "cpu", draw_odd(c, 3, 9), draw_int(c, 10, 20));
}
static void ask_second(Case *c) {
  ask_on(c, "cuda:1", draw_odd(c, 3, 9), draw_int(c, 10, 20));
}
static void ask_large(Case *c) {
  ask_on(c, "cuda:0", draw_odd(c, 301, 399), draw_odd(c, 401, 499));
}
static void ask_one_row(Case *c) {
  ask_with(c, "cuda:0", 1, draw_int(c, 10, 20), 0);
}
// An answer that skips adding 0 may return the expanded row.
static void ask_no_offset(Case *c) {
  ask_with(c, "cuda:0", draw_odd(c, 3, 9), draw_int(c, 10, 20), 0);
}
static void ask_no_rows(Case *c) {
  ask_on(c, "cuda:0", 0, draw_int(c, 1, 9));
}

static void ask_no_columns(Case *c) {
  ask_on(c, "cuda:0", draw_int(c, 1, 9), 0);
}

static double offset_of(const Case *c) {
  return given_number(c, "offset");
}

static Array *grid_of(Case *c, int64_t rows, int64_t columns, double offset, bool swapped) {
  Array *grid = new_array(c, FY_FLOAT32, shape(rows, columns));
  for (int64_t i = 0; i < rows; i++)
    for (int64_t j = 0; j < columns; j++)
      grid->f32[i * columns + j] = (float)(offset + (double)(swapped ? i : j));
  return grid;
}
static Array *grid_with(Case *c, double offset, bool swapped) {
  return grid_of(c, (int64_t)given_number(c, "rows"), (int64_t)given_number(c, "columns"), offset, swapped);
}

static Array *counted_on(Case *c) {
  Array *grid = grid_with(c, offset_of(c), false);
  for (int64_t i = 0; i < grid->count; i++)
    grid->f32[i] = (float)(offset_of(c) + (double)i);
  return grid;
}

// The earlier calls: each has another offset, rows, columns or device.
static void judge_earlier(Case *c) {
  int64_t rows = (int64_t)given_number(c, "rows"), columns = (int64_t)given_number(c, "columns");
  for (int i = 0; i < CALLS - 2; i++) {
    char name[32];
    snprintf(name, sizeof name, "call %d", i + 1);
    Array *want = grid_of(c, rows + (i >= 2), columns + (i >= 3), offset_of(c) + (i >= 1 ? 3 : 0), false);
    if (!expect_array(c, name, want, 1e-6) ||
        !expect_device(c, name, i < 4 ? given_text(c, "device") : got_text(c, "another device"), NULL))
      return;
  }
}

static void judge(Case *c) {
  const char *device = got_device(c, "grid");
  const Array *grid = got(c, "grid");
  suspect_that(c, got_number(c, "one memory for two") == 1, &KEPT);
  if (given_number(c, "rows") > 1)
    suspect_array(c, "grid", grid_with(c, offset_of(c), true), &SWAPPED);
  suspect_array(c, "grid", counted_on(c), &COUNTED_ON);
  suspect_array(c, "grid", grid_with(c, 0, false), &NO_OFFSET);
  suspect_array(c, "grid", grid_with(c, floor(offset_of(c)), false), &CUT);
  suspect_that(c, grid && grid->dtype != FY_FLOAT32, &ANOTHER_TYPE);
  double sum = offset_of(c) + given_number(c, "columns");
  suspect_that(c, sum - offset_of(c) > given_number(c, "columns") && strstr(got_error(c), "expanded size"),
               &ROUNDED_END);
  suspect_that(c, given_number(c, "columns") == 0 && strstr(got_error(c), "-1"), &MINUS_ONE);
  const Array *want = grid_with(c, offset_of(c), false);
  if (!expect_array(c, "grid", want, 1e-6))
    return;
  expect_device(c, "grid", given_text(c, "device"),
                strcmp(device, "cpu") != 0      ? &FIRST_GPU
                : counts(c)->device_to_host > 0 ? &BROUGHT_BACK
                                                : &LEFT_ON_CPU);
  expect_exactly(c, "copies from host to device", counts(c)->host_to_device, 0,
                 counts(c)->host_to_device > 4 * CALLS ? &NUMBER_BY_NUMBER : &CARRIED);
  expect_exactly(c, "copies from device to host", counts(c)->device_to_host, 0, NULL);
  expect_exactly(c, "copies between devices", counts(c)->device_to_device, 0, &BY_ANOTHER_GPU);
  expect_that(c, want->count == 0 || (grid->flags & ARRAY_CONTIGUOUS),
              got_number(c, "one row repeated") == 1 ? &EXPANDED : &NOT_CONTIGUOUS,
              "grid: expected a contiguous tensor");
  judge_earlier(c);
}

EXERCISE = {
    .id = "03_1_create_on_the_device",
    .title = "Create a tensor on its device",
    .after_pass = "Factory functions take a device. A tensor that is created on its device needs no copy.",
    .kind = "write",
    .chapter = 3,
    .level = LEVEL_EASY,
    .minutes = 10,
    .essential = true,
    .lesson = "docs/03_tensor_moves.md#creating-tensors-on-the-device",
    .hints = {"Which functions create a tensor? All of them take .device and .dtype.",
              "fy_arange((double)columns, .dtype = FY_FLOAT32, .device = device) creates one row. fy_expand repeats "
              "this row without copying it.",
              "Add the offset with fy_add_scalar, which returns a new tensor. Pass this tensor to fy_contiguous, and "
              "return the result."},
    .functions = {"offset_grid"},
    .tests = {{"on a GPU", ask_gpu, judge},
              {"on the CPU", ask_cpu, judge},
              {"on the second GPU", ask_second, judge, .devices = 2},
              {"large", ask_large, judge},
              {"one row", ask_one_row, judge},
              {"no rows", ask_no_rows, judge},
              {"no columns", ask_no_columns, judge},
              {"integer offset", ask_whole, judge},
              {"offset in tenths", ask_rounded, judge},
              {"offset 0", ask_no_offset, judge}},
};
