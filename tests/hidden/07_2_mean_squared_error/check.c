// SPDX-License-Identifier: MIT
// Exercise 7.2: losses added up where they are, and fetched once.
#include "exercise.h"
#include <math.h>
#include <string.h>

#define LOOP "docs/07_pitfalls.md#implicit-synchronization-in-a-loop"
#define BATCHES "docs/07_pitfalls.md#batches-instead-of-single-samples"
#define MEMORY "docs/07_pitfalls.md#out-of-memory-and-gradient-accumulation"

static const Mistake IN_LOOP = {
    "host synchronization in the loop",
    "The host waited for the device in every iteration. Add the losses to a tensor on the device, and call fy_item "
    "once, after the loop.",
    LOOP};
static const Mistake FETCHED_TWICE = {
    "more than one copy to the host",
    "Several values were copied to the host. Compute the final number on the device, and copy only this number.", LOOP};
static const Mistake WAITED = {"redundant synchronization",
                               "fy_item already waits for its value. Remove the extra synchronization.", LOOP};
static const Mistake ROWS = {
    "batch size too small",
    "There were more forward passes than batches. Each pass has fixed launch costs. Pass `batch` rows to each.",
    BATCHES};
static const Mistake LARGER = {
    "batch size exceeded", "A forward pass had more than `batch` rows. More may not fit into device memory.", MEMORY};
static const Mistake NO_BATCH = {
    "empty batch",
    "If batch divides N, no rows are left over. The mean of an empty batch is NaN, so skip an empty batch.", BATCHES};
static const Mistake MEAN_OF_MEANS = {"mean of means",
                                      "The last batch may be shorter, so its mean must have a smaller weight. Add up "
                                      "sums, and divide by the number of elements at the end.",
                                      BATCHES};
static const Mistake WHOLE_BATCHES = {
    "wrong divisor", "The last batch may be shorter than `batch`. Divide the sum by fy_numel(target).", LOOP};
static const Mistake FILLED_UP = {"overlapping batches",
                                  "The last batch repeats rows of the previous batch, so these rows count twice. Begin "
                                  "the last batch where the previous batch ended, and end it at row N.",
                                  LOOP};
static const Mistake LAST_DROPPED = {
    "last batch dropped", "If batch does not divide N, a shorter batch is left over. Include the rows of this batch.",
    BATCHES};
static const Mistake ONLY_LAST = {"total overwritten in the loop",
                                  "The result is the loss of the last batch only. Add each batch's loss to the total.",
                                  LOOP};
static const Mistake NOT_DIVIDED = {"sum instead of mean", "Divide the sum by fy_numel(target).", LOOP};
static const Mistake BY_ROWS = {"mean over rows only",
                                "The mean is over all N x out elements of target. Divide by fy_numel(target).", LOOP};
static const Mistake KEPT = {"memory grows with each batch",
                             "Open an fy_scope in each iteration, and use fy_no_grad so that the total keeps no graph "
                             "of the losses.",
                             MEMORY};
static const Mistake AT_ONCE = {"no batching",
                                "All rows went through the model in one forward pass. They may not fit into device "
                                "memory. Split them into batches.",
                                MEMORY};
static const Mistake ON_CPU = {"computed on the CPU",
                               "No kernel ran on x's device, or the model was moved to a different device. Compute on "
                               "x's device, and copy only the result.",
                               "docs/07_pitfalls.md#the-model-left-on-the-cpu"};
static const Mistake HARD_CODED = {"hard-coded device",
                                   "This machine has no GPU. Create the total on x's device: fy_device_of(x).",
                                   "docs/07_pitfalls.md#mismatched-devices"};
static const Mistake BEFORE = {"state kept between calls",
                               "The second call started with a value from the first call. A static variable keeps its "
                               "value between calls. Initialize it in each call.",
                               LOOP};

// ---- asking ----------------------------------------------------------------------------------------------------------

static void ask(Case *c, const char *device, int64_t rows, int64_t batch, bool gaps) {
  int64_t in = draw_int(c, 10, 16), out = draw_odd(c, 5, 9);
  Give how = {.device = device, .strided = gaps};
  give_array(c, "weight", draw_array(c, FY_FLOAT32, shape(out, in), -1, 1), (Give){0});
  give_array(c, "bias", draw_array(c, FY_FLOAT32, shape(out), -1, 1), (Give){0});
  give_array(c, "x", draw_array(c, FY_FLOAT32, shape(rows, in), -1, 1), how);
  Array *target = draw_array(c, FY_FLOAT32, shape(rows, out), 1, 3);
  for (int64_t i = 0; i < target->count; i++) // later rows have a larger error, so that all batches differ
    target->f32[i] += (float)(i / out) / 64;
  give_array(c, "target", target, how);
  give_number(c, "batch", (double)batch);
}

