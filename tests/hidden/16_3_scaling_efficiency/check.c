// SPDX-License-Identifier: MIT
// Exercise 16.3: an efficiency, measured by a simulated clock.
#include "exercise.h"
#include <math.h>

#define LESSON "docs/16_distributed.md#scaling-efficiency"

enum { WARM_UP = 5 };

static const Mistake NO_WARM_UP = {
    "missing warm-up",
    "The first steps are slower, and you measured them as well. Run five steps before you start the clock.", LESSON};
static const Mistake WAITED = {"waiting for a late rank in the measured time",
                               "A rank was still busy when you started the clock, so you measured the wait for it. "
                               "Call barrier first, then start the clock.",
                               LESSON};
static const Mistake RATE_TOLD = {"slowest called with a rate",
                                  "slowest returns the largest value of all ranks. The largest time belongs to the "
                                  "slowest rank, but the largest rate belongs to the fastest. Pass it seconds.",
                                  LESSON};
static const Mistake STEP_BY_STEP = {"slowest called in each step",
                                     "The sum of the slowest times of single steps is larger than the slowest rank's "
                                     "time. Call slowest once, with the time of all steps.",
                                     LESSON};
static const Mistake OWN = {"own time instead of the slowest rank's",
                            "All ranks together are only as fast as the slowest one. Use slowest(seconds).", LESSON};
static const Mistake ONE = {"samples of one rank only",
                            "In one step, all ranks together train on ranks * batch samples.", LESSON};
static const Mistake NOT_RELATIVE = {"speedup instead of efficiency",
                                     "You returned the speedup over a single rank. Divide it by the number of ranks.",
                                     LESSON};
static const Mistake INVERTED = {"inverted ratio", "You returned the reciprocal of the efficiency.", LESSON};
static const Mistake RATE = {"throughput instead of efficiency",
                             "You returned samples per second. Divide by ranks * single.", LESSON};
static const Mistake STEPS = {"wrong number of steps", "Run 5 warm-up steps, and measure `steps` steps.", LESSON};
static const Mistake NOTHING = {"nothing measured", "Your function did not call step.", LESSON};

static void ask(Case *c, bool others_slower, int64_t ranks, int64_t steps) {
  Array *costs = new_array(c, FY_FLOAT64, shape(WARM_UP + steps + 1));
  double own = 0;
  for (int64_t i = 0; i < costs->count; i++) {
    costs->f64[i] = draw_real(c, 0.01, 0.012) * (i < WARM_UP ? draw_real(c, 3, 6) : 1);
    own += i >= WARM_UP && i < WARM_UP + steps ? costs->f64[i] : 0;
  }
  const int64_t batch = draw_int(c, 16, 64);
  give_array(c, "costs", costs, (Give){0});
  give_number(c, "ranks", (double)ranks);
  give_number(c, "batch", (double)batch);
  give_number(c, "steps", (double)steps);
  give_number(c, "single", (double)batch / draw_real(c, 0.008, 0.0095));
  give_number(c, "clock", draw_real(c, 100, 1000));
  give_number(c, "late", draw_real(c, 0.05, 0.1));
  give_number(c, "others", own * (others_slower ? draw_real(c, 1.1, 1.3) : draw_real(c, 0.7, 0.9)));
}
static void ask_slowest(Case *c) {
  ask(c, false, draw_int(c, 2, 8), draw_int(c, 8, 20));
}
static void ask_another(Case *c) {
  ask(c, true, draw_int(c, 2, 8), draw_int(c, 8, 20));
}
static void ask_few(Case *c) { // fewer than the warm-up has
  ask(c, false, draw_int(c, 2, 8), draw_int(c, 1, WARM_UP - 1));
}

// The sum of steps [first, last).
static double seconds_of(const Case *c, int64_t first, int64_t last) {
  const Array *costs = given(c, "costs");
  double sum = 0;
  for (int64_t i = first; i < last; i++)
    sum += costs->f64[i < costs->count ? i : costs->count - 1];
  return sum;
}

static void judge(Case *c) {
  const int64_t steps = (int64_t)given_number(c, "steps"), made = got_count(c, "steps made");
  const double ranks = given_number(c, "ranks"), single = given_number(c, "single"), others = given_number(c, "others");
  const double late = given_number(c, "late"), samples = given_number(c, "batch") * (double)steps;
  const double own = seconds_of(c, WARM_UP, WARM_UP + steps),
               first = seconds_of(c, 0, steps) + (steps > WARM_UP ? late : 0);
  const double whole = seconds_of(c, 0, WARM_UP + steps), longest = fmax(own, others);
  const double want = samples / longest / single, result = got_number(c, "efficiency");
  const struct {
    double value;
    const Mistake *mistake;
  } known[] = {{samples / fmax(first, others) / single, &NO_WARM_UP},
               {samples / fmax(first - late, others) / single, &NO_WARM_UP},
               {samples / fmax(whole, others) / single, &NO_WARM_UP},
               {samples / fmax(whole + late, others) / single, &NO_WARM_UP},
               {(samples + WARM_UP * samples / (double)steps) / fmax(whole + late, others) / single, &NO_WARM_UP},
               {samples / fmax(own + late, others) / single, &WAITED},
               {samples / (own + late) / single, &WAITED},
               {samples / own / single, &OWN},
               {want / ranks, &ONE},
               {want * ranks, &NOT_RELATIVE},
               {1 / want, &INVERTED},
               {want * single * ranks, &RATE},
               {want * single, &RATE}};
  suspect_that(c, made == 0, &NOTHING);
  const double rate = samples / own, told = got_number(c, "told");
  suspect_that(c, fabs(told - rate) < 1e-9 * rate && fabs(rate - own) > 1e-6 * own, &RATE_TOLD);
  suspect_that(c, steps > 1 && got_count(c, "asked") == steps && told < own / 2, &STEP_BY_STEP);
  for (size_t i = 0; i < sizeof known / sizeof *known; i++)
    suspect_that(c, fabs(result - known[i].value) < 1e-9 * fabs(known[i].value) && fabs(result - want) > 1e-6 * want,
                 known[i].mistake);
  suspect_that(c, made != WARM_UP + steps, &STEPS);
  if (expect_number(c, "efficiency", want, 1e-9))
    expect_exactly(c, "steps", made, WARM_UP + steps, &STEPS);
}

EXERCISE = {
    .id = "16_3_scaling_efficiency",
    .title = "Scaling efficiency",
    .after_pass = "Scaling efficiency is the throughput of all ranks, limited by the slowest, divided by ranks times "
                  "that of a single rank.",
    .kind = "write",
    .chapter = 16,
    .level = LEVEL_MEDIUM,
    .minutes = 30,
    .lesson = LESSON,
    .hints = {"The order is: five steps, the barrier, start the clock, `steps` steps, stop the clock.",
              "On every rank, slowest(now() - begin) returns the time of the slowest rank.",
              "In that time, all ranks together trained on ranks * batch * steps samples. Divide by the time, and by "
              "ranks * single."},
    .functions = {"scaling_efficiency"},
    .tests = {{"this rank is the slowest", ask_slowest, .judge = judge},
              {"another rank is the slowest", ask_another, .judge = judge},
              {"few steps", ask_few, .judge = judge}},
};
