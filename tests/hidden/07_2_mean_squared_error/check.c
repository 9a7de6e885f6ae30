// SPDX-License-Identifier: MIT
// Exercise 7.2: losses added up where they are, and fetched once.
#include "exercise.h"
#include <math.h>
#include <string.h>

static const Mistake EACH_TURN = {"fetched in every turn",
                                  "Each batch's loss crossed to the host, and the host waited for it. Add it to a "
                                  "tensor on the device and fetch that "
                                  "once, behind the loop.",
                                  "docs/07_pitfalls.md#waiting-in-a-loop"};
static const Mistake FETCHED_TWICE = {
    "more than one fetch at the end",
    "The loop is fine, and behind it more than one value was fetched. Compute the one number "
    "there, and fetch that.",
    "docs/07_pitfalls.md#waiting-in-a-loop"};
static const Mistake WAITED = {"a wait besides the fetch",
                               "fy_item waits for what it fetches. A synchronisation of its own only costs time.",
                               "docs/07_pitfalls.md#waiting-in-a-loop"};
static const Mistake ROWS = {"row by row",
                             "The model saw fewer rows at a time than a batch has. That costs a start for each.",
                             "docs/07_pitfalls.md#sample-by-sample-against-batches"};
static const Mistake EVEN = {"rows shared among the batches",
                             "Each batch has `batch` rows, and the last what is left: some had fewer.",
                             "docs/07_pitfalls.md#sample-by-sample-against-batches"};
static const Mistake LARGER = {
    "larger batches", "The model saw more than `batch` rows at a time. As many as that are what there is memory for.",
    "docs/07_pitfalls.md#more-memory-than-there-is"};
static const Mistake NO_BATCH = {"a batch without rows",
                                 "When the rows divide evenly, there is no rest: a batch of no rows has no mean, only "
                                 "NaN, and costs a forward pass.",
                                 "docs/07_pitfalls.md#sample-by-sample-against-batches"};
static const Mistake MEAN_OF_MEANS = {
    "mean of the batches' means",
    "The last batch is shorter and counts for less. Add up sums, and divide by the number of elements at the end.",
    "docs/07_pitfalls.md#sample-by-sample-against-batches"};
static const Mistake WHOLE_BATCHES = {
    "divided by whole batches",
    "The sum is of all rows, and was divided by as many as whole batches have: the last batch may have fewer.",
    "docs/07_pitfalls.md#waiting-in-a-loop"};
static const Mistake FILLED_UP = {
    "rows counted twice",
    "The last batch was filled up with rows from before it, and these are in the sum twice. It has what is left.",
    "docs/07_pitfalls.md#waiting-in-a-loop"};
static const Mistake LAST_DROPPED = {
    "the last batch dropped", "Rows are left over when N is no multiple of the batch, and they belong to the data.",
    "docs/07_pitfalls.md#sample-by-sample-against-batches"};
static const Mistake ONLY_LAST = {
    "only the last batch", "The result is that of the last batch alone: each one's loss has to be added to the total.",
    "docs/07_pitfalls.md#waiting-in-a-loop"};
static const Mistake NOT_DIVIDED = {"the sum instead of the mean",
                                    "The result is the sum over all elements. Divide it by their number.",
                                    "docs/07_pitfalls.md#waiting-in-a-loop"};
static const Mistake BY_ROWS = {"divided by the rows",
                                "The mean is over all elements of target, N * out of them, not over its N rows.",
                                "docs/07_pitfalls.md#waiting-in-a-loop"};
static const Mistake KEPT = {"memory of all batches kept",
                             "The memory grew with every batch. Let each turn have a fy_scope of its own, and see that "
                             "the total does not hold on to "
                             "the graphs behind the losses: fy_no_grad.",
                             "docs/07_pitfalls.md#more-memory-than-there-is"};
static const Mistake AT_ONCE = {
    "all rows at once",
    "The data went through the model in one piece. It may be larger than the memory: batches "
    "are there for that.",
    "docs/07_pitfalls.md#more-memory-than-there-is"};
static const Mistake ON_CPU = {
    "evaluated on the CPU",
    "Model or data went to the host, and the device calculated nothing. Only the result has to go.",
    "docs/07_pitfalls.md#the-model-left-on-the-cpu"};
static const Mistake CONSTANT = {"a constant", "0 came back, whatever the data: the error has to be calculated.",
                                 "docs/07_pitfalls.md#waiting-in-a-loop"};

static const Mistake ELSEWHERE = {"added up on another device",
                                  "Each batch's loss was carried to another device than the one that it was computed "
                                  "on. The total belongs where the data is: fy_device_of(x).",
                                  "docs/07_pitfalls.md#to-and-fro-against-staying"};
static const Mistake BEFORE = {
    "begun with the call before",
    "In a second call the total, or the result, was that of the first, or was begun with it. What is "
    "static keeps its value from one call to the next.",
    "docs/07_pitfalls.md#waiting-in-a-loop"};

// ---- asking ----------------------------------------------------------------------------------------------------------

static void ask(Case *c, const char *device, int64_t rows, int64_t batch, bool gaps) {
  int64_t in = draw_int(c, 10, 16), out = draw_odd(c, 5, 9);
  Give how = {.device = device, .strided = gaps};
  give_array(c, "weight", draw_array(c, FY_FLOAT32, shape(out, in), -1, 1), (Give){0});
  give_array(c, "bias", draw_array(c, FY_FLOAT32, shape(out), -1, 1), (Give){0});
  give_array(c, "x", draw_array(c, FY_FLOAT32, shape(rows, in), -1, 1), how);
  Array *target = draw_array(c, FY_FLOAT32, shape(rows, out), 1, 3);
  for (int64_t i = 0; i < target->count; i++) // later rows are worse, so that no batch stands for another
    target->f32[i] += (float)(i / out) / 64;
  give_array(c, "target", target, how);
  give_number(c, "batch", (double)batch);
}

