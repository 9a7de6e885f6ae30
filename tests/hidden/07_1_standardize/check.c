// SPDX-License-Identifier: MIT
// Exercise 7.1: tensors on two devices.
#include "exercise.h"
#include <math.h>
#include <string.h>

static const Mistake LEFT_BEHIND = {
    "a tensor left on the CPU",
    "All tensors of an operation have to be on one device, and each of them needs its own "
    "move. One of them is still on the CPU.",
    "docs/03_tensor_moves.md#one-operation-one-device"};
static const Mistake THROWN_AWAY = {
    "moved, and the moved tensor thrown away",
    "A tensor's .to leaves the tensor where it is and returns another, which is the one to "
    "go on with.",
    "docs/03_tensor_moves.md#questions"};
static const Mistake ON_CPU = {"computed on the CPU",
                               "The devices agree, but it is the wrong one: the small tensors go to x, not x to them.",
                               "docs/07_pitfalls.md#mismatched-devices"};
static const Mistake AND_BACK = {
    "x carried to the CPU and back",
    "x is the large one and is where it should be. Whatever comes back to the host is waited "
    "for, and then has to cross again.",
    "docs/07_pitfalls.md#to-and-fro-against-staying"};
static const Mistake ALWAYS_CUDA = {"always the current GPU",
                                    ".cuda() and \"cuda\" mean the current CUDA device. Where x is, x itself can tell.",
                                    "docs/03_tensor_moves.md#cuda-and-cpu"};
static const Mistake MADE_AND_MOVED = {
    "made on the CPU and moved",
    "A tensor that the function makes itself can be made on the device: every factory "
    "takes `.device =`.",
    "docs/03_tensor_moves.md#made-there-in-the-first-place"};
static const Mistake BROUGHT_BACK = {"the result brought back",
                                     "The table was computed on x's device and then fetched. It is wanted there.",
                                     "docs/07_pitfalls.md#to-and-fro-against-staying"};
static const Mistake TWICE = {
    "moved twice",
    "More crossed than mean and std, once each, and nothing was made on the CPU: one of them was "
    "moved again. What fy_to returned can be used as often as needed.",
    "docs/07_pitfalls.md#to-and-fro-against-staying"};
static const Mistake KEPT = {"kept from the call before",
                             "Mean and std that an earlier call was given were used again. Each call gets its own.",
                             "docs/07_pitfalls.md#mismatched-devices"};
static const Mistake PIECE_BY_PIECE = {
    "one transfer per element", "Each number crossed on its own. A transfer has a fixed price; move the tensor whole.",
    "docs/07_pitfalls.md#many-small-transfers-against-one"};
static const Mistake NO_PLACE = {"the column's number left out",
                                 "The addition was removed together with its error. The result still needs it.",
                                 "docs/07_pitfalls.md#mismatched-devices"};
static const Mistake CONSTANT = {"a constant in place of the result",
                                 "What is returned is the same for every input: nothing was computed.",
                                 "docs/07_pitfalls.md#mismatched-devices"};
static const Mistake NOTHING = {"nothing returned", "The function has to return the table that it computed.",
                                "docs/07_pitfalls.md#mismatched-devices"};

