// SPDX-License-Identifier: MIT
// Exercise 35.1: a learning rate with linear warm-up and cosine decay.
#include "exercise.h"
#include <math.h>

#define LESSON "docs/35_train_gpt.md#warm-up-and-cosine-decay"

static const Mistake FROM_ZERO = {"warm-up starts at 0",
                                  "The first step has the rate 0, so it changes nothing. Step 0 has the rate top / "
                                  "warmup.",
                                  LESSON};
static const Mistake INTEGER = {"integer division",
                                "step / warmup is 0 for integers. Convert one of them to double first.", LESSON};
static const Mistake FROM_LOW = {
    "warm-up starts at low", "In warm-up, the rate rises from top / warmup to top. It does not depend on low.", LESSON};
static const Mistake NO_WARMUP = {"warm-up missing", "The first `warmup` steps have a rate that rises.", LESSON};
static const Mistake NOT_SHIFTED = {
    "progress counted from step 0",
    "The decay begins after warm-up. Its progress is (step - warmup) / (steps - warmup).", LESSON};
static const Mistake OVER_ALL = {"progress over all steps",
                                 "The decay takes steps - warmup steps. Divide step - warmup by this number, not by "
                                 "steps.",
                                 LESSON};
static const Mistake OFF_BY_ONE = {"decay off by one step",
                                   "The first step after warm-up has the progress 0, and so the rate top.", LESSON};
static const Mistake TO_ZERO = {"decay to 0 instead of low", "The rate ends at low, not at 0.", LESSON};
static const Mistake LOW_ADDED = {"low added to the whole cosine",
                                  "The rate begins at low + top. Scale the cosine by top - low, and then add low.",
                                  LESSON};
static const Mistake CUT_OFF = {"cosine to 0, limited to low",
                                "The cosine goes from top to low. You let it go to 0, and replaced rates below low.",
                                LESSON};
static const Mistake RISES = {"rate rises after the last step",
                              "After half a period, the cosine rises again. From step `steps` on, return low.", LESSON};
static const Mistake LINEAR = {"linear decay", "The rate after warm-up is a cosine of the progress, not a line.",
                               LESSON};
static const Mistake QUARTER = {"a quarter of a period",
                                "cos(pi / 2 * progress) is another curve. Use (1 + cos(pi * progress)) / 2.", LESSON};
static const Mistake NO_PI = {"pi missing", "cos takes radians. Half a period is pi.", LESSON};
static const Mistake UPSIDE_DOWN = {"cosine reversed",
                                    "The rate rises from low to top after warm-up. Use 1 + cos, not 1 - cos.", LESSON};
static const Mistake BY_ZERO = {"division by zero",
                                "The rate is not a number where warmup is 0 or equals steps. Then there is no step in "
                                "this part: compare before you divide.",
                                LESSON};
static const Mistake IN_AN_INT = {"integer overflow",
                                  "Steps may be larger than an int can hold. Use int64_t or double.", LESSON};

// ---- asking

static void ask(Case *c, int64_t warmup, int64_t steps, const int64_t *step, int64_t count) {
  const double low = draw_real(c, 0.5, 1), top = low + draw_real(c, 2, 4);
  Array *all = new_array(c, FY_INT64, shape(count));
  for (int64_t i = 0; i < count; i++)
    all->i64[i] = step ? step[i] : i;
  give_array(c, "step", all, (Give){0});
  give_number(c, "warmup", (double)warmup);
  give_number(c, "steps", (double)steps);
  give_number(c, "top", top);
  give_number(c, "low", low);
}
static void ask_whole(Case *c) {
  const int64_t warmup = draw_int(c, 4, 7), steps = warmup + draw_int(c, 9, 14);
  ask(c, warmup, steps, NULL, steps);
}
static void ask_warmup(Case *c) {
  const int64_t warmup = draw_int(c, 4, 9);
  ask(c, warmup, 3 * warmup + 1, NULL, warmup);
}
static void ask_none(Case *c) {
  const int64_t steps = draw_int(c, 7, 12);
  ask(c, 0, steps, NULL, steps);
}
static void ask_only(Case *c) {
  const int64_t steps = draw_int(c, 4, 7);
  ask(c, steps, steps, NULL, steps + 3);
}
static void ask_after(Case *c) {
  const int64_t warmup = draw_int(c, 4, 7), steps = warmup + draw_int(c, 9, 14);
  ask(c, warmup, steps, NULL, 2 * steps);
}
static void ask_order(Case *c) {
  int64_t step[9];
  const int64_t warmup = draw_int(c, 5, 9), steps = warmup + draw_int(c, 31, 49);
  for (int i = 0; i < 9; i++)
    step[i] = draw_int(c, 0, steps + 5);
  ask(c, warmup, steps, step, 9);
}
static void ask_large(Case *c) {
  const int64_t most = INT64_C(1) << 40, warmup = most / 8;
  int64_t step[6];
  for (int i = 0; i < 6; i++)
    step[i] = draw_int(c, 1, 1000000) + i * (most / 5);
  ask(c, warmup, most, step, 6);
}

// ---- rates, right and wrong

typedef struct At {
  double step, warmup, steps, top, low;
} At;
typedef double Rate(At a);