static void ask_gpu(Case *c) {
  ask(c, "cuda:0", 8 * draw_int(c, 3, 6) + draw_int(c, 1, 6), 8, false);
}
static void ask_not_recording(Case *c) {
  ask_gpu(c);
  give_number(c, "not recording", 1);
}
static void ask_evaluation(Case *c) {
  ask_gpu(c);
  give_number(c, "evaluation", 1);
}
static void ask_child(Case *c) {
  ask_gpu(c);
  give_number(c, "the child alone", 1);
}
static void ask_grandchild(Case *c) {
  ask_gpu(c);
  give_number(c, "the child's child alone", 1);
}
static void ask_child_training(Case *c) {
  ask_evaluation(c);
  give_number(c, "the child alone", 1);
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
  ask(c, "cuda:0", 11 * draw_int(c, 3, 6) + 1, 11, true); // one row is over
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
  suspect_that(c, result == 0, &CONSTANT);
}

// ---- judging ---------------------------------------------------------------------------------------------------------

// Memory comes in blocks of 512 bytes: a dozen for one batch's small tensors and outputs is plenty.
static int64_t enough_memory(const Case *c) {
  int64_t batch = (int64_t)given_number(c, "batch"), out = given(c, "weight")->shape.size[0];
  int64_t in = given(c, "weight")->shape.size[1], widest = in > out ? in : out;
  int64_t blocks = (batch * widest * (int64_t)sizeof(float) + 511) / 512;
  return 12 * 512 * blocks;
}

static void judge_costs(Case *c) {
  const Counts *n = counts(c);
  int64_t rows = given(c, "x")->shape.size[0], batch = (int64_t)given_number(c, "batch");
  int64_t batches = (rows + batch - 1) / batch;
  expect_exactly(c, "copies between devices", n->device_to_device, 0, &ELSEWHERE);
  expect_at_least(c, "launches", n->launches, 1, &ON_CPU);
  const Mistake *fetched = n->device_to_host >= batches && batches > 2 ? &EACH_TURN
                           : batches > 2                               ? &FETCHED_TWICE
                                                                       : NULL;
  expect_at_most(c, "copies from device to host", n->device_to_host, 1, fetched);
  expect_at_most(c, "copies from host to device", n->host_to_device, 0, NULL);
  expect_at_most(c, "synchronisations", n->synchronizations, 1,
                 n->synchronizations >= batches && batches > 2 ? &EACH_TURN
                 : n->device_to_host == 1                      ? &WAITED
                                                               : NULL);
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
  bool all = calls == 1 && batches > 1;
  if (!expect_at_most(c, "rows in a forward pass", rows, batch, all ? &AT_ONCE : &LARGER) ||
      !expect_exactly(c, "forward passes", calls, batches,
                      calls > batches ? rows == 1              ? &ROWS
                                        : calls == batches + 1 ? &NO_BATCH
                                                               : NULL
                                      : NULL) ||
      !expect_exactly(c, "passes of whole batches", got_count(c, "whole batches"), x->shape.size[0] / batch, &EVEN))
    return;
  double sum = squares(c, 0, x->shape.size[0]), one = squares(c, 0, 1), again = got_number(c, "then one row");
  double columns = (double)given(c, "target")->shape.size[1];
  suspect_that(c, !is_near(again, one / columns) && (is_near(again, (sum + one) / columns) || is_near(again, want)),
               &BEFORE);
  expect_number(c, "then one row", one / columns, 1e-5);
  if (x->device < 0) {
    expect_exactly(c, "copies to a device", counts(c)->host_to_device, 0, &ELSEWHERE);
    return;
  }
  if (expect_device(c, "weight", x->device == 0 ? "cuda:0" : "cuda:1", &ON_CPU))
    judge_costs(c);
}

EXERCISE = {
    .id = "07_2_mean_squared_error",
    .title = "Mean squared error of a data set",
    .after_pass = "Every number that is fetched is a wait; a total kept on the device is fetched once.",
    .kind = "write",
    .chapter = 7,
    .level = LEVEL_EASY,
    .minutes = 20,
    .essential = true,
    .lesson = "docs/07_pitfalls.md#waiting-in-a-loop",
    .hints = {"A total that lives on the device: fy_zeros(FY_SCALAR, .device = fy_device_of(x)), and fy_add_ to it.",
              "fy_slice(x, 0, i, end, 1) are rows i to end - 1; end is i + batch, or N in the last turn. With "
              ".reduction = FY_REDUCE_SUM a short batch counts for what it holds.",
              "fy_no_grad around the loop, fy_scope { } in each turn, fy_item once, behind it."},
    .streams = true,
    .functions = {"evaluate"},
    .tests = {{"on a GPU", ask_gpu, .judge = judge},
              {"on the CPU", ask_cpu, .judge = judge},
              {"on the second GPU", ask_second, .judge = judge, .devices = 2},
              {"many batches", ask_many, .judge = judge},
              {"data with gaps", ask_gaps, .judge = judge},
              {"whole batches only", ask_whole, .judge = judge},
              {"called without recording", ask_not_recording, .judge = judge},
              {"a model in evaluation mode", ask_evaluation, .judge = judge, .schedules = 1},
              {"a child in evaluation mode", ask_child, .judge = judge, .schedules = 1},
              {"a child in training mode", ask_child_training, .judge = judge, .schedules = 1},
              {"a child's child in evaluation mode", ask_grandchild, .judge = judge, .schedules = 1},
              {"less than one batch", ask_short, .judge = judge},
              {"without CUDA", ask_cpu, .judge = judge, .no_cuda = true}},
};
