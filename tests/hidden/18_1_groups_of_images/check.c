// SPDX-License-Identifier: MIT
// Exercise 18.1: benchmark mode with changing shapes. The driver's model records its calls; the library counts searches.
#include "exercise.h"
#include <math.h>
#include <string.h>

#define LESSON "docs/18_benchmark_mode.md#changing-input-shapes"

static const Mistake EVERY_SIZE = {"algorithm search for every size",
                                   "In benchmark mode, each convolution times its algorithms for every new input size. "
                                   "Give the model at most two batch sizes.",
                                   LESSON};
static const Mistake LEFT_OFF = {"benchmark mode left off",
                                 "Benchmark mode applies to the whole program. Restore it before you return.", LESSON};
static const Mistake DETERMINISTIC = {
    "deterministic mode left on",
    "Deterministic mode turns benchmark mode off in the whole program. Restore it before "
    "you return.",
    "docs/18_benchmark_mode.md#reproducible-results"};
static const Mistake REST_DROPPED = {
    "last batch dropped", "Return the scores of all images, including those that do not fill a batch.", LESSON};
static const Mistake PADDING_LEFT = {
    "padding not removed", "The result contains scores of padding images. Remove them with fy_narrow.", LESSON};
static const Mistake FEWER = {"fewer images than a batch",
                              "There may be fewer images in total than `batch`. Take the smaller of the two numbers.",
                              LESSON};
static const Mistake TOO_MANY = {"batch size exceeded", "Give the model at most `batch` images in a forward pass.",
                                 LESSON};
static const Mistake EMPTY_PASS = {"empty batch",
                                   "If the number of images is a multiple of `batch`, no images remain for a last "
                                   "batch. End the loop at the number of images.",
                                   LESSON};
static const Mistake ONE_BY_ONE = {
    "too many forward passes",
    "Each forward pass has a fixed cost. Put as many images into each pass as `batch` allows.",
    "docs/07_pitfalls.md#batches-instead-of-single-samples"};
static const Mistake ORDER = {"wrong order of the scores", "Return the scores in the order of the images.", LESSON};
static const Mistake CONSTANT = {"zeros returned", "All scores are 0. Return the outputs of the model.", LESSON};
static const Mistake NOTHING = {"no result returned", "Return the scores.", LESSON};
static const Mistake RECORDED = {"autograd graph recorded", "Nothing is trained here. Run the model inside fy_no_grad.",
                                 LESSON};

static void ask_sizes(Case *c, const int64_t *sizes, int count, int64_t batch, Give how) {
  Array *given_sizes = new_array(c, FY_INT64, shape(count));
  int64_t total = 0, channels = draw_int(c, 2, 3), hidden = draw_int(c, 5, 7), classes = draw_int(c, 3, 4);
  for (int i = 0; i < count; i++)
    total += given_sizes->i64[i] = sizes[i];
  give_number(c, "batch", (double)batch);
  give_array(c, "sizes", given_sizes, (Give){0});
  give_array(c, "pictures",
             draw_array(c, FY_FLOAT32, shape(total, channels, draw_int(c, 5, 7), draw_int(c, 8, 9)), -1, 1), how);
  give_array(c, "w1", draw_array(c, FY_FLOAT32, shape(hidden, channels, 3, 3), -1, 1), (Give){0});
  give_array(c, "w2", draw_array(c, FY_FLOAT32, shape(classes, hidden, 3, 3), -1, 1), (Give){0});
}

enum { MOST_GROUPS = 24 };

// All sizes from 1 to `count`, in random order.
static void ask_different(Case *c, int count, int64_t batch, Give how) {
  int64_t sizes[MOST_GROUPS];
  for (int i = 0; i < count; i++)
    sizes[i] = i + 1;
  for (int i = count - 1; i > 0; i--) {
    const int64_t other = draw_int(c, 0, i), size = sizes[i];
    sizes[i] = sizes[other];
    sizes[other] = size;
  }
  ask_sizes(c, sizes, count, batch, how);
}

