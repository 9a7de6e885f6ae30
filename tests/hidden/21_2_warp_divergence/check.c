// SPDX-License-Identifier: MIT
// Exercise 21.2: two kinds of work, without warp divergence.
#include "exercise.h"
#include <math.h>

#define LESSON "docs/21_the_machine.md#warp-divergence"

static const Mistake DIVERGENCE = {
    "warp divergence",
    "The lanes of a warp take different branches, so the warp executes both with half of its lanes inactive. Give each "
    "warp only one kind of element, or let each thread compute one of each kind.",
    LESSON};
static const Mistake SMALL_BLOCKS = {
    "block smaller than a warp",
    "A warp has 32 lanes. In a smaller block, some of them are always idle. Use a multiple of 32 threads per block.",
    "docs/21_the_machine.md#warps"};
static const Mistake TWICE = {"redundant work",
                              "Your kernel calls both functions for an element and discards one of the results. Call "
                              "only the function that the element needs.",
                              LESSON};
static const Mistake EXCHANGED = {
    "even and odd swapped", "Apply even_work to elements 0, 2, 4, ... and odd_work to elements 1, 3, 5, ...", LESSON};
static const Mistake ONE_KIND = {
    "odd elements ignored", "Your kernel applies even_work to all elements. Apply odd_work to elements 1, 3, 5, ...",
    LESSON};
static const Mistake HALVES = {"halves instead of even and odd",
                               "Your kernel applies even_work to the first half of the array and odd_work to the "
                               "second. Whether an element is even or odd depends on its index: i % 2.",
                               LESSON};
static const Mistake ODD_END = {
    "last element left out",
    "The last element was not written. If n is odd, there are (n + 1) / 2 even elements, one more than odd elements.",
    LESSON};
static const Mistake UNCOALESCED = {"uncoalesced access",
                                    "Neighboring lanes access elements that are far apart, each in its own sector. Let "
                                    "neighboring lanes compute neighboring elements of the same kind.",
                                    "docs/22_global_memory.md#sectors-and-coalescing"};
static const Mistake EMPTY_GRID = {
    "empty grid",
    "For n = 1 there are no odd elements. A grid of 0 blocks is an invalid configuration, so skip that launch.",
    "docs/20_the_first_kernel.md#grid-block-guard"};

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
  ask(c, 2048 * draw_int(c, 49, 58) + 1); // one element more than whole blocks
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
  const int64_t n = given(c, "x")->count;
  suspect_sure(c, n == 1 && refused_empty_grid(c), &EMPTY_GRID);
  suspect_that(c, counts(c)->launches == 0 && !refused_shape(c), &NO_KERNEL);
  suspect_array(c, "out", result(c, SWAPPED), &EXCHANGED);
  if (n > 1) {
    suspect_array(c, "out", result(c, ALL_EVEN), &ONE_KIND);
    suspect_array(c, "out", result(c, BY_HALF), &HALVES);
    suspect_array(c, "out", result(c, WITHOUT_LAST), &ODD_END);
  }
  suspect_finding(c, "bounds", &OUT_OF_BOUNDS);
  return expect_array(c, "out", result(c, RIGHT), 1e-5) && expect_by_kernel(c);
}

static void judge(Case *c) {
  if (judge_values(c) && !isnan(got_number(c, "even")))
    expect_at_most(c, "calls of even_work and odd_work", got_count(c, "even") + got_count(c, "odd"),
                   given(c, "x")->count, &TWICE);
}

static void judge_inspected(Case *c) {
  if (!judge_values(c) || !expect_no_finding(c))
    return;
  bool small = false;
  for (int i = 0; launch_shape(c, i); i++) {
    const int64_t *s = launch_shape(c, i);
    small |= s[3] * s[4] * s[5] < 32;
  }
  expect_lanes(c, 0.75, small ? &SMALL_BLOCKS : &DIVERGENCE);
  expect_sectors(c, 3, &UNCOALESCED);
}

EXERCISE = {
    .id = "21_2_warp_divergence",
    .title = "Warp divergence",
    .after_pass =
        "A divergent warp executes both branches; with a warp-uniform condition, it executes only one of them.",
    .kind = "kernel",
    .chapter = 21,
    .level = LEVEL_MEDIUM,
    .minutes = 30,
    .essential = true,
    .lesson = LESSON,
    .stars = {{"only one of the two functions is called for each element", {&TWICE}},
              {"coalesced: at most 3 x the ideal sectors per request", {&UNCOALESCED}}},
    .hints = {"Threads with the same threadIdx.x / 32 are in the same warp. A branch whose condition depends only on "
              "this number does not diverge.",
              "Let each even-numbered warp compute 32 even elements, and let the next warp compute the 32 odd elements "
              "between them.",
              "Alternatively, let thread k compute elements 2 * k and 2 * k + 1, one after the other. The only "
              "branches left are bounds checks."},
    .functions = {"two_kinds_on_device"},
    .tests = {{.name = "few elements", .ask = ask_small, .judge = judge},
              {.name = "one element", .ask = ask_one, .judge = judge},
              {.name = "even number of elements", .ask = ask_even, .judge = judge},
              {.name = "odd number of elements", .ask = ask_odd, .judge = judge},
              {.name = "large", .ask = ask_large, .judge = judge},
              {.name = "active lanes", .inspect = true, .ask = ask_inspected, .judge = judge_inspected}},
};
