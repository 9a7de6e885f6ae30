// SPDX-License-Identifier: MIT
// Exercise 16.3: the efficiency by a clock whose readings are known.
#include "exercise.h"
#include <math.h>

#define LESSON "docs/16_distributed.md#how-much-faster"

enum { WARM_UP = 5 };

static const Mistake NO_WARM_UP = {"no warm-up", "The first steps take longer, and they were measured with the others.",
                                   LESSON};
static const Mistake WAITED = {"no barrier before the clock",
                               "A rank was busy when another one started its clock, so waiting for it was measured. "
                               "Call barrier, then read the clock.",
                               LESSON};
static const Mistake RATE_TOLD = {"rate instead of seconds",
                                  "slowest takes seconds. Of rates, the largest is that of the fastest rank.", LESSON};
static const Mistake STEP_BY_STEP = {
    "slowest rank of each step",
    "slowest was called in every step. The sum of the slowest steps is more than the time of the slowest rank.",
    LESSON};
static const Mistake OWN = {"own time instead of the slowest rank's",
                            "The rank that takes longest decides what all ranks achieve together: slowest(seconds).",
                            LESSON};
static const Mistake ONE = {"samples of one rank only",
                            "Count the samples of all ranks, ranks * batch per step, or compare both sides per rank.",
                            LESSON};
static const Mistake NOT_RELATIVE = {"speedup instead of efficiency",
                                     "The result is the speedup over one rank. Divide it by the number of ranks.",
                                     LESSON};
static const Mistake INVERTED = {"efficiency inverted", "The result is one divided by the efficiency.", LESSON};
static const Mistake RATE = {"throughput instead of efficiency",
                             "The result is a number of samples per second. Divide it by ranks * alone.", LESSON};
static const Mistake IN_INT = {
    "integer overflow", "ranks * batch * steps was computed as int, which ends at 2,147,483,647. Start with a double.",
    LESSON};
static const Mistake STEPS = {"wrong number of steps", "Make five warm-up steps and then `steps` measured ones.",
                              LESSON};
static const Mistake NOTHING = {"nothing measured", "No step was made.", LESSON};

static void ask(Case *c, bool others_slower, int64_t ranks, int64_t steps) {
  Array *costs = new_array(c, FY_FLOAT64, shape(WARM_UP + steps + 1));
  double own = 0;
  for (int64_t i = 0; i < costs->count; i++) {
    costs->f64[i] = draw_real(c, 0.01, 0.012) * (i < WARM_UP ? draw_real(c, 3, 6) : 1);
    own += i >= WARM_UP && i < WARM_UP + steps ? costs->f64[i] : 0;
  }
  const int64_t batch = ranks > 8 ? draw_int(c, 9000, 9999) : draw_int(c, 16, 64);
  give_array(c, "costs", costs, (Give){0});
  give_number(c, "ranks", (double)ranks);
  give_number(c, "batch", (double)batch); // with many ranks, more samples than an int can hold
  give_number(c, "steps", (double)steps);
  give_number(c, "alone", (double)batch / draw_real(c, 0.008, 0.0095));
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
static void ask_many(Case *c) {
  ask(c, true, draw_int(c, 40000, 50000), draw_int(c, 8, 20));
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
  const double ranks = given_number(c, "ranks"), alone = given_number(c, "alone"), others = given_number(c, "others");
  const double late = given_number(c, "late"), samples = given_number(c, "batch") * (double)steps;
  const double own = seconds_of(c, WARM_UP, WARM_UP + steps),
               first = seconds_of(c, 0, steps) + (steps > WARM_UP ? late : 0);
  const double whole = seconds_of(c, 0, WARM_UP + steps), longest = fmax(own, others);
  const double want = samples / longest / alone, result = got_number(c, "efficiency");
  const double in_int = (double)(int32_t)(uint32_t)((uint64_t)ranks * (uint64_t)samples); // as an int wraps round
  const struct {
    double value;
    const Mistake *mistake;
  } known[] = {{samples / fmax(first, others) / alone, &NO_WARM_UP},
               {samples / fmax(first - late, others) / alone, &NO_WARM_UP},
               {samples / fmax(whole, others) / alone, &NO_WARM_UP},
               {samples / fmax(whole + late, others) / alone, &NO_WARM_UP},
               {(samples + WARM_UP * samples / (double)steps) / fmax(whole + late, others) / alone, &NO_WARM_UP},
               {samples / fmax(own + late, others) / alone, &WAITED},
               {samples / (own + late) / alone, &WAITED},
               {samples / own / alone, &OWN},
               {want / ranks, &ONE},
               {want * ranks, &NOT_RELATIVE},
               {1 / want, &INVERTED},
               {want * alone * ranks, &RATE},
               {want * alone, &RATE},
               {in_int / longest / (ranks * alone), &IN_INT}};
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
    .after_pass = "Scaling efficiency compares the throughput, by the slowest rank after a warm-up and a barrier, with "
                  "perfect scaling.",
    .kind = "write",
    .chapter = 16,
    .level = LEVEL_MEDIUM,
    .minutes = 30,
    .lesson = LESSON,
    .hints = {"In this order: five steps, the barrier, the clock, `steps` steps, the clock.",
              "slowest(now() - begin) returns the time of the slowest rank, in every rank.",
              "Together the ranks process ranks * batch * steps samples in that time; ranks * alone would be perfect "
              "scaling."},
    .functions = {"scaling_efficiency"},
    .tests = {{"this rank is the slowest", ask_slowest, .judge = judge},
              {"another rank is the slowest", ask_another, .judge = judge},
              {"many ranks", ask_many, .judge = judge},
              {"fewer steps than to warm up", ask_few, .judge = judge}},
};
