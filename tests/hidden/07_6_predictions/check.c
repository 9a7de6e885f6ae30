// SPDX-License-Identifier: MIT
// Exercise 7.6: sample by sample. The driver's model notes how often it is called, and with how many rows.
#include "exercise.h"
#include <math.h>
#include <string.h>

static const Mistake ONE_BY_ONE = {
    "sample by sample",
    "Each sample crosses alone, is computed alone and comes back alone. A batch costs as many "
    "starts and transfers as one sample does.",
    "docs/07_pitfalls.md#sample-by-sample-against-batches"};
static const Mistake FORWARD_EACH = {"a forward pass per sample",
                                     "The batch crosses at once, but the model still sees one sample at a time.",
                                     "docs/07_pitfalls.md#sample-by-sample-against-batches"};
static const Mistake TRANSFER_EACH = {
    "one transfer per sample", "The model sees batches, but their samples cross one by one. Move the batch as a whole.",
    "docs/07_pitfalls.md#many-small-transfers-against-one"};
static const Mistake FETCH_EACH = {
    "results fetched one by one",
    "Every fetch is a transfer, and the host waits for each. Fetch the scores of a batch "
    "together.",
    "docs/07_pitfalls.md#waiting-in-a-loop"};
static const Mistake LAST_LEFT_OUT = {
    "the last batch left out", "The samples are no multiple of the batch. What remains is a batch, too, a smaller one.",
    "docs/07_pitfalls.md#sample-by-sample-against-batches"};
static const Mistake PAST_THE_DATA = {"the last batch too long", "The last batch ends where the data ends.",
                                      "docs/07_pitfalls.md#sample-by-sample-against-batches"};
static const Mistake TOO_MANY = {"more than a batch at once",
                                 "The device has memory for one batch. All samples at once are more than that.",
                                 "docs/07_pitfalls.md#more-memory-than-there-is"};
static const Mistake ALL_MOVED = {
    "the whole data set moved",
    "The model sees batches, but all of the data is on the device. Bring each batch when its "
    "turn comes.",
    "docs/07_pitfalls.md#more-memory-than-there-is"};
static const Mistake KEPT = {
    "memory of all batches kept",
    "The memory grew with every batch: what one turn made was still there in the next. Give each turn "
    "a fy_scope of its own, and keep no more than its scores.",
    "docs/07_pitfalls.md#more-memory-than-there-is"};
static const Mistake FIRST_GPU = {"the first GPU, not the one given",
                                  "The batches belong on the device that is given, where the model is.",
                                  "docs/06_several_gpus.md#the-gpu-of-your-choice"};
static const Mistake TWICE = {"through the model more than once",
                              "There were more forward passes than batches: each batch goes through the model once.",
                              "docs/07_pitfalls.md#sample-by-sample-against-batches"};
static const Mistake SMALLER = {
    "smaller batches", "There were more forward passes than needed: each of `batch` samples, the last of what is left.",
    "docs/07_pitfalls.md#sample-by-sample-against-batches"};
static const Mistake WRONG_PLACE = {"a batch in the wrong place",
                                    "The scores of the batch that begins at sample i belong into the rows from i on.",
                                    "docs/07_pitfalls.md#sample-by-sample-against-batches"};
static const Mistake LEFT_THERE = {"the scores left on the device", "The scores are wanted on the CPU.",
                                   "docs/03_tensor_moves.md#cuda-and-cpu"};
static const Mistake ON_CPU = {"computed on the CPU", "The model has a device, and the batches go there.",
                               "docs/05_model_moves.md#when-they-are-apart"};
static const Mistake RECORDED = {
    "a graph recorded", "Nothing is trained here. Without no_grad autograd keeps the activations of each batch.",
    "docs/07_pitfalls.md#sample-by-sample-against-batches"};
static const Mistake CONSTANT = {"a constant in place of the result",
                                 "What is returned is the same for every input: nothing was computed.",
                                 "docs/07_pitfalls.md#sample-by-sample-against-batches"};
static const Mistake AGAIN = {
    "samples brought twice",
    "The last batch begins before the end of the one before. It is smaller than the others where "
    "they do not divide evenly.",
    "docs/07_pitfalls.md#sample-by-sample-against-batches"};
static const Mistake TWO = {"two batches on the device",
                            "When a batch is brought, the one before is still there: memory for two. Let the scope of "
                            "a turn end before the next "
                            "batch is moved.",
                            "docs/07_pitfalls.md#more-memory-than-there-is"};
static const Mistake NOTHING = {"nothing returned", "The function has to return the scores.",
                                "docs/07_pitfalls.md#sample-by-sample-against-batches"};

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

// A batch of samples takes more than all that is computed from it.
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
  give_number(c, "not recording", 1);
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

// Does one of the first rows hold what another row has to?
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

// Of one batch: its samples, what lies between the layers, its scores, some of each; and the scores of all. In blocks of
// 512 bytes.
static int64_t enough_memory(const Case *c) {
  int64_t batch = (int64_t)given_number(c, "batch"), classes = given(c, "w2")->shape.size[0];
  int64_t widest = given(c, "w1")->shape.size[0], samples = given(c, "data")->shape.size[0];
  int64_t blocks = (batch * widest * (int64_t)sizeof(float) + 511) / 512;
  int64_t all = (samples * classes * (int64_t)sizeof(float) + 511) / 512;
  int64_t features = given(c, "data")->shape.size[1],
          wide = features > 100 ? batch * features * 5 : 0; // 5 / 4 of a batch
  return 512 * (12 * blocks + 2 * all) + wide;
}

