// SPDX-License-Identifier: MIT
// Exercise 30.1: attention in tiles, with an online softmax.
#include "exercise.h"
#include <math.h>

#define LESSON "docs/30_attention.md"

enum { D = 32 };

static const Mistake NO_SCALE = {"scores not divided by sqrt(D)",
                                 "Scaled dot-product attention divides each score by the square root of the head "
                                 "dimension, here sqrt(32).",
                                 LESSON "#scores-weights-and-values"};
static const Mistake NOT_SCALED = {"partial sums not rescaled",
                                   "When a larger score appears, the sum and the weighted values are still relative to "
                                   "the old maximum. Multiply both by e^(old maximum - new maximum).",
                                   LESSON "#flashattention-tiles-and-online-softmax"};
static const Mistake NOT_MASKED = {"padding keys not masked",
                                   "The last tile has fewer keys. A missing key with a score of 0 still gets a weight. "
                                   "Leave the missing keys out of the sum.",
                                   LESSON "#causal-masks-and-partial-tiles"};
static const Mistake LAST_TILE = {
    "partial last tile left out",
    "n need not be a multiple of the tile size. Process the remaining keys as a shorter tile.",
    LESSON "#causal-masks-and-partial-tiles"};
static const Mistake OTHER_HEAD = {"missing head offset",
                                   "Each head has its own n keys and values. Add head * n * 32 to their indices.",
                                   LESSON "#scores-weights-and-values"};
static const Mistake NOT_DIVIDED = {
    "missing normalization",
    "The weights of a softmax add up to 1. Divide the weighted values by the sum of the weights.",
    LESSON "#flashattention-tiles-and-online-softmax"};
static const Mistake UNSTABLE = {"numerically unstable softmax",
                                 "e^s overflows if a score s is large, and is 0 if s is far below 0. Subtract the "
                                 "maximum first. Start the maximum at -INFINITY, not at 0.",
                                 LESSON "#flashattention-tiles-and-online-softmax"};
static const Mistake SCORE_MATRIX = {"score matrix in device memory",
                                     "You allocate memory for n x n scores. Process the keys in tiles, and keep only a "
                                     "maximum, a sum and the weighted values for each query.",
                                     LESSON "#flashattention-tiles-and-online-softmax"};
static const Mistake UNCOALESCED = {"uncoalesced access",
                                    "The lanes of a warp load from different rows. Let the block copy each tile to "
                                    "shared memory, with neighboring threads loading neighboring elements.",
                                    "docs/23_shared_memory.md#matrix-transpose-step-by-step"};
static const Mistake LAUNCHES = {
    "more than one launch", "One kernel can compute the scores, the softmax and the weighted values for all heads.",
    LESSON "#flashattention-tiles-and-online-softmax"};

// Elements of q from q_low to q_high, and of k from k_low to k_high.
static void ask_between(Case *c, int64_t heads, int64_t n, double q_low, double q_high, double k_low, double k_high) {
  const Give on_device = {.device = "cuda:0"};
  give_array(c, "q", draw_array(c, FY_FLOAT32, shape(heads, n, D), q_low, q_high), on_device);
  give_array(c, "k", draw_array(c, FY_FLOAT32, shape(heads, n, D), k_low, k_high), on_device);
  give_array(c, "v", draw_array(c, FY_FLOAT32, shape(heads, n, D), -1, 2), on_device);
  give_number(c, "heads", (double)heads);
  give_number(c, "n", (double)n);
}
static void ask(Case *c, int64_t heads, int64_t n, double most) {
  ask_between(c, heads, n, -most, most, -most, most);
}
static void ask_one(Case *c) {
  ask(c, 5, 1, 1);
}
static void ask_whole(Case *c) {
  ask(c, 1, 64, 1);
}
static void ask_odd(Case *c) {
  ask(c, 2, draw_odd(c, 67, 95), 1);
}
static void ask_short(Case *c) {
  ask(c, 3, draw_odd(c, 3, 29), 1);
}
static void ask_large(Case *c) {
  ask(c, 3, draw_odd(c, 99, 129), 1.5);
}
static void ask_long(Case *c) {
  ask(c, 1, draw_odd(c, 257, 299), 1);
}
static void ask_high(Case *c) {
  ask(c, 1, draw_odd(c, 67, 95), 16);
}
// All scores far below 0: a maximum that starts at 0 makes all weights 0.
static void ask_low(Case *c) {
  ask_between(c, 1, draw_odd(c, 35, 63), 6, 9, -9, -6);
}

