// SPDX-License-Identifier: MIT
// Exercise 28.3: attention in tiles, with a softmax that goes along.
#include "exercise.h"
#include <math.h>
#include <string.h>

#define LESSON "docs/28_kernels_of_a_network.md#attention"

enum { D = 32 };

static const Mistake NO_SCALE = {"scores not divided by sqrt(D)",
                                 "A product of 32 numbers is larger the longer they are: it is divided by sqrt(32).",
                                 LESSON};
static const Mistake NOT_SCALED = {
    "values not scaled to the new maximum",
    "When a larger score comes, sum and weighted values were made with a smaller maximum: both are "
    "multiplied by e^(old - new).",
    LESSON};
static const Mistake BEYOND = {
    "keys beyond n",
    "The last tile has fewer keys. A key that is not there has no score; a score of 0 is one, with a weight.", LESSON};
static const Mistake LAST_TILE = {"the last tile left out",
                                  "n need not be a multiple of the tile: the rest is a tile with fewer keys.", LESSON};
static const Mistake OTHER_HEAD = {
    "keys of another head", "Each head has n keys and values of its own, behind those of the heads before it.", LESSON};
static const Mistake NOT_DIVIDED = {"not divided by the sum", "Weights are shares: they add up to 1.", LESSON};
static const Mistake OVERFLOW = {"the maximum was not taken off",
                                 "e^s of a large score is more than a float holds. Take the largest so far off.",
                                 LESSON};
static const Mistake BESIDE = {
    "a thread reads a row from global memory",
    "Lanes of a warp read from different rows, so that each request touches a sector for each lane. Let a block "
    "copy a tile into shared memory, neighbours by neighbours.",
    "docs/23_shared_memory.md#a-transpose-step-by-step"};
static const Mistake SEVERAL = {"more than one launch", "Scores need no launch of their own.", LESSON};

static const Mistake ZERO_FIRST = {"zero taken for the smallest score",
                                   "A score may be below 0. What is smaller than any is -INFINITY.", LESSON};

static const Mistake LEFT_OUT = {
    "a key of small weight left out",
    "A weight may be next to nothing and its value so large that their product counts: each key has its part.", LESSON};