static void suspect_all(Case *c, const Array *want) {
  const Array *scores = got(c, "scores");
  bool rest_missing = got_number(c, "calls") < (double)batches_of(c) && whole_batches_right(c, want);
  suspect_that(c, strstr(got_error(c), "start (") || strstr(got_error(c), "exceeds"), &PAST_THE_DATA);
  bool crossed = counts(c)->host_to_device + counts(c)->device_to_device > 0;
  bool second = strcmp(given_text(c, "device"), "cuda:1") == 0;
  suspect_that(c, strstr(got_error(c), "same device") && crossed && second, &FIRST_GPU);
  suspect_that(c, strstr(got_error(c), "same device") && !crossed, &ON_CPU);
  suspect_that(c, !*got_error(c) && !scores, &NOTHING);
  suspect_that(c, rest_missing, &LAST_LEFT_OUT);
  suspect_array(c, "scores", new_array(c, FY_FLOAT32, want->shape), &CONSTANT);
  suspect_that(c, misplaced(c, want), &WRONG_PLACE);
}

static void judge_copies(Case *c) {
  const Counts *n = counts(c);
  int64_t batches = batches_of(c);
  if (strcmp(given_text(c, "device"), "cpu") == 0)
    return;
  int64_t features = given(c, "data")->shape.size[1];
  int64_t batch_bytes = (int64_t)given_number(c, "batch") * features * (int64_t)sizeof(float);
  expect_at_most(c, "copies from host to device", n->host_to_device, batches, &TRANSFER_EACH);
  expect_at_least(c, "copies from host to device", n->host_to_device, batches, &ALL_MOVED);
  expect_at_most(c, "copies from device to host", n->device_to_host, batches, &FETCH_EACH);
  expect_at_most(
      c, "bytes copied to the device", n->host_to_device_bytes, given(c, "data")->count * (int64_t)sizeof(float),
      n->host_to_device_bytes < given(c, "data")->count * (int64_t)sizeof(float) + batch_bytes ? &AGAIN : &ALL_MOVED);
  expect_at_most(c, "kernels started", n->launches, 8 * batches + 8, NULL);
  expect_exactly(c, "copies between devices", n->device_to_device, 0, &FIRST_GPU);
  expect_at_most(c, "bytes of device memory", n->cuda_peak_bytes, enough_memory(c),
                 n->cuda_peak_bytes < enough_memory(c) + batch_bytes && features > 100 ? &TWO : &KEPT);
}

static void judge(Case *c) {
  const Array *want = right(c);
  const Counts *n = counts(c);
  int64_t batches = batches_of(c), count = want->shape.size[0];
  suspect_all(c, want);
  if (!expect_array(c, "scores", want, 1e-4) || !expect_device(c, "scores", "cpu", &LEFT_THERE))
    return;
  int64_t calls = got_count(c, "calls");
  bool gpu = strcmp(given_text(c, "device"), "cpu") != 0, moved = n->host_to_device >= count;
  if (gpu && !expect_at_least(c, "kernels started", n->launches, 1, &ON_CPU))
    return;
  if (!expect_at_most(c, "samples in a forward pass", got_count(c, "most rows"), (int64_t)given_number(c, "batch"),
                      &TOO_MANY) ||
      !expect_exactly(c, "forward passes", got_count(c, "calls"), batches,
                      calls < count ? got_count(c, "most rows") == (int64_t)given_number(c, "batch") ? &TWICE : &SMALLER
                      : moved || !gpu ? &ONE_BY_ONE
                                      : &FORWARD_EACH) ||
      !expect_exactly(c, "forward passes that record a graph", got_count(c, "recorded"), 0, &RECORDED))
    return;
  judge_copies(c);
}

EXERCISE = {
    .id = "07_6_predictions",
    .title = "Find the bug: predictions for a data set",
    .after_pass = "A launch and a transfer cost the same for one sample as for a batch of them.",
    .kind = "find the bug",
    .chapter = 7,
    .level = LEVEL_MEDIUM,
    .minutes = 25,
    .bug = true,
    .lesson = "docs/07_pitfalls.md#sample-by-sample-against-batches",
    .hints = {"How many transfers, how many kernels does one sample cost? And a batch of 64?",
              "Step through the data by `batch`. fy_narrow(data, 0, i, rows) are `rows` samples from i on.",
              "The last batch may be smaller: rows is batch, or what is left, count - i."},
    .functions = {"predict"},
    .tests = {{.name = "on a GPU", .ask = ask_gpu, .judge = judge},
              {.name = "on the CPU", .ask = ask_cpu, .judge = judge},
              {.name = "data with gaps", .ask = ask_gaps, .judge = judge},
              {.name = "transposed data", .ask = ask_transposed, .judge = judge},
              {.name = "whole batches only", .ask = ask_whole, .judge = judge},
              {.name = "fewer than a batch", .ask = ask_few, .judge = judge},
              {.name = "one left over", .ask = ask_one_left, .judge = judge},
              {.name = "large and odd", .ask = ask_large, .judge = judge},
              {.name = "wide samples", .ask = ask_wide, .judge = judge},
              {.name = "called without recording", .ask = ask_not_recording, .judge = judge},
              {.name = "on the second GPU", .ask = ask_second, .judge = judge, .devices = 2}},
};
