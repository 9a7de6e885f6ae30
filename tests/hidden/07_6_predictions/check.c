// SPDX-License-Identifier: MIT
// Exercise 7.6: sample by sample. The driver's model records its calls and their rows.
#include "exercise.h"
#include <math.h>
#include <string.h>

#define BATCHES "docs/07_pitfalls.md#batches-instead-of-single-samples"
#define MEMORY "docs/07_pitfalls.md#out-of-memory-and-gradient-accumulation"

static const Mistake ONE_BY_ONE = {"no batching",
                                   "Each sample has its own copies and its own forward pass. A batch needs no more "
                                   "launches and copies than a single sample.",
                                   BATCHES};
static const Mistake FORWARD_EACH = {
    "one forward pass per sample",
    "You copy whole batches, but the model still gets one sample at a time. Pass the whole batch to the model.",
    BATCHES};
static const Mistake TRANSFER_EACH = {"one transfer per sample",
                                      "You copy the samples of a batch one by one. Copy the whole batch with one call.",
                                      "docs/07_pitfalls.md#one-large-transfer-instead-of-many-small-ones"};
static const Mistake FETCH_EACH = {"one copy to the host per sample",
                                   "The host waits for each copy. Copy all scores of a batch together.",
                                   "docs/07_pitfalls.md#implicit-synchronization-in-a-loop"};
static const Mistake LAST_LEFT_OUT = {
    "last batch dropped", "If batch does not divide N, a smaller batch is left over. Include this batch.", BATCHES};
static const Mistake PAST_THE_DATA = {"slice past the end", "The last batch must end where the data ends.", BATCHES};
static const Mistake TOO_MANY = {
    "batch size exceeded",
    "A forward pass had more than `batch` samples. The device does not have enough memory for more.", MEMORY};
static const Mistake ALL_MOVED = {
    "whole data set on the device",
    "The device has memory for only `batch` samples at a time. Copy each batch just before you use it.", MEMORY};
static const Mistake KEPT = {
    "memory grows with each batch",
    "Tensors from one iteration still exist in the next. Open an fy_scope in each iteration, and keep only the scores.",
    MEMORY};
static const Mistake HARD_CODED = {"hard-coded device", "Use the argument `device`, where the model is.",
                                   "docs/06_several_gpus.md#choose-a-gpu"};
static const Mistake NOT_MOVED = {"batch not moved to the device",
                                  "Data and model are on different devices. Copy each batch to `device`.",
                                  "docs/05_model_moves.md#device-mismatch-errors"};
static const Mistake TWICE = {"repeated forward pass", "Run each batch through the model only once.", BATCHES};
static const Mistake SMALLER = {
    "batch size too small", "There were more forward passes than necessary. Pass `batch` samples to each.", BATCHES};
static const Mistake OFFSET = {"wrong output offset",
                               "Store the scores of the batch that begins at sample i in the rows that begin at i.",
                               BATCHES};
static const Mistake LEFT_THERE = {"result on the wrong device", "Return the scores on the CPU.",
                                   "docs/03_tensor_moves.md#copying-with-cuda-and-cpu"};
static const Mistake ON_CPU = {"computed on the CPU",
                               "No kernel ran on the device. Leave the model on `device`, and copy the batches there.",
                               "docs/05_model_moves.md#device-mismatch-errors"};
static const Mistake NOTHING = {"missing return value", "Return the scores.", BATCHES};

static void ask_features(Case *c, const char *device, int64_t features, int64_t count, int64_t batch, Give how) {
  int64_t hidden = draw_int(c, 8, 11), classes = draw_int(c, 2, 3);
  give_text(c, "device", device);
  give_number(c, "batch", (double)batch);
  give_array(c, "data", draw_array(c, FY_FLOAT32, shape(count, features), -1, 1), how);
  give_array(c, "w1", draw_array(c, FY_FLOAT32, shape(hidden, features), -1, 1), (Give){0});
  give_array(c, "b1", draw_array(c, FY_FLOAT32, shape(hidden), -1, 1), (Give){0});
  give_array(c, "w2", draw_array(c, FY_FLOAT32, shape(classes, hidden), -1, 1), (Give){0});
  give_array(c, "b2", draw_array(c, FY_FLOAT32, shape(classes), -1, 1), (Give){0});
}

static void ask_sizes(Case *c, const char *device, int64_t count, int64_t batch, Give how) {
  ask_features(c, device, draw_int(c, 4, 7), count, batch, how);
}

// A batch of samples needs more memory than everything computed from it.
static void ask_wide(Case *c) {
  ask_features(c, "cuda:0", draw_odd(c, 401, 499), 64 * draw_int(c, 4, 6) + draw_odd(c, 5, 59), 64, (Give){0});
}

