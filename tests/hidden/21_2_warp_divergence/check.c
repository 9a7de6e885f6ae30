// SPDX-License-Identifier: MIT
// Exercise 21.2: two kinds of work, without a warp that does both.
#include "exercise.h"
#include <math.h>

#define LESSON "docs/21_the_machine.md#divergence"

static const Mistake BY_LANE = {
    "a branch by lane",
    "Lanes of one warp go different ways, so that each waits while the other works. Give each warp one kind "
    "of work, or each thread both.",
    LESSON};
static const Mistake TWICE = {
    "both kinds for every element",
    "Work whose result is thrown away costs as much as any: each element needs one of the two.", LESSON};
static const Mistake EXCHANGED = {"even and odd exchanged",
                                  "Elements 0, 2, 4, ... are even_work's, 1, 3, 5, ... odd_work's.", LESSON};
static const Mistake ONE_KIND = {"one kind of work for all", "The odd elements are odd_work's.", LESSON};
static const Mistake HALVES = {"halves instead of every other",
                               "Even and odd is about the element's number, not about the first and the second half.",
                               LESSON};
static const Mistake ODD_END = {"the last element left out",
                                "With n odd there is one even element more than odd ones: (n + 1) / 2 of them.",
                                LESSON};
static const Mistake APART = {
    "neighbours far apart",
    "A warp with every other element touches twice the sectors of one with all; more than that need not be. "
    "Let neighbouring lanes take neighbouring elements of their kind.",
    "docs/22_global_memory.md#sectors"};
static const Mistake EMPTY_GRID = {
    "a grid of no blocks", "For n = 1 there are no odd elements: a launch of no blocks is an invalid configuration.",
    "docs/20_the_first_kernel.md#grid-block-guard"};
static const Mistake PART_OF_A_WARP = {"blocks of warps in parts",
                                       "A block of 100 threads takes four warps, and the last of them has 4 threads: "
                                       "its other lanes do nothing. Let a block "
                                       "have a multiple of 32 threads.",
                                       "docs/21_the_machine.md#warps"};
static const Mistake LAUNCHES = {"more launches than two", "One launch does it, or one for each kind.", LESSON};

static void ask(Case *c, int64_t n) {
  give_array(c, "x", draw_array(c, FY_FLOAT32, shape(n), 1, 4), (Give){.device = "cuda:0"});
}
static void ask_odd(Case *c) {
  ask(c, draw_odd(c, 2001, 3999));
}
static void ask_small(Case *c) {
  ask(c, draw_odd(c, 3, 9));
}
static void ask_one(Case *c) {
  ask(c, 1);
}
static void ask_even(Case *c) {
  ask(c, 2 * draw_odd(c, 1001, 1999));
}
static void ask_large(Case *c) {
  ask(c, 2048 * draw_int(c, 49, 58) + 1); // one element more than blocks of any size have
}
static void ask_inspected(Case *c) {
  ask(c, 4096 + draw_odd(c, 1, 99));
}

static float worked(float x, bool odd) {
  float sum = odd ? -x : x;
  for (int k = 0; k < 8; k++)
    sum = odd ? sum * 0.25f - x : sum * 0.5f + x;
  return sum;
}

typedef enum Way { RIGHT, SWAPPED, ALL_EVEN, BY_HALF, WITHOUT_LAST } Way;

static Array *result(Case *c, Way way) {
  const Array *x = given(c, "x");
  Array *out = new_array(c, FY_FLOAT32, x->shape);
  for (int64_t i = 0; i < x->count; i++) {
    const bool odd = way == SWAPPED    ? i % 2 == 0
                     : way == ALL_EVEN ? false
                     : way == BY_HALF  ? i >= (x->count + 1) / 2
                                       : i % 2 == 1;
    out->f32[i] = way == WITHOUT_LAST && i == x->count - 1 ? NAN : worked(x->f32[i], odd);
  }
  return out;
}

static bool judge_values(Case *c) {
  suspect_that(c, refused_empty_grid(c), &EMPTY_GRID);
  suspect_that(c, counts(c)->launches == 0, &NO_KERNEL);
  suspect_array(c, "out", result(c, SWAPPED), &EXCHANGED);
  suspect_array(c, "out", result(c, ALL_EVEN), &ONE_KIND);
  suspect_array(c, "out", result(c, BY_HALF), &HALVES);
  suspect_array(c, "out", result(c, WITHOUT_LAST), &ODD_END);
  suspect_finding(c, "bounds", &OUT_OF_BOUNDS);
  return expect_array(c, "out", result(c, RIGHT), 1e-5) && expect_by_kernel(c) &&
         expect_at_most(c, "launches", counts(c)->launches, 2, &LAUNCHES);
}

static void judge(Case *c) {
  const int64_t n = given(c, "x")->count;
  if (judge_values(c) && !isnan(got_number(c, "even"))) {
    expect_at_most(c, "calls of even_work and odd_work", got_count(c, "even") + got_count(c, "odd"), n,
                   counts(c)->launches == 1 ? &TWICE : NULL);
    expect_at_least(c, "calls of even_work and odd_work", got_count(c, "even") + got_count(c, "odd"), n,
                    &COMPUTED_ON_HOST);
  }
}

static bool expect_whole_warps(Case *c) {
  for (int i = 0; launch_shape(c, i); i++) {
    const int64_t *s = launch_shape(c, i), threads = s[3] * s[4] * s[5];
    if (!expect_that(c, threads % 32 == 0, &PART_OF_A_WARP,
                     "a launch has blocks of %lld threads, which is no multiple of 32", (long long)threads))
      return false;
  }
  return true;
}

static void judge_inspected(Case *c) {
  if (!judge_values(c) || !expect_no_finding(c) || !expect_whole_warps(c))
    return;
  // A warp that is far apart has fewer lanes at the end, too: so that is asked first.
  if (expect_sectors(c, 2.5, &APART))
    expect_lanes(c, 0.9, &BY_LANE);
}

EXERCISE = {
    .id = "21_2_warp_divergence",
    .title = "Warp divergence",
    .after_pass = "A warp that parts goes both ways one after the other; a condition by warps costs nothing.",
    .kind = "kernel",
    .chapter = 21,
    .level = LEVEL_MEDIUM,
    .minutes = 30,
    .essential = true,
    .lesson = LESSON,
    .hints =
        {"Which threads are in a warp? Those with the same i / 32. A branch that only asks for i / 32 does not "
         "diverge.",
         "Let every warp with an even number take 32 even elements, and the next one the 32 odd ones between them.",
         "Or let thread k do both 2 * k and 2 * k + 1, one after the other: there is no branch left but the guard."},
    .functions = {"two_kinds_on_device"},
    .tests = {{.name = "odd", .ask = ask_odd, .judge = judge},
              {.name = "small", .ask = ask_small, .judge = judge},
              {.name = "one element", .ask = ask_one, .judge = judge},
              {.name = "even", .ask = ask_even, .judge = judge},
              {.name = "large", .ask = ask_large, .judge = judge},
              {.name = "lanes at work", .inspect = true, .ask = ask_inspected, .judge = judge_inspected}},
};