// Queries are `times` as large, and keys that much smaller: a power of two, so that scores are the same to the last bit.
static void ask_times(Case *c, int64_t heads, int64_t n, double most, float times) {
  const Give on_device = {.device = "cuda:0"};
  Array *q = draw_array(c, FY_FLOAT32, shape(heads, n, D), -most, most);
  Array *k = draw_array(c, FY_FLOAT32, shape(heads, n, D), -most, most);
  for (int64_t i = 0; i < q->count; i++) {
    q->f32[i] *= times;
    k->f32[i] /= times;
  }
  give_array(c, "q", q, on_device);
  give_array(c, "k", k, on_device);
  give_array(c, "v", draw_array(c, FY_FLOAT32, shape(heads, n, D), -1, 2), on_device);
  give_number(c, "heads", (double)heads);
  give_number(c, "n", (double)n);
}
static void ask(Case *c, int64_t heads, int64_t n, double most) {
  ask_times(c, heads, n, most, 1);
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
static void ask_high(Case *c) {
  ask(c, 1, draw_odd(c, 67, 95), 16);
}
static void ask_small_keys(Case *c) {
  ask_times(c, 1, draw_odd(c, 67, 95), 1, 0x1p20F);
}
// All scores far below 0: whoever begins with a maximum of 0 has weights of 0.
static void ask_low(Case *c) {
  const int64_t n = draw_odd(c, 35, 63);
  const Give on_device = {.device = "cuda:0"};
  give_array(c, "q", draw_array(c, FY_FLOAT32, shape(1, n, D), 6, 9), on_device);
  give_array(c, "k", draw_array(c, FY_FLOAT32, shape(1, n, D), -9, -6), on_device);
  give_array(c, "v", draw_array(c, FY_FLOAT32, shape(1, n, D), -1, 2), on_device);
  give_number(c, "heads", 1);
  give_number(c, "n", (double)n);
}
static void ask_one(Case *c) {
  ask(c, 5, 1, 1);
}

// The lower a key's score, the larger its values: what counts most may be 30 and more below the largest score. Values of dimension 0
// are 1, so that what comes out there is the sum of all shares.
static void ask_large_values(Case *c) {
  const int64_t n = 64;
  const Give on_device = {.device = "cuda:0"};
  Array *q = new_array(c, FY_FLOAT32, shape(1, n, D)), *k = new_array(c, FY_FLOAT32, shape(1, n, D));
  Array *v = draw_array(c, FY_FLOAT32, shape(1, n, D), 1, 2);
  for (int64_t i = 0; i < n; i++) {
    const double score = i % 32 == 7 ? 0 : draw_real(c, -40, 0);
    q->f32[i * D] = (float)draw_real(c, 1, 2);
    k->f32[i * D] = (float)(score * sqrt(D));
    v->f32[i * D] = 1;
    for (int64_t d = 1; d < D; d++)
      v->f32[i * D + d] *= (float)exp(-score * 1.5);
  }
  give_array(c, "q", q, on_device);
  give_array(c, "k", k, on_device);
  give_array(c, "v", v, on_device);
  give_number(c, "heads", 1);
  give_number(c, "n", (double)n);
}

typedef struct Formula {
  double scale;
  int64_t extra;   // keys of score 0 and value 0 besides
  int64_t keys_of; // so many keys of the head's n count; 0: all
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

// As if the maximum so far were the last one: e^(s - it) is never multiplied again. The sum may be right all the same. The maximum is
// looked for once in so many keys.
static Array *never_scaled(Case *c, double scale, bool sum_too, int64_t keys) {
  const Array *q = given(c, "q"), *k = given(c, "k"), *v = given(c, "v");
  const int64_t n = q->shape.size[1];
  Array *out = new_array(c, FY_FLOAT32, q->shape);
  for (int64_t row = 0; row < q->shape.size[0] * n; row++) {
    double most = -INFINITY, sum = 0, value[D] = {0}, score[32];
    for (int64_t first = 0; first < n; first += keys) {
      const int64_t here = n - first < keys ? n - first : keys, at = row / n * n + first;
      double larger = most;
      for (int64_t j = 0; j < here; j++) {
        score[j] = 0;
        for (int64_t d = 0; d < D; d++)
          score[j] += (double)q->f32[row * D + d] * (double)k->f32[(at + j) * D + d] * scale;
        larger = fmax(larger, score[j]);
      }
      sum *= sum_too ? 1 : exp(most - larger);
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

// A row with NaN, whose largest score is on that side of `limit`, and none with NaN on the other side.
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

// All shares add up to 1, and yet values are missing: none is more than it should be, and none less than the keys with the largest
// scores alone make it.
static bool left_out(Case *c, const Array *out, const Array *want, double scale) {
  const Array *q = given(c, "q"), *k = given(c, "k"), *v = given(c, "v");
  const int64_t n = q->shape.size[1];
  if (!out)
    return false;
  bool less = false;
  for (int64_t row = 0; row < q->shape.size[0] * n; row++) {
    double most = -INFINITY, sum = 0, least[D] = {0};
    for (int schedule = 0; schedule < 2; schedule++)
      for (int64_t j = row / n * n; j < row / n * n + n; j++) {
        double s = 0;
        for (int64_t d = 0; d < D; d++)
          s += (double)q->f32[row * D + d] * (double)k->f32[j * D + d] * scale;
        if (schedule == 0) {
          most = fmax(most, s);
          continue;
        }
        sum += exp(s - most);
        for (int64_t d = 0; d < D && s > most - 4; d++)
          least[d] += exp(s - most) * (double)v->f32[j * D + d];
      }
    if (!(fabs((double)out->f32[row * D] - 1) < 1e-3))
      return false;
    for (int64_t d = 1; d < D; d++) {
      const double had = (double)out->f32[row * D + d], right = (double)want->f32[row * D + d];
      if (!(had <= right * (1 + 1e-4) && had >= least[d] / sum * (1 - 1e-2)))
        return false;
      less |= had < right * (1 - 1e-2);
    }
  }
  return less;
}

static void suspect_formulas(Case *c, double scale, int64_t n, int64_t heads) {
  suspect_array(c, "out", attention(c, (Formula){.scale = 1}), &NO_SCALE);
  if (n % 32)
    suspect_array(c, "out", attention(c, (Formula){.scale = scale, .extra = 32 - n % 32}), &BEYOND);
  if (n > 32 && n % 32)
    suspect_array(c, "out", attention(c, (Formula){.scale = scale, .keys_of = n / 32 * 32}), &LAST_TILE);
  if (heads > 1)
    suspect_array(c, "out", attention(c, (Formula){.scale = scale, .first_head = true}), &OTHER_HEAD);
  suspect_array(c, "out", attention(c, (Formula){.scale = scale, .not_divided = true}), &NOT_DIVIDED);
  for (int64_t keys = 1; keys <= 32; keys *= 32) {
    suspect_array(c, "out", never_scaled(c, scale, false, keys), &NOT_SCALED);
    suspect_array(c, "out", never_scaled(c, scale, true, keys), &NOT_SCALED);
  }
}

static bool judge_all(Case *c) {
  const double scale = 1 / sqrt(D);
  const int64_t n = given(c, "q")->shape.size[1], heads = given(c, "q")->shape.size[0];
  const Array *out = got_shaped(c, "out", given(c, "q")->shape);
  suspect_that(c, counts(c)->launches == 0, &NO_KERNEL);
  suspect_finding(c, "race", &RACE);
  suspect_that(c, nan_where(c, out, scale, -80, false), &ZERO_FIRST); // e^-88 is next to nothing, e^88 next to infinity
  suspect_that(c, nan_where(c, out, scale, 80, true), &OVERFLOW);
  const Array *want = attention(c, (Formula){.scale = scale});
  if (!expect_array(c, "out", want, 1e-4)) {
    suspect_formulas(c, scale, n, heads);
    // Of other inputs a tile left out may look like this: here one key of each tile has the largest score.
    suspect_that(c, strcmp(case_test(c), "small weights, large values") == 0 && left_out(c, out, want, scale),
                 &LEFT_OUT);
    return false;
  }
  return expect_by_kernel(c) && expect_at_most(c, "launches", counts(c)->launches, 1, &SEVERAL) &&
         expect_at_most(c, "launches, copies and fills", counts(c)->operations, 1, &SEVERAL) && expect_no_finding(c);
}

static void judge(Case *c) {
  judge_all(c);
}

static void judge_traffic(Case *c) {
  if (judge_all(c))
    expect_inspected(c, LOADED_SECTORS, (Where){.kernel = NULL}, 1.5, &BESIDE);
}

EXERCISE = {
    .id = "28_3_attention",
    .title = "Attention in tiles",
    .after_pass = "With a running maximum and sum, attention never writes its matrix of scores.",
    .kind = "kernel",
    .chapter = 28,
    .level = LEVEL_HARD,
    .minutes = 60,
    .lesson = LESSON,
    .hints = {"A thread for each query: its 32 numbers, its 32 weighted sums, a maximum and a sum in registers.",
              "For each tile: the block copies keys and values into shared memory; a barrier; each thread goes through "
              "them; a "
              "barrier, before the next tile is written.",
              "For each score: larger = max(most, s); shrink = e^(most - larger); sum and all 32 weighted sums times "
              "shrink, plus "
              "the new one's.",
              "A thread without a query helps to copy and comes to every barrier; it only writes nothing."},
    .functions = {"attention_on_device"},
    .tests = {{.name = "whole tiles: values and traffic", .ask = ask_whole, .judge = judge_traffic, .inspect = true},
              {.name = "two heads, odd", .ask = ask_odd, .judge = judge, .inspect = true},
              {.name = "fewer keys than a tile", .ask = ask_short, .judge = judge, .inspect = true},
              {.name = "several heads, odd", .ask = ask_large, .judge = judge, .schedules = 1},
              {.name = "large scores", .ask = ask_high, .judge = judge},
              {.name = "large queries, small keys", .ask = ask_small_keys, .judge = judge, .schedules = 1},
              {.name = "scores far below zero", .ask = ask_low, .judge = judge, .schedules = 1},
              {.name = "small weights, large values", .ask = ask_large_values, .judge = judge, .schedules = 1},
              {.name = "one position", .ask = ask_one, .judge = judge}},
};