typedef struct Formula {
  double scale;
  int64_t extra;   // keys of score 0 and value 0 that are added
  int64_t keys_of; // so many of the head's keys count; 0: all
  bool first_head, not_divided;
} Formula;

static Array *attention(Case *c, Formula f) {
  const Array *q = given(c, "q"), *k = given(c, "k"), *v = given(c, "v");
  int64_t heads = q->shape.size[0], n = q->shape.size[1], keys = f.keys_of ? f.keys_of : n;
  Array *out = new_array(c, FY_FLOAT32, q->shape), *score = new_array(c, FY_FLOAT64, shape(n));
  for (int64_t row = 0; row < heads * n; row++) {
    const int64_t head = f.first_head ? 0 : row / n * n;
    double most = f.extra ? 0 : -INFINITY, sum = 0;
    for (int64_t j = 0; j < keys; j++) {
      double s = 0;
      for (int64_t d = 0; d < D; d++)
        s += (double)q->f32[row * D + d] * (double)k->f32[(head + j) * D + d];
      score->f64[j] = s * f.scale;
      most = fmax(most, score->f64[j]);
    }
    for (int64_t j = 0; j < keys; j++)
      sum += score->f64[j] = exp(score->f64[j] - most);
    sum += (double)f.extra * exp(-most);
    for (int64_t d = 0; d < D; d++) {
      double value = 0;
      for (int64_t j = 0; j < keys; j++)
        value += score->f64[j] * (double)v->f32[(head + j) * D + d];
      out->f32[row * D + d] = (float)(value / (f.not_divided ? 1 : sum));
    }
  }
  return out;
}

enum { MOST_KEYS = 64 };

// An online softmax that does not rescale the sum, or the values, or both; the maximum is updated once in so many keys.
static Array *never_rescaled(Case *c, double scale, bool sum_too, bool values_too, int64_t keys) {
  const Array *q = given(c, "q"), *k = given(c, "k"), *v = given(c, "v");
  const int64_t n = q->shape.size[1];
  Array *out = new_array(c, FY_FLOAT32, q->shape);
  for (int64_t row = 0; row < q->shape.size[0] * n; row++) {
    double most = -INFINITY, sum = 0, value[D] = {0}, score[MOST_KEYS];
    for (int64_t first = 0; first < n; first += keys) {
      const int64_t here = n - first < keys ? n - first : keys, at = row / n * n + first;
      double larger = most;
      for (int64_t j = 0; j < here; j++) {
        score[j] = 0;
        for (int64_t d = 0; d < D; d++)
          score[j] += (double)q->f32[row * D + d] * (double)k->f32[(at + j) * D + d] * scale;
        larger = fmax(larger, score[j]);
      }
      const double shrink = exp(most - larger);
      sum *= sum_too ? 1 : shrink;
      for (int64_t d = 0; d < D; d++)
        value[d] *= values_too ? 1 : shrink;
      most = larger;
      for (int64_t j = 0; j < here; j++) {
        const double weight = exp(score[j] - most);
        sum += weight;
        for (int64_t d = 0; d < D; d++)
          value[d] += weight * (double)v->f32[(at + j) * D + d];
      }
    }
    for (int64_t d = 0; d < D; d++)
      out->f32[row * D + d] = (float)(value[d] / sum);
  }
  return out;
}

// Rows with a NaN, all of which have their largest score on that side of `limit`, and all other rows on the other side.
static bool nan_where(Case *c, const Array *out, double scale, double limit, bool above) {
  const Array *q = given(c, "q"), *k = given(c, "k");
  const int64_t heads = q->shape.size[0], n = q->shape.size[1];
  int64_t here = 0, elsewhere = 0;
  for (int64_t row = 0; out && row < heads * n; row++) {
    double most = -INFINITY;
    for (int64_t j = row / n * n; j < row / n * n + n; j++) {
      double s = 0;
      for (int64_t d = 0; d < D; d++)
        s += (double)q->f32[row * D + d] * (double)k->f32[j * D + d] * scale;
      most = fmax(most, s);
    }
    if (array_is_filling(out, row * D) || !isnan(out->f32[row * D]))
      continue;
    *((most > limit) == above ? &here : &elsewhere) += 1;
  }
  return here && !elsewhere;
}

static void suspect_tiles(Case *c, double scale, int64_t n) {
  for (int64_t tile = 8; tile <= 128; tile *= 2) {
    if (n % tile)
      suspect_array(c, "out", attention(c, (Formula){.scale = scale, .extra = tile - n % tile}), &NOT_MASKED);
    if (n > tile && n % tile)
      suspect_array(c, "out", attention(c, (Formula){.scale = scale, .keys_of = n / tile * tile}), &LAST_TILE);
  }
}