// Several batches, and a smaller one at the end.
static void ask_usual(Case *c, const char *device, Give how) {
  int64_t batch = draw_int(c, 5, 9);
  ask_sizes(c, device, batch * draw_int(c, 3, 5) + draw_int(c, 2, batch - 1), batch, how);
}
static void ask_gpu(Case *c) {
  ask_usual(c, "cuda:0", (Give){0});
}
static void ask_cpu(Case *c) {
  ask_usual(c, "cpu", (Give){0});
}
static void ask_gaps(Case *c) {
  ask_usual(c, "cuda:0", (Give){.strided = true});
}
static void ask_transposed(Case *c) {
  ask_usual(c, "cuda:0", (Give){.transposed = true});
}
static void ask_whole(Case *c) {
  int64_t batch = draw_int(c, 5, 9);
  ask_sizes(c, "cuda:0", batch * draw_int(c, 3, 5), batch, (Give){0});
}
static void ask_few(Case *c) {
  ask_sizes(c, "cuda:0", draw_int(c, 3, 9), 64, (Give){0});
}
static void ask_one_left(Case *c) {
  int64_t batch = draw_int(c, 5, 9);
  ask_sizes(c, "cuda:0", batch * draw_int(c, 3, 5) + 1, batch, (Give){0});
}
static void ask_not_recording(Case *c) {
  ask_usual(c, "cuda:0", (Give){0});
  give_number(c, "gradients disabled", 1);
}
static void ask_large(Case *c) {
  ask_sizes(c, "cuda:0", 64 * draw_int(c, 60, 70) + draw_odd(c, 5, 59), 64, (Give){0});
}
static void ask_second(Case *c) {
  ask_usual(c, "cuda:1", (Give){0});
}

static int64_t batches_of(const Case *c) {
  int64_t batch = (int64_t)given_number(c, "batch");
  return (given(c, "data")->shape.size[0] + batch - 1) / batch;
}

static Array *right(Case *c) {
  const Array *data = given(c, "data"), *w1 = given(c, "w1"), *b1 = given(c, "b1"), *w2 = given(c, "w2");
  int64_t features = data->shape.size[1], hidden = w1->shape.size[0], classes = w2->shape.size[0];
  Array *want = new_array(c, FY_FLOAT32, shape(data->shape.size[0], classes));
  double *h = new_array(c, FY_FLOAT64, shape(hidden))->f64;
  for (int64_t i = 0; i < data->shape.size[0]; i++) {
    for (int64_t k = 0; k < hidden; k++) {
      h[k] = b1->f32[k];
      for (int64_t j = 0; j < features; j++)
        h[k] += (double)w1->f32[k * features + j] * data->f32[i * features + j];
      h[k] = h[k] > 0 ? h[k] : 0;
    }
    for (int64_t o = 0; o < classes; o++) {
      double score = given(c, "b2")->f32[o];
      for (int64_t k = 0; k < hidden; k++)
        score += h[k] * w2->f32[o * hidden + k];
      want->f32[i * classes + o] = (float)score;
    }
  }
  return want;
}

// Are the rows of all whole batches right?
static bool whole_batches_right(const Case *c, const Array *want) {
  const Array *scores = got(c, "scores");
  int64_t batch = (int64_t)given_number(c, "batch"), rows = want->shape.size[0] / batch * batch;
  if (!scores || scores->dtype != FY_FLOAT32 || scores->shape.rank != 2 || scores->shape.size[0] < rows ||
      scores->shape.size[1] != want->shape.size[1])
    return false;
  for (int64_t i = 0; i < rows * want->shape.size[1]; i++)
    if (!(fabs((double)scores->f32[i] - want->f32[i]) < 1e-4))
      return false;
  return true;
}

static bool same_row(const Array *a, int64_t i, const Array *b, int64_t k) {
  int64_t classes = b->shape.size[1], near = 0;
  for (int64_t j = 0; j < classes; j++)
    near += fabs((double)a->f32[i * classes + j] - b->f32[k * classes + j]) < 1e-5;
  return near == classes;
}

// Does one of the first rows have the scores of another row?
static bool misplaced(const Case *c, const Array *want) {
  const Array *scores = got_shaped(c, "scores", want->shape);
  int64_t rows = want->shape.size[0];
  if (!scores || scores->dtype != FY_FLOAT32)
    return false;
  for (int64_t i = 0; i < rows && i < 64; i++)
    if (!same_row(scores, i, want, i))
      for (int64_t k = 0; k < rows; k++)
        if (same_row(scores, i, want, k))
          return true;
  return false;
}

// Of one batch: its samples, the activations and its scores, several of each; and all scores. In blocks of 512 bytes.
// Samples with many features: two batches, and half a batch more.
static int64_t enough_memory(const Case *c) {
  int64_t batch = (int64_t)given_number(c, "batch"), classes = given(c, "w2")->shape.size[0];
  int64_t widest = given(c, "w1")->shape.size[0], samples = given(c, "data")->shape.size[0];
  int64_t blocks = (batch * widest * (int64_t)sizeof(float) + 511) / 512;
  int64_t all = (samples * classes * (int64_t)sizeof(float) + 511) / 512;
  int64_t features = given(c, "data")->shape.size[1];
  int64_t wide = features > 100 ? batch * features * (int64_t)sizeof(float) * 5 / 2 : 0;
  return 512 * (16 * blocks + 2 * all) + wide;
}