static const Mistake SMALL_ADDED = {"a small number added",
                                    "Something like 1e-6 was added, to std or to the result, and numbers may be "
                                    "smaller than that. std is above 0: nothing has to be added.",
                                    "docs/07_pitfalls.md#mismatched-devices"};
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
// One column, whose number is 0, of tiny numbers: over a usual std, and over a tiny one.
static void ask_tiny(Case *c, double std) {
  const float scale = 0x1p-40f;
  int64_t rows = draw_odd(c, 11, 19);
  Array *x = draw_array(c, FY_FLOAT32, shape(rows, 1), -8, 8), *mean = draw_array(c, FY_FLOAT32, shape(1), -2, 2);
  Array *by = draw_array(c, FY_FLOAT32, shape(1), 2, 5);
  for (int64_t i = 0; i < rows; i++)
    x->f32[i] *= scale;
  mean->f32[0] *= scale;
  by->f32[0] *= (float)std;
  give_array(c, "x", x, (Give){.device = "cuda:0"});
  give_array(c, "mean", mean, (Give){0});
  give_array(c, "std", by, (Give){0});
}
static void ask_tiny_result(Case *c) {
  ask_tiny(c, 1);
}
static void ask_tiny_std(Case *c) {
  ask_tiny(c, 0x1p-40);
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

static Array *standardized_by(Case *c, const Array *x, const Array *mean, const Array *std, double place) {
  Array *want = new_array(c, FY_FLOAT32, x->shape);
  int64_t columns = x->shape.size[1];
  for (int64_t i = 0; i < x->count; i++) {
    int64_t j = i % columns;
    want->f32[i] = (float)((x->f32[i] - mean->f32[j]) / std->f32[j] + place * (double)j);
  }
  return want;
}

static Array *standardized(Case *c, const Array *x, double place) {
  return standardized_by(c, x, given(c, "mean"), given(c, "std"), place);
}

static void suspect_all(Case *c, const Array *x) {
  const Counts *n = counts(c);
  bool error = *got_error(c), apart = strstr(got_error(c), "same device") != NULL;
  int64_t columns = x->shape.size[1];
  bool second = apart && got(c, "result"); // the second call failed, on the CPU
  suspect_that(c, second && got_number(c, "copies to a device in the second call") == 0, &KEPT);
  suspect_that(c, second && given(c, "second x")->device < 0, &ALWAYS_CUDA);
  suspect_that(c, apart && x->device > 0 && (n->host_to_device >= 2 || strstr(got_error(c), "cuda:0")), &ALWAYS_CUDA);
  suspect_that(c, apart && n->host_to_device >= 2, &THROWN_AWAY);
  suspect_error(c, "same device", &LEFT_BEHIND);
  suspect_array(c, "result", standardized(c, x, 0), &NO_PLACE);
  suspect_that(c, !error && !got(c, "result"), &NOTHING);
  suspect_array(c, "result", new_array(c, FY_FLOAT32, x->shape), &CONSTANT);
  suspect_that(c, columns > 1 && n->host_to_device >= 2 * columns, &PIECE_BY_PIECE);
}

static void judge(Case *c) {
  const Array *x = given(c, "x");
  const Counts *n = counts(c);
  bool on_cpu = n->host_to_device == 0; // mean and std did not go there
  suspect_all(c, x);
  if (!expect_array(c, "result", standardized(c, x, 1), 1e-5))
    return;
  if (!expect_device(c, "result", x->device == 0 ? "cuda:0" : "cuda:1",
                     got(c, "result")->device >= 0 ? &ALWAYS_CUDA
                     : on_cpu                      ? &ON_CPU
                                                   : &BROUGHT_BACK))
    return;
  expect_exactly(c, "copies from device to host", n->device_to_host, 0, &AND_BACK);
  expect_at_most(c, "copies from host to device", n->host_to_device, 2,
                 n->host_to_device >= 2 * x->shape.size[1] ? &PIECE_BY_PIECE
                 : n->cpu_allocations > 0                  ? &MADE_AND_MOVED
                                                           : &TWICE);
  expect_exactly(c, "copies between devices", n->device_to_device, 0, &ALWAYS_CUDA);
}

// By its share of what is subtracted: how far apart two tiny numbers are says nothing.
static void judge_tiny(Case *c) {
  const Array *x = given(c, "x"), *result = got_shaped(c, "result", x->shape);
  const double mean = given(c, "mean")->f32[0], std = given(c, "std")->f32[0];
  double sums[2] = {0}, least[2] = {INFINITY, INFINITY},
         most[2] = {-INFINITY, -INFINITY}; // added to the result, or to std
  int64_t wrong = -1, others = 0;
  suspect_all(c, x);
  if (!expect_that(c, result && result->dtype == FY_FLOAT32, NULL, "result: expected (%d, 1) float32", (int)x->count))
    return;
  for (int64_t i = 0; i < x->count; i++) {
    double difference = x->f32[i] - mean, want = difference / std, had = result->f32[i];
    if (!(fabs(had - want) <= 1e-5 * (fabs(x->f32[i]) + fabs(mean)) / std)) // of either, should they be near each other
      wrong = i;
    if (difference == 0)
      continue;
    double added[2] = {had - want, difference / had - std};
    for (int k = 0; k < 2; k++) {
      sums[k] += added[k];
      least[k] = fmin(least[k], added[k]);
      most[k] = fmax(most[k], added[k]);
    }
    others++;
  }
  for (int k = 0; k < 2; k++)
    suspect_that(c,
                 wrong >= 0 && others > 2 && least[k] > (k ? 1e-3 * std : 1e-9) &&
                     most[k] - least[k] < 1e-3 * sums[k] / (double)others,
                 &SMALL_ADDED);
  expect_that(c, wrong < 0, NULL, "result[%d, 0]: expected %.9g, got %.9g", (int)wrong,
              wrong < 0 ? 0 : (x->f32[wrong] - mean) / std, wrong < 0 ? 0 : (double)result->f32[wrong]);
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
    expect_device(c, "second result", x->device < 0 ? "cpu" : "cuda:0", x->device < 0 ? &ALWAYS_CUDA : NULL);
}

EXERCISE = {
    .id = "07_1_standardize",
    .title = "Find the bug: standardize a table",
    .after_pass = "Tensors made inside of a function take their device from its input.",
    .kind = "find the bug",
    .chapter = 7,
    .level = LEVEL_EASY,
    .minutes = 10,
    .essential = true,
    .bug = true,
    .lesson = "docs/07_pitfalls.md#mismatched-devices",
    .hints = {"The error names two devices, not the tensors. Print fy_device_of for each tensor of each operation.",
              "Three tensors meet x. Two were given; the third is made here. Only the given ones need a move.",
              "Take the device from x (fy_device_of), not from a name. Then fy_to for mean and std, `.device =` for "
              "the one made here."},
    .functions = {"standardize"},
    .tests = {{.name = "on a GPU", .ask = ask_gpu, .judge = judge},
              {.name = "a view with gaps", .ask = ask_gaps, .judge = judge},
              {.name = "a transposed table", .ask = ask_transposed, .judge = judge},
              {.name = "large and odd", .ask = ask_large, .judge = judge},
              {.name = "no rows", .ask = ask_no_rows, .judge = judge},
              {.name = "tiny numbers", .ask = ask_tiny_result, .judge = judge_tiny},
              {.name = "a tiny std", .ask = ask_tiny_std, .judge = judge_tiny},
              {.name = "a GPU, then the CPU", .ask = ask_both, .judge = judge_both},
              {.name = "a GPU, twice", .ask = ask_twice, .judge = judge_both},
              {.name = "on the second GPU", .ask = ask_second, .judge = judge, .devices = 2}},
};