// Results of known mistakes: only where the result was refused.
static void suspect_formulas(Case *c, double scale) {
  const int64_t n = given(c, "q")->shape.size[1], heads = given(c, "q")->shape.size[0];
  suspect_array(c, "out", attention(c, (Formula){.scale = 1}), &NO_SCALE);
  suspect_tiles(c, scale, n);
  if (heads > 1)
    suspect_array(c, "out", attention(c, (Formula){.scale = scale, .first_head = true}), &OTHER_HEAD);
  suspect_array(c, "out", attention(c, (Formula){.scale = scale, .not_divided = true}), &NOT_DIVIDED);
  const int64_t tiles[] = {1, 16, 32, 64};
  for (int i = 0; i < 4; i++)
    for (int which = 1; which <= 3; which++)
      suspect_array(c, "out", never_rescaled(c, scale, which & 1, which & 2, tiles[i]), &NOT_SCALED);
}

static void judge(Case *c) {
  const double scale = 1 / sqrt(D);
  const Array *out = got_shaped(c, "out", given(c, "q")->shape);
  suspect_that(c, counts(c)->launches == 0, &NO_KERNEL);
  suspect_finding(c, "race", &RACE);
  suspect_that(c, nan_where(c, out, scale, -80, false), &UNSTABLE); // e^-104 is 0 in float32, e^89 is infinite
  suspect_that(c, nan_where(c, out, scale, 80, true), &UNSTABLE);
  if (!expect_array(c, "out", attention(c, (Formula){.scale = scale}), 5e-4)) {
    suspect_formulas(c, scale);
    return;
  }
  if (!expect_by_kernel(c))
    return;
  expect_at_most(c, "kernel launches", counts(c)->launches, 1, &LAUNCHES);
  if (given(c, "q")->shape.size[1] > 128 && !isnan(got_number(c, "floats allocated")))
    expect_at_most(c, "floats of device memory allocated", got_count(c, "floats allocated"), given(c, "q")->count * 2,
                   &SCORE_MATRIX);
  expect_no_finding(c);
}

static void judge_traffic(Case *c) {
  judge(c);
  expect_inspected(c, LOADED_SECTORS, (Where){.kernel = NULL}, 1.5, &UNCOALESCED);
}

EXERCISE = {
    .id = "30_1_attention",
    .title = "Attention in tiles",
    .after_pass = "FlashAttention applies an online softmax to tiles of keys, so it stores no score matrix in memory.",
    .kind = "kernel",
    .chapter = 30,
    .level = LEVEL_HARD,
    .minutes = 60,
    .lesson = LESSON "#flashattention-tiles-and-online-softmax",
    .stars = {{"coalesced: at most 1.5 x the ideal sectors per load request", {&UNCOALESCED}},
              {"one kernel launch", {&LAUNCHES}}},
    .hints = {"Use a thread per query. In registers, it keeps its 32 elements of q, its 32 weighted values, a maximum "
              "and a sum.",
              "For each tile: the block copies keys and values to shared memory; barrier; each thread loops over the "
              "keys of the tile; barrier before the next tile overwrites them.",
              "For each score s: larger = fmaxf(max, s), shrink = expf(max - larger), weight = expf(s - larger). "
              "Multiply the sum and all 32 weighted values by shrink. Then add weight to the sum and weight * v[j] to "
              "the weighted values.",
              "A thread without a query also copies tiles and reaches every barrier. It only skips the write to out. "
              "The last tile has n - first keys, where first is its first key."},
    .functions = {"attention_on_device"},
    .tests = {{.name = "one position", .ask = ask_one, .judge = judge},
              {.name = "64 positions: values and traffic", .ask = ask_whole, .judge = judge_traffic, .inspect = true},
              {.name = "two heads, odd sizes", .ask = ask_odd, .judge = judge, .inspect = true},
              {.name = "fewer keys than a tile", .ask = ask_short, .judge = judge, .inspect = true},
              {.name = "three heads", .ask = ask_large, .judge = judge, .schedules = 1},
              {.name = "many positions", .ask = ask_long, .judge = judge, .schedules = 1},
              {.name = "large scores", .ask = ask_high, .judge = judge},
              {.name = "scores far below 0", .ask = ask_low, .judge = judge, .schedules = 1}},
};