static void suspect_all(Case *c, const Array *want) {
  const char *error = got_error(c);
  const Array *scores = got(c, "scores");
  const bool rest_missing = got_number(c, "calls") < (double)batches_of(c) && whole_batches_right(c, want);
  const bool mismatch = strstr(error, "same device"), crossed = counts(c)->host_to_device > 0;
  suspect_that(c, strstr(error, "start (") || strstr(error, "exceeds"), &PAST_THE_DATA);
  suspect_that(c, mismatch && strcmp(given_text(c, "device"), "cuda:1") == 0 && strstr(error, "cuda:0"), &HARD_CODED);
  suspect_that(c, mismatch && !crossed, &NOT_MOVED);
  suspect_sure(c, !*error && !scores, &NOTHING);
  suspect_that(c, rest_missing, &LAST_LEFT_OUT);
  suspect_that(c, misplaced(c, want), &OFFSET);
}

enum { COPIES_PER_BATCH = 2 };

static void judge_copies(Case *c) {
  const Counts *n = counts(c);
  const int64_t batches = batches_of(c), bytes = given(c, "data")->count * (int64_t)sizeof(float);
  if (strcmp(given_text(c, "device"), "cpu") == 0 ||
      !expect_at_most(c, "copies from host to device", n->host_to_device, COPIES_PER_BATCH * batches, &TRANSFER_EACH) ||
      !expect_at_most(c, "copies from device to host", n->device_to_host, COPIES_PER_BATCH * batches, &FETCH_EACH))
    return;
  const bool at_once = n->host_to_device < batches || n->host_to_device_bytes >= 2 * bytes;
  expect_at_most(c, "bytes of device memory", n->cuda_peak_bytes, enough_memory(c), at_once ? &ALL_MOVED : &KEPT);
}

static void judge(Case *c) {
  const Array *want = right(c);
  const Counts *n = counts(c);
  const int64_t count = want->shape.size[0], batch = (int64_t)given_number(c, "batch");
  suspect_all(c, want);
  if (!expect_array(c, "scores", want, 1e-4) || !expect_device(c, "scores", "cpu", &LEFT_THERE))
    return;
  const int64_t calls = got_count(c, "calls"), rows = got_count(c, "most rows");
  const bool gpu = strcmp(given_text(c, "device"), "cpu") != 0, moved = n->host_to_device >= count;
  if (gpu && !expect_at_least(c, "kernel launches", n->launches, 1, &ON_CPU))
    return;
  if (!expect_at_most(c, "samples in a forward pass", rows, batch, &TOO_MANY) ||
      !expect_at_most(c, "forward passes", calls, count / batch + 1,
                      calls < count   ? rows == batch ? &TWICE : &SMALLER
                      : moved || !gpu ? &ONE_BY_ONE
                                      : &FORWARD_EACH))
    return;
  judge_copies(c);
}

EXERCISE = {
    .id = "07_6_predictions",
    .title = "Find the bug: model predictions",
    .after_pass =
        "Process samples in batches: a launch or a copy has the same fixed cost for one sample as for a batch.",
    .kind = "find the bug",
    .chapter = 7,
    .level = LEVEL_MEDIUM,
    .minutes = 20,
    .bug = true,
    .lesson = BATCHES,
    .stars = {{"device memory for at most two batches, however large N is", {&ALL_MOVED, &KEPT}}},
    .hints = {"How many copies and kernels does one sample need? How many does a batch of 64 need?",
              "Go through the data in steps of `batch`. fy_narrow(data, 0, i, rows) is a view of `rows` samples that "
              "begin at sample i.",
              "The last batch may be smaller: rows is the smaller of batch and count - i."},
    .functions = {"predict"},
    .tests = {{.name = "on a GPU", .ask = ask_gpu, .judge = judge},
              {.name = "on the CPU", .ask = ask_cpu, .judge = judge},
              {.name = "less than a batch", .ask = ask_few, .judge = judge},
              {.name = "whole batches", .ask = ask_whole, .judge = judge},
              {.name = "one sample left over", .ask = ask_one_left, .judge = judge},
              {.name = "many samples", .ask = ask_large, .judge = judge},
              {.name = "many features", .ask = ask_wide, .judge = judge},
              {.name = "a strided view", .ask = ask_gaps, .judge = judge},
              {.name = "a transposed view", .ask = ask_transposed, .judge = judge},
              {.name = "gradients disabled", .ask = ask_not_recording, .judge = judge},
              {.name = "on cuda:1", .ask = ask_second, .judge = judge, .devices = 2}},
};