static void ask_usual(Case *c) {
  const int count = (int)draw_int(c, 8, 11);
  ask_different(c, count, count, (Give){0});
}
static void ask_gaps(Case *c) {
  const int count = (int)draw_int(c, 8, 11);
  ask_different(c, count, count, (Give){.strided = true});
}
static void ask_many(Case *c) {
  ask_different(c, (int)draw_int(c, 18, 20), 20, (Give){0});
}
// The batch is larger than any group.
static void ask_wide(Case *c) {
  ask_different(c, (int)draw_int(c, 6, 8), draw_int(c, 13, 16), (Give){0});
}
// Fewer images in total than a batch.
static void ask_few(Case *c) {
  ask_different(c, 3, draw_int(c, 7, 9), (Give){0});
}
// Many small groups of four sizes, in total one image fewer than whole batches.
static void ask_small(Case *c) {
  int64_t sizes[MOST_GROUPS], total = 0;
  for (int i = 0; i < MOST_GROUPS - 1; i++)
    total += sizes[i] = i < 4 ? i + 1 : draw_int(c, 3, 4);
  sizes[MOST_GROUPS - 1] = total % 4 == 3 ? 4 : 3 - total % 4;
  ask_sizes(c, sizes, MOST_GROUPS, 4, (Give){0});
}
// Whole batches in total.
static void ask_whole(Case *c) {
  enum { GROUPS = 12, BATCH = 6 };
  int64_t sizes[GROUPS], total = 0;
  for (int i = 0; i < GROUPS - 1; i++)
    total += sizes[i] = i < 4 ? i + 1 : draw_int(c, 1, BATCH);
  sizes[GROUPS - 1] = BATCH - total % BATCH;
  ask_sizes(c, sizes, GROUPS, BATCH, (Give){0});
}
// Growing sizes, each of them twice.
static void ask_growing(Case *c) {
  int64_t sizes[MOST_GROUPS], first = draw_int(c, 1, 3);
  for (int i = 0; i < 12; i++)
    sizes[i] = first + i / 2;
  ask_sizes(c, sizes, 12, first + 5, (Give){0});
}

// ---- the right result --------------------------------------------------------------------------------------------------------

// out (o, h, w) = relu of the 3x3 convolution of x (c, h, w) with zeros around it.
static void convolve(const double *x, const float *weight, int64_t c, int64_t o, int64_t h, int64_t w, double *out) {
  for (int64_t k = 0; k < o * h * w; k++) {
    const int64_t channel = k / (h * w), row = k / w % h, column = k % w;
    double sum = 0;
    for (int64_t tap = 0; tap < c * 9; tap++) {
      const int64_t y = row + tap / 3 % 3 - 1, z = column + tap % 3 - 1;
      if (y >= 0 && y < h && z >= 0 && z < w)
        sum += (double)weight[channel * c * 9 + tap] * x[(tap / 9 * h + y) * w + z];
    }
    out[k] = sum > 0 ? sum : 0;
  }
}

static Array *right(Case *c) {
  const Array *pictures = given(c, "pictures"), *w1 = given(c, "w1"), *w2 = given(c, "w2");
  const int64_t *size = pictures->shape.size, n = size[0], channels = size[1], h = size[2], w = size[3];
  const int64_t hidden = w1->shape.size[0], classes = w2->shape.size[0];
  Array *want = new_array(c, FY_FLOAT32, shape(n, classes));
  double *x = new_array(c, FY_FLOAT64, shape(channels * h * w))->f64;
  double *inner = new_array(c, FY_FLOAT64, shape(hidden * h * w))->f64;
  double *out = new_array(c, FY_FLOAT64, shape(classes * h * w))->f64;
  for (int64_t i = 0; i < n; i++) {
    for (int64_t k = 0; k < channels * h * w; k++)
      x[k] = pictures->f32[i * channels * h * w + k];
    convolve(x, w1->f32, channels, hidden, h, w, inner);
    convolve(inner, w2->f32, hidden, classes, h, w, out);
    for (int64_t o = 0; o < classes; o++) {
      double sum = 0;
      for (int64_t k = 0; k < h * w; k++)
        sum += out[o * h * w + k];
      want->f32[i * classes + o] = (float)(sum / (double)(h * w));
    }
  }
  return want;
}

// ---- judging -------------------------------------------------------------------------------------------------------------------

// Row i of the scores is row k of the right ones.
static bool same_row(const Array *scores, int64_t i, const Array *want, int64_t k) {
  const int64_t classes = want->shape.size[1];
  for (int64_t o = 0; o < classes; o++)
    if (!(fabs((double)scores->f32[i * classes + o] - want->f32[k * classes + o]) < 1e-3))
      return false;
  return true;
}