static void ask_gpu(Case *c) {
  ask(c, "cuda:0", 8 * draw_int(c, 3, 6) + draw_int(c, 1, 6), 8, false);
}
static void ask_not_recording(Case *c) {
  ask_gpu(c);
  give_number(c, "gradients disabled", 1);
}
static void ask_evaluation(Case *c) {
  ask_gpu(c);
  give_number(c, "evaluation mode", 1);
}
static void ask_child(Case *c) {
  ask_gpu(c);
  give_number(c, "child in the other mode", 1);
}
static void ask_cpu(Case *c) {
  ask(c, "cpu", 8 * draw_int(c, 3, 6) + draw_int(c, 1, 6), 8, false);
}
static void ask_second(Case *c) {
  ask(c, "cuda:1", 8 * draw_int(c, 3, 6) + draw_int(c, 1, 6), 8, false);
}
static void ask_many(Case *c) {
  ask(c, "cuda:0", 32 * draw_int(c, 110, 130) + draw_int(c, 1, 20), 32, false);
}
static void ask_gaps(Case *c) {
  ask(c, "cuda:0", 11 * draw_int(c, 3, 6) + 1, 11, true); // one row is left over
}
static void ask_whole(Case *c) {
  ask(c, "cuda:0", 8 * draw_int(c, 3, 6), 8, false);
}
static void ask_short(Case *c) {
  ask(c, "cuda:0", draw_odd(c, 5, 9), 16, false);
}

// ---- the error in plain loops ----------------------------------------------------------------------------------------

// The sum of squares over rows `from` to `to`.
static double squares(const Case *c, int64_t from, int64_t to) {
  const Array *x = given(c, "x"), *target = given(c, "target"), *weight = given(c, "weight"), *bias = given(c, "bias");
  int64_t in = weight->shape.size[1], out = weight->shape.size[0];
  double sum = 0;
  for (int64_t i = from * out; i < to * out; i++) {
    double error = (double)bias->f32[i % out] - target->f32[i];
    for (int64_t k = 0; k < in; k++)
      error += (double)x->f32[i / out * in + k] * weight->f32[i % out * in + k];
    sum += error * error;
  }
  return sum;
}

static bool is_near(double result, double value) {
  return fabs(result - value) <= 1e-5 * fmax(1, fabs(value));
}

static void suspects(Case *c) {
  int64_t rows = given(c, "x")->shape.size[0], batch = (int64_t)given_number(c, "batch");
  int64_t out = given(c, "target")->shape.size[1], whole = rows / batch * batch;
  int64_t last = whole == rows ? rows - batch : whole;
  double result = got_number(c, "loss"), all = squares(c, 0, rows), means = 0;
  for (int64_t i = 0; i < rows; i += batch) {
    int64_t end = i + batch < rows ? i + batch : rows;
    means += squares(c, i, end) / (double)((end - i) * out);
  }
  double sizes = (double)(rows * out), batches = (double)((rows + batch - 1) / batch);
  const double full = batches * (double)(batch * out); // elements, if the last batch were whole
  double most = whole ? squares(c, 0, whole) : 0;
  suspect_sure(c, case_devices(c) == 0 && (strstr(got_error(c), "CUDA") || strstr(got_error(c), "cuda")), &HARD_CODED);
  suspect_that(c, whole == rows && !*got_error(c) && !(result == result), &NO_BATCH);
  if (is_near(result, all / sizes))
    return;
  suspect_that(c, is_near(result, most / sizes) && whole, &LAST_DROPPED);
  suspect_that(c, is_near(result, most / (double)(whole * out)) && whole, &LAST_DROPPED);
  suspect_that(c, whole < rows && is_near(result, all / full), &WHOLE_BATCHES);
  const double twice = whole < rows && rows > batch ? all + squares(c, rows - batch, whole) : 0;
  suspect_that(c, twice > 0 && (is_near(result, twice / sizes) || is_near(result, twice / full)), &FILLED_UP);
  suspect_that(c, is_near(result, means / batches) || is_near(result, means), &MEAN_OF_MEANS);
  suspect_that(c, is_near(result, squares(c, last, rows) / (double)((rows - last) * out)), &ONLY_LAST);
  suspect_that(c, is_near(result, squares(c, last, rows) / sizes), &ONLY_LAST);
  suspect_that(c, is_near(result, all), &NOT_DIVIDED);
  suspect_that(c, is_near(result, all / (double)rows), &BY_ROWS);
}

// ---- judging ---------------------------------------------------------------------------------------------------------

