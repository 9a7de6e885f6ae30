// SPDX-License-Identifier: MIT
// Exercise 3.1: a tensor made on its device, not carried there.
#include "exercise.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

static const Mistake CARRIED = {
    "made on the CPU and moved",
    "The tensor was filled on the host and then copied over. Every factory takes `.device =`, so nothing has to cross.",
    "docs/03_tensor_moves.md#made-there-in-the-first-place"};
static const Mistake NUMBER_BY_NUMBER = {
    "one transfer per element",
    "Each element crossed on its own. A transfer costs microseconds however little it carries.",
    "docs/07_pitfalls.md#many-small-transfers-against-one"};
static const Mistake LEFT_ON_CPU = {"left on the CPU",
                                    "The device that was asked for has to reach every factory, as `.device = device`.",
                                    "docs/03_tensor_moves.md#made-there-in-the-first-place"};
static const Mistake BROUGHT_BACK = {"brought back to the CPU",
                                     "The grid was made on the device and then fetched. It is wanted there.",
                                     "docs/07_pitfalls.md#to-and-fro-against-staying"};
static const Mistake FIRST_GPU = {"the first GPU, not the one given",
                                  "\"cuda\" is the current device, cuda:0 mostly. Pass on the device that was given.",
                                  "docs/06_several_gpus.md#the-gpu-of-your-choice"};
static const Mistake COUNTED_ON = {"counted on from row to row",
                                   "Every row is the same: each begins at offset again, whatever stands above it.",
                                   "docs/03_tensor_moves.md#made-there-in-the-first-place"};
static const Mistake SWAPPED = {"rows and columns swapped", "The column index runs fastest, and is the second one.",
                                "docs/03_tensor_moves.md#made-there-in-the-first-place"};
static const Mistake NO_OFFSET = {"offset left out",
                                  "fy_add_scalar returns another tensor; it does not change its first.",
                                  "docs/03_tensor_moves.md#questions"};
static const Mistake EXPANDED = {"a view in place of memory",
                                 "fy_expand repeats one row by a stride of 0: there is one row in memory.",
                                 "docs/07_pitfalls.md#view-against-reshape"};

static const Mistake NOT_CONTIGUOUS = {"rows that do not lie in memory one after the other",
                                       "The values are right, but the tensor is a view, of a transposed one perhaps. "
                                       "Asked for is memory of its own, row by row: "
                                       "fy_contiguous.",
                                       "docs/07_pitfalls.md#view-against-reshape"};
static const Mistake CUT = {
    "the offset cut to a whole number",
    "The offset is a double and may lie between two whole numbers; an int in between loses that.",
    "docs/03_tensor_moves.md#made-there-in-the-first-place"};
static const Mistake BY_ANOTHER_GPU = {
    "by way of another GPU", "The grid was made on one GPU and copied to the one that was asked for. Make it there.",
    "docs/03_tensor_moves.md#made-there-in-the-first-place"};
static const Mistake ANOTHER_TYPE = {"another dtype", "float32 is asked for. Factories take `.dtype = FY_FLOAT32`.",
                                     "docs/03_tensor_moves.md#made-there-in-the-first-place"};
static const Mistake ROUNDED_END = {
    "a range that ends at a sum",
    "offset + columns is rounded, and a range up to it may come out one longer. How many "
    "columns there are is known: count from 0, and add the offset.",
    "docs/03_tensor_moves.md#made-there-in-the-first-place"};
static const Mistake MINUS_ONE = {"-1 where there are no elements",
                                  "-1 stands for what the number of elements leaves over. Of no elements any number of "
                                  "rows could be made, so fy_view "
                                  "refuses; say both sizes.",
                                  "docs/07_pitfalls.md#view-against-reshape"};

static const Mistake KEPT = {"kept from an earlier call",
                             "A grid was handed out a second time, or made of something that an earlier call had left. "
                             "Each call makes its own: the one before is the caller's, who may write into it.",
                             "docs/03_tensor_moves.md#made-there-in-the-first-place"};

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

// offset + columns is no number that a double has: as (offset + columns) - offset there are more than `columns` of them.
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
// Where nothing is to be added, nothing has made elements of an expanded row yet.
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

// The calls before, of which each has something else in place of what was asked for: offset, rows, columns, device.
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
                 counts(c)->host_to_device > CALLS ? &NUMBER_BY_NUMBER : &CARRIED);
  expect_exactly(c, "copies from device to host", counts(c)->device_to_host, 0, &CARRIED);
  expect_exactly(c, "copies between devices", counts(c)->device_to_device, 0, &BY_ANOTHER_GPU);
  expect_that(c, want->count == 0 || (grid->flags & ARRAY_CONTIGUOUS),
              got_number(c, "one row repeated") == 1 ? &EXPANDED : &NOT_CONTIGUOUS, "grid: it is not contiguous");
  judge_earlier(c);
}

EXERCISE = {
    .id = "03_1_create_on_the_device",
    .title = "Create a tensor on its device",
    .after_pass = "A tensor that is made on its device needs no copy to get there.",
    .kind = "write",
    .chapter = 3,
    .level = LEVEL_EASY,
    .minutes = 10,
    .essential = true,
    .lesson = "docs/03_tensor_moves.md#made-there-in-the-first-place",
    .hints =
        {"Which functions make a tensor? Look at the options they take: FyFactory and FyRange in tensor/tensor.h.",
         "fy_arange makes one row, with .dtype and .device. fy_expand shows one row many times.",
         "fy_add_scalar adds the offset; on an expanded tensor it writes a new one with memory for every element."},
    .functions = {"offset_grid"},
    .tests = {{"on a GPU", ask_gpu, judge},
              {"on the CPU", ask_cpu, judge},
              {"on the second GPU", ask_second, judge, .devices = 2},
              {"large and odd", ask_large, judge},
              {"one row", ask_one_row, judge},
              {"no rows", ask_no_rows, judge},
              {"no columns", ask_no_columns, judge},
              {"a whole number for offset", ask_whole, judge},
              {"an offset that is rounded", ask_rounded, judge},
              {"no offset", ask_no_offset, judge}},
};