static bool has_all_rows(const Array *scores, const Array *want) {
  for (int64_t k = 0; k < want->shape.size[0]; k++) {
    bool found = false;
    for (int64_t i = 0; i < scores->shape.size[0] && !found; i++)
      found = same_row(scores, i, want, k);
    if (!found)
      return false;
  }
  return true;
}

static void suspect_all(Case *c, const Array *want) {
  const Array *scores = got(c, "scores");
  const int64_t rows = want->shape.size[0], classes = want->shape.size[1];
  suspect_that(c, !*got_error(c) && !scores, &NOTHING);
  if ((double)want->shape.size[0] < given_number(c, "batch"))
    suspect_error(c, "exceeds dimension size", &FEWER);
  suspect_array(c, "scores", new_array(c, FY_FLOAT32, want->shape), &CONSTANT);
  if (!scores || scores->dtype != FY_FLOAT32 || scores->shape.rank != 2 || scores->shape.size[1] != classes)
    return;
  const int64_t there = scores->shape.size[0];
  bool first_right = true; // all rows so far are right
  for (int64_t i = 0; i < there && i < rows; i++)
    first_right = first_right && same_row(scores, i, want, i);
  suspect_that(c, there > rows && has_all_rows(scores, want), &PADDING_LEFT);
  suspect_that(c, there < rows && there > 0 && (first_right || got_number(c, "rows") < (double)rows), &REST_DROPPED);
  suspect_that(c, there == rows && !first_right && has_all_rows(scores, want), &ORDER);
}

static void judge(Case *c) {
  const Array *want = right(c), *sizes = given(c, "sizes");
  const int64_t batch = (int64_t)given_number(c, "batch");
  suspect_all(c, want);
  if (!expect_array(c, "scores", want, 1e-3))
    return;
  if (!expect_at_most(c, "images in a forward pass", got_count(c, "most rows"), batch, &TOO_MANY) ||
      !expect_at_most(c, "algorithm searches", got_count(c, "searches"), 4, &EVERY_SIZE))
    return;
  expect_at_most(c, "forward passes", got_count(c, "calls"), sizes->count, &ONE_BY_ONE);
  expect_at_least(c, "images in a forward pass", got_count(c, "fewest rows"), 1, &EMPTY_PASS);
  expect_exactly(c, "forward passes that record a graph", got_count(c, "recorded"), 0, &RECORDED);
  expect_that(c, got_number(c, "deterministic") == 0, &DETERMINISTIC, "deterministic mode is on after the call");
  expect_that(c, got_number(c, "benchmark") == 1, &LEFT_OFF, "benchmark mode is off after the call");
}

EXERCISE = {
    .id = "18_1_groups_of_images",
    .title = "Find the bug: groups of images",
    .after_pass = "Work that is cached per input shape pays off only if the shapes repeat, so give the model few "
                  "distinct shapes.",
    .kind = "find the bug",
    .chapter = 18,
    .level = LEVEL_MEDIUM,
    .minutes = 30,
    .bug = true,
    .lesson = LESSON,
    .stars = {{"at most `count` forward passes, none of them empty", {&ONE_BY_ONE, &EMPTY_PASS}},
              {"no autograd graph", {&RECORDED}}},
    .hints = {"Print fy_backends_benchmark_counts().searches after each group. When does it grow, and by how much?",
              "The scores of an image do not depend on the other images in its batch. So you can choose which images "
              "go through the model together.",
              "Concatenate all groups with fy_cat, and give the model slices of `batch` images, so that it sees at "
              "most two sizes. Or pad each group to `batch` images, and remove the additional scores."},
    .functions = {"score_all"},
    .tests = {{.name = "all sizes different", .ask = ask_usual, .judge = judge},
              {.name = "growing sizes", .ask = ask_growing, .judge = judge},
              {.name = "whole batches", .ask = ask_whole, .judge = judge},
              {.name = "a batch larger than all groups", .ask = ask_wide, .judge = judge},
              {.name = "many groups", .ask = ask_many, .judge = judge},
              {.name = "small batches", .ask = ask_small, .judge = judge},
              {.name = "non-contiguous images", .ask = ask_gaps, .judge = judge},
              {.name = "fewer images than a batch", .ask = ask_few, .judge = judge}},
};
