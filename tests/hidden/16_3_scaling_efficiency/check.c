// SPDX-License-Identifier: MIT
// Exercise 16.3: an efficiency by a clock that is written down.
#include "exercise.h"
#include <math.h>

#define LESSON "docs/16_distributed.md#how-much-faster"

enum { WARM_UP = 5 };

static const Mistake NO_WARM_UP = {"no warm-up", "The first steps, which take longer, were measured with the others.",
                                   LESSON};
static const Mistake WAITED = {
    "waiting for a late rank on the clock",
    "A rank was busy with something else when the clock was started, and the time until it came counted. "
    "barrier, and then the clock.",
    LESSON};
static const Mistake RATE_TOLD = {"a rate in place of seconds",
                                  "slowest takes this rank's seconds, and returns the largest of all ranks'. Of rates "
                                  "the largest is the fastest rank's.",
                                  LESSON};
static const Mistake STEP_BY_STEP = {
    "the slowest of each step",
    "slowest was asked in every step, with the seconds of that one: what the ranks lose to each other in single steps "
    "adds up to more than the longest time of all steps together, which is asked for.",
    LESSON};
static const Mistake OWN = {
    "this rank's own time",
    "What all ranks together achieve is decided by the one that takes longest: slowest(seconds).", LESSON};
static const Mistake ONE = {"one rank's samples",
                            "All ranks' samples count: ranks * batch in a step. Or both numbers are those of one rank.",
                            LESSON};
static const Mistake NOT_RELATIVE = {
    "compared with one rank",
    "The result is how many times faster than one rank it is. Divide by the number of ranks, too.", LESSON};
static const Mistake INVERTED = {"the wrong way round", "The result is one over the efficiency.", LESSON};
static const Mistake RATE = {"samples per second",
                             "The result is a throughput: it is to be compared with ranks * alone.", LESSON};
static const Mistake IN_INT = {
    "more samples than an int holds",
    "ranks * batch * steps was multiplied as int, which ends at 2147483647. Begin with a double.", LESSON};
static const Mistake STEPS = {"another number of steps", "Five steps to warm up, and `steps` that are measured.",
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
  give_number(c, "batch", (double)batch); // with many ranks more samples than an int holds
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
static void ask_few(Case *c) { // fewer than there are to warm up
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
    .after_pass = "Efficiency compares the slowest rank's time, after a barrier, with one device's.",
    .kind = "write",
    .chapter = 16,
    .level = LEVEL_MEDIUM,
    .minutes = 30,
    .lesson = LESSON,
    .hints = {"In this order: five steps, the barrier, the clock, `steps` steps, the clock.",
              "slowest(now() - begin) is the time of the rank that took longest, in every rank.",
              "Together the ranks had ranks * batch * steps samples in that time; ranks * alone would be perfect."},
    .functions = {"scaling_efficiency"},
    .tests = {{"this rank is the slowest", ask_slowest, .judge = judge},
              {"another rank is the slowest", ask_another, .judge = judge},
              {"many ranks", ask_many, .judge = judge},
              {"fewer steps than to warm up", ask_few, .judge = judge}},
};