// Memory is allocated in blocks of 512 bytes. One batch needs less than a dozen tensors: allow twice as many.
static int64_t enough_memory(const Case *c) {
  int64_t batch = (int64_t)given_number(c, "batch"), out = given(c, "weight")->shape.size[0];
  int64_t in = given(c, "weight")->shape.size[1], widest = in > out ? in : out;
  int64_t blocks = (batch * widest * (int64_t)sizeof(float) + 511) / 512;
  return 24 * 512 * blocks;
}

enum { FEW = 3 }; // copies to the host and waits that do not come from the loop

static void judge_costs(Case *c) {
  const Counts *n = counts(c);
  int64_t rows = given(c, "x")->shape.size[0], batch = (int64_t)given_number(c, "batch");
  int64_t batches = (rows + batch - 1) / batch;
  if (!expect_at_least(c, "launches", n->launches, 1, &ON_CPU) ||
      !expect_at_most(c, "copies from device to host", n->device_to_host, FEW,
                      n->device_to_host >= batches ? &IN_LOOP : NULL) ||
      !expect_at_most(c, "synchronizations", n->synchronizations, FEW,
                      n->synchronizations >= batches ? &IN_LOOP : NULL))
    return;
  expect_at_most(c, "copies from device to host", n->device_to_host, 1, &FETCHED_TWICE);
  expect_at_most(c, "synchronizations", n->synchronizations, 1, n->device_to_host > 1 ? &FETCHED_TWICE : &WAITED);
  expect_at_most(c, "bytes of device memory", n->cuda_peak_bytes, enough_memory(c), &KEPT);
}

static void judge(Case *c) {
  const Array *x = given(c, "x");
  double want = squares(c, 0, x->shape.size[0]) / (double)given(c, "target")->count;
  suspects(c);
  if (!expect_number(c, "loss", want, 1e-5))
    return;
  int64_t batch = (int64_t)given_number(c, "batch"), batches = (x->shape.size[0] + batch - 1) / batch;
  int64_t rows = got_count(c, "most rows"), calls = got_count(c, "calls");
  if (!expect_at_most(c, "rows in a forward pass", rows, batch, calls == 1 && batches > 1 ? &AT_ONCE : &LARGER) ||
      !expect_at_most(c, "forward passes", calls, x->shape.size[0] / batch + 1, &ROWS))
    return;
  double sum = squares(c, 0, x->shape.size[0]), one = squares(c, 0, 1), again = got_number(c, "loss of one row");
  double columns = (double)given(c, "target")->shape.size[1];
  suspect_that(c, !is_near(again, one / columns) && (is_near(again, (sum + one) / columns) || is_near(again, want)),
               &BEFORE);
  expect_number(c, "loss of one row", one / columns, 1e-5);
  if (x->device < 0)
    return;
  if (expect_device(c, "weight", x->device == 0 ? "cuda:0" : "cuda:1", &ON_CPU))
    judge_costs(c);
}

EXERCISE = {
    .id = "07_2_mean_squared_error",
    .title = "Mean squared error of a data set",
    .after_pass = "Copying a number to the host blocks the host: accumulate on the device, and copy once.",
    .kind = "write",
    .chapter = 7,
    .level = LEVEL_EASY,
    .minutes = 20,
    .essential = true,
    .lesson = LOOP,
    .stars = {{"one copy to the host and one synchronization in total", {&FETCHED_TWICE, &WAITED}},
              {"device memory for one batch only, however large N is", {&KEPT}}},
    .hints = {"Keep the total on the device: fy_zeros(FY_SCALAR, .device = fy_device_of(x)), and fy_add_ in the loop.",
              "fy_slice(x, 0, i, end, 1) returns rows i to end - 1, with end = min(i + batch, N). With .reduction = "
              "FY_REDUCE_SUM, a short batch gets the correct weight.",
              "Put fy_no_grad { } around the loop and fy_scope { } inside the loop. After the loop, return "
              "fy_item(total) / fy_numel(target)."},
    .streams = true,
    .functions = {"evaluate"},
    .tests = {{"on a GPU", ask_gpu, .judge = judge},
              {"on the CPU", ask_cpu, .judge = judge},
              {"less than one batch", ask_short, .judge = judge},
              {"whole batches", ask_whole, .judge = judge},
              {"many batches", ask_many, .judge = judge},
              {"strided views", ask_gaps, .judge = judge},
              {"gradients disabled", ask_not_recording, .judge = judge},
              {"evaluation mode", ask_evaluation, .judge = judge, .schedules = 1},
              {"a child in evaluation mode", ask_child, .judge = judge, .schedules = 1},
              {"on cuda:1", ask_second, .judge = judge, .devices = 2},
              {"no GPU", ask_cpu, .judge = judge, .no_cuda = true}},
};