static double half(double progress) {
  return (1 + cos(acos(-1) * progress)) / 2;
}
static double progress_of(At a) {
  return (a.step - a.warmup) / (a.steps - a.warmup);
}
static double rate(At a, double decayed) {
  return a.step < a.warmup ? a.top * (a.step + 1) / a.warmup : a.step >= a.steps ? a.low : decayed;
}
static double right(At a) {
  return rate(a, a.low + (a.top - a.low) * half(progress_of(a)));
}
static double from_zero(At a) {
  return a.step < a.warmup ? a.top * a.step / a.warmup : right(a);
}
static double integer(At a) {
  return a.step < a.warmup ? a.top * floor((a.step + 1) / a.warmup) : right(a);
}
static double integer_from_zero(At a) {
  return a.step < a.warmup ? 0 : right(a);
}
static double from_low(At a) {
  return a.step < a.warmup ? a.low + (a.top - a.low) * (a.step + 1) / a.warmup : right(a);
}
static double no_warmup(At a) {
  return a.step >= a.steps ? a.low : a.low + (a.top - a.low) * half(a.step / a.steps);
}
static double not_shifted(At a) {
  return rate(a, a.low + (a.top - a.low) * half(a.step / a.steps));
}
static double over_all(At a) {
  return rate(a, a.low + (a.top - a.low) * half((a.step - a.warmup) / a.steps));
}
static double off_by_one(At a) {
  return rate(a, a.low + (a.top - a.low) * half((a.step + 1 - a.warmup) / (a.steps - a.warmup)));
}
static double to_zero(At a) {
  return a.step >= a.steps ? 0 : rate(a, a.top * half(progress_of(a)));
}
static double to_zero_then_low(At a) {
  return rate(a, a.top * half(progress_of(a)));
}
static double low_added(At a) {
  return rate(a, a.low + a.top * half(progress_of(a)));
}
static double cut_off(At a) {
  return rate(a, fmax(a.low, a.top * half(progress_of(a))));
}
static double rises(At a) {
  return a.step < a.steps ? right(a) : a.low + (a.top - a.low) * half(progress_of(a));
}
static double linear(At a) {
  return rate(a, a.top + (a.low - a.top) * progress_of(a));
}
static double quarter(At a) {
  return rate(a, a.low + (a.top - a.low) * cos(acos(-1) / 2 * progress_of(a)));
}
static double no_pi(At a) {
  return rate(a, a.low + (a.top - a.low) * (1 + cos(progress_of(a))) / 2);
}
static double upside_down(At a) {
  return rate(a, a.low + (a.top - a.low) * (1 - half(progress_of(a))));
}

static Array *rates(Case *c, Rate *of) {
  const Array *step = given(c, "step");
  Array *all = new_array(c, FY_FLOAT64, step->shape);
  for (int64_t i = 0; i < step->count; i++)
    all->f64[i] = of((At){(double)step->i64[i], given_number(c, "warmup"), given_number(c, "steps"),
                          given_number(c, "top"), given_number(c, "low")});
  return all;
}

static void judge(Case *c) {
  static const struct {
    Rate *rate;
    const Mistake *mistake;
  } wrong[] = {{from_zero, &FROM_ZERO},
               {integer, &INTEGER},
               {integer_from_zero, &INTEGER},
               {from_low, &FROM_LOW},
               {no_warmup, &NO_WARMUP},
               {not_shifted, &NOT_SHIFTED},
               {over_all, &OVER_ALL},
               {off_by_one, &OFF_BY_ONE},
               {to_zero, &TO_ZERO},
               {to_zero_then_low, &TO_ZERO},
               {low_added, &LOW_ADDED},
               {cut_off, &CUT_OFF},
               {rises, &RISES},
               {linear, &LINEAR},
               {quarter, &QUARTER},
               {no_pi, &NO_PI},
               {upside_down, &UPSIDE_DOWN}};
  const double warmup = given_number(c, "warmup"), steps = given_number(c, "steps");
  const Array *had = got_shaped(c, "rate", given(c, "step")->shape);
  int64_t nan = 0;
  if (expect_array(c, "rate", rates(c, right), 1e-5))
    return;
  for (int64_t i = 0; had && had->dtype == FY_FLOAT64 && i < had->count; i++)
    nan += !isfinite(had->f64[i]);
  suspect_that(c, nan > 0 && (warmup == 0 || warmup == steps), &BY_ZERO);
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong && warmup > 0 && warmup < steps; i++)
    suspect_array(c, "rate", rates(c, wrong[i].rate), wrong[i].mistake);
  suspect_that(c, steps > INT32_MAX, &IN_AN_INT);
}

EXERCISE = {
    .id = "35_1_warm_up",
    .title = "Warm-up and cosine decay",
    .after_pass = "Small first steps give Adam time to estimate its moments. Small last steps let the weights settle.",
    .kind = "write",
    .chapter = 35,
    .level = LEVEL_EASY,
    .minutes = 20,
    .lesson = LESSON,
    .hints = {"There are three parts: step < warmup, step >= steps, and the steps in between.",
              "In warm-up, the rate is top * (step + 1) / warmup. Convert to double before you divide.",
              "progress = (step - warmup) / (steps - warmup), as a double: 0 at the first step after warm-up."},
    .functions = {"learning_rate"},
    .tests = {{.name = "warm-up", .ask = ask_warmup, .judge = judge},
              {.name = "all steps", .ask = ask_whole, .judge = judge},
              {.name = "no warm-up", .ask = ask_none, .judge = judge},
              {.name = "only warm-up", .ask = ask_only, .judge = judge},
              {.name = "after the last step", .ask = ask_after, .judge = judge},
              {.name = "steps in any order", .ask = ask_order, .judge = judge},
              {.name = "2^40 steps", .ask = ask_large, .judge = judge}},
};
