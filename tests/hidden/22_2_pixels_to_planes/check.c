// SPDX-License-Identifier: MIT
// Exercise 22.2: an image split into planes, each pixel loaded whole.
#include "exercise.h"
#include <math.h>

#define LESSON "docs/22_global_memory.md#array-of-structures-or-structure-of-arrays"

static const Mistake MEMBERS = {
    "array-of-structures access",
    "Neighboring lanes load every fourth float, so each request takes 16 sectors instead of "
    "4. Load the whole pixel as a float4.",
    LESSON};
static const Mistake UNCOALESCED = {
    "uncoalesced access",
    "Neighboring lanes access pixels that are far apart. Give neighboring threads neighboring pixels.",
    "docs/22_global_memory.md#strided-access"};
static const Mistake THREE = {"stride of three floats",
                              "A pixel has four floats; the fourth is alpha. Pixel i starts at pixels + 4 * i.",
                              LESSON};
static const Mistake ORDER = {"red and blue swapped", "The floats of a pixel are red, green, blue, alpha.", LESSON};
static const Mistake PLANES = {
    "input read as planes",
    "pixels contains one pixel after the other, with four floats each. red[i] is pixels[4 * i].", LESSON};
static const Mistake MULTIPLIED = {
    "multiplied by alpha", "Your kernel multiplies the colors by alpha. Copy the colors unchanged, and ignore alpha.",
    LESSON};
static const Mistake ROUNDED_DOWN = {"grid size rounded down",
                                     "n / threads rounds down, so the last pixels have no thread. Round up: (n + "
                                     "threads - 1) / threads.",
                                     "docs/20_the_first_kernel.md#grid-block-guard"};
static const Mistake AGAIN = {"pixels loaded more than once",
                              "All loads together access more than 1.5 x the sectors of pixels. Load each pixel once, "
                              "and write its values to all three planes.",
                              LESSON};

static void ask(Case *c, int64_t n) {
  give_array(c, "pixels", draw_array(c, FY_FLOAT32, shape(n, 4), 2, 9), (Give){.device = "cuda:0"});
}
static void ask_small(Case *c) {
  ask(c, draw_odd(c, 3, 29));
}
static void ask_odd(Case *c) {
  ask(c, draw_odd(c, 1025, 1999));
}
static void ask_exact(Case *c) {
  ask(c, 2048);
}
static void ask_large(Case *c) {
  ask(c, 1024 * draw_int(c, 300, 330) + 1); // one pixel more than whole blocks
}
static void ask_inspected(Case *c) {
  ask(c, 2048 + draw_odd(c, 1, 99));
}

typedef enum Way { RIGHT, OF_THREE, BACKWARDS, AS_PLANES, TIMES_ALPHA, SMALL_GRID } Way;

static Array *plane(Case *c, int color, Way way, int64_t threads) {
  const Array *pixels = given(c, "pixels");
  const int64_t n = pixels->shape.size[0];
  Array *out = new_array(c, FY_FLOAT32, shape(n));
  for (int64_t i = 0; i < n; i++) {
    const int64_t at = way == OF_THREE    ? 3 * i + color
                       : way == BACKWARDS ? 4 * i + 2 - color
                       : way == AS_PLANES ? color * n + i
                                          : 4 * i + color;
    out->f32[i] = way == SMALL_GRID && i >= threads ? NAN : pixels->f32[at];
    if (way == TIMES_ALPHA)
      out->f32[i] *= pixels->f32[4 * i + 3];
  }
  return out;
}

static bool judge_values(Case *c) {
  static const char *const names[] = {"red", "green", "blue"};
  const int64_t n = given(c, "pixels")->shape.size[0], *s = launch_shape(c, 0);
  suspect_sure(c, refused_empty_grid(c), &ROUNDED_DOWN);
  suspect_that(c, counts(c)->launches == 0 && !refused_shape(c), &NO_KERNEL);
  suspect_array(c, "red", plane(c, 0, OF_THREE, 0), &THREE);
  suspect_array(c, "red", plane(c, 0, BACKWARDS, 0), &ORDER);
  suspect_array(c, "red", plane(c, 0, AS_PLANES, 0), &PLANES);
  suspect_array(c, "red", plane(c, 0, TIMES_ALPHA, 0), &MULTIPLIED);
  if (s && s[0] * s[3] < n && s[0] == n / s[3])
    suspect_array(c, "red", plane(c, 0, SMALL_GRID, s[0] * s[3]), &ROUNDED_DOWN);
  suspect_finding(c, "race-block", &RACE);
  suspect_finding(c, "race-warp", &RACE);
  for (int k = 0; k < 3; k++)
    if (!expect_array(c, names[k], plane(c, k, RIGHT, 0), 0))
      return false;
  return expect_by_kernel(c);
}

static void judge(Case *c) {
  judge_values(c);
}

static void judge_inspected(Case *c) {
  if (!judge_values(c) || !expect_no_finding(c))
    return;
  const double ratio = inspected(c, LOADED_SECTORS, (Where){0}); // 4 of every fourth float
  if (expect_sectors(c, 2, ratio > 3 && ratio < 4.5 ? &MEMBERS : &UNCOALESCED))
    expect_inspected(c, SECTORS_LOADED, (Where){.in_all = true}, (double)given(c, "pixels")->count / 8 * 1.5, &AGAIN);
}

EXERCISE = {
    .id = "22_2_pixels_to_planes",
    .title = "Array of structures to planes",
    .after_pass =
        "If each thread loads its structure as a float4, the loads from an array of structures are coalesced.",
    .kind = "kernel",
    .chapter = 22,
    .level = LEVEL_MEDIUM,
    .minutes = 30,
    .lesson = LESSON,
    .stars = {{"each pixel is loaded once: at most 1.5 x the sectors of pixels", {&AGAIN}}},
    .hints = {"Use one thread per pixel. The four floats of a pixel are next to each other. Can a thread load all of "
              "them with one instruction?",
              "((const float4 *)pixels)[i] is pixel i; its members are x, y, z and w.",
              "Load the whole pixel first: float4 p = ((const float4 *)pixels)[i]. Then store its members, for example "
              "red[i] = p.x."},
    .functions = {"planes_on_device"},
    // The inspected test is first: a race is a finding there, and only a wrong number elsewhere.
    .tests = {{.name = "values and sectors", .inspect = true, .ask = ask_inspected, .judge = judge_inspected},
              {.name = "few pixels", .ask = ask_small, .judge = judge},
              {.name = "odd number of pixels", .ask = ask_odd, .judge = judge},
              {.name = "whole blocks", .ask = ask_exact, .judge = judge},
              {.name = "large", .ask = ask_large, .judge = judge, .schedules = 3}},
};
