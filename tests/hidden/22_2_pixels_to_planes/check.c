// SPDX-License-Identifier: MIT
// Exercise 22.2: a picture taken apart, each pixel loaded whole.
#include "exercise.h"
#include <math.h>

#define LESSON "docs/22_global_memory.md#pixels-or-planes"

static const Mistake MEMBERS = {
    "pixels loaded member by member",
    "Neighbouring lanes read every fourth float: 16 sectors for 4 sectors' worth, three times over. Load the "
    "pixel whole, as a float4.",
    LESSON};
static const Mistake THREE = {"pixels taken for three floats",
                              "A pixel has four floats, the fourth being its alpha: pixel i begins at pixels + 4 * i.",
                              LESSON};
static const Mistake ORDER = {"colours exchanged",
                              "The four floats of a pixel are red, green, blue and alpha, in this order.", LESSON};
static const Mistake PLANES = {"planes read as planes",
                               "The pixels lie one after another, four floats each. Red i is not pixels[i].", LESSON};
static const Mistake MULTIPLIED = {"alpha multiplied in", "Colours are only moved: nothing is to be done with alpha.",
                                   LESSON};
static const Mistake ROUNDED_DOWN = {
    "blocks rounded down", "n / threads leaves the last, partial block out. Round up: (n + threads - 1) / threads.",
    "docs/20_the_first_kernel.md#grid-block-guard"};
static const Mistake SEVERAL = {"a launch per colour",
                                "Three launches read all the pixels three times. One writes all planes.", LESSON};

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
  ask(c, 1024 * draw_int(c, 300, 330) + 1); // one pixel more than whole blocks have
}
static void ask_inspected(Case *c) {
  ask(c, 2048 + draw_odd(c, 1, 99));
}

typedef enum Way { RIGHT, OF_THREE, BACKWARDS, AS_PLANES, TIMES_ALPHA, WHOLE_BLOCKS } Way;

static Array *plane(Case *c, int colour, Way way, int64_t threads) {
  const Array *pixels = given(c, "pixels");
  const int64_t n = pixels->shape.size[0];
  Array *out = new_array(c, FY_FLOAT32, shape(n));
  for (int64_t i = 0; i < n; i++) {
    const int64_t at = way == OF_THREE    ? 3 * i + colour
                       : way == BACKWARDS ? 4 * i + 2 - colour
                       : way == AS_PLANES ? colour * n + i
                                          : 4 * i + colour;
    out->f32[i] = way == WHOLE_BLOCKS && i >= n / threads * threads ? NAN : pixels->f32[at];
    if (way == TIMES_ALPHA)
      out->f32[i] *= pixels->f32[4 * i + 3];
  }
  return out;
}

static bool judge_values(Case *c) {
  static const char *const names[] = {"red", "green", "blue"};
  const int64_t n = given(c, "pixels")->shape.size[0];
  suspect_that(c, refused_empty_grid(c), &ROUNDED_DOWN);
  suspect_that(c, counts(c)->launches == 0, &NO_KERNEL);
  suspect_array(c, "red", plane(c, 0, OF_THREE, 0), &THREE);
  suspect_array(c, "red", plane(c, 0, BACKWARDS, 0), &ORDER);
  suspect_array(c, "red", plane(c, 0, AS_PLANES, 0), &PLANES);
  suspect_array(c, "red", plane(c, 0, TIMES_ALPHA, 0), &MULTIPLIED);
  for (int64_t threads = 32; threads <= 1024; threads *= 2)
    if (n > threads)
      suspect_array(c, "red", plane(c, 0, WHOLE_BLOCKS, threads), &ROUNDED_DOWN);
  suspect_that(c, is_of_another_turn(c, got_shaped(c, "red", shape(n)), given(c, "pixels")), &RACE);
  suspect_finding(c, "race-block", &RACE);
  suspect_finding(c, "race-warp", &RACE);
  for (int k = 0; k < 3; k++)
    if (!expect_array(c, names[k], plane(c, k, RIGHT, 0), 0))
      return false;
  return expect_by_kernel(c) && expect_at_most(c, "launches", counts(c)->launches, 1, &SEVERAL);
}

static void judge(Case *c) {
  judge_values(c);
}

static void judge_inspected(Case *c) {
  if (judge_values(c) && expect_no_finding(c))
    // Of floats 16 bytes apart a warp wants four times the sectors; whole pixels that lie apart are another mistake.
    expect_sectors(c, 1.5, inspected(c, LOADED_SECTORS, (Where){0}) > 3 ? &MEMBERS : NULL);
}

EXERCISE = {
    .id = "22_2_pixels_to_planes",
    .title = "Array of structures to structure of arrays",
    .after_pass = "One load of 16 bytes a thread, and stores that are neighbours: structures become planes.",
    .kind = "kernel",
    .chapter = 22,
    .level = LEVEL_MEDIUM,
    .minutes = 30,
    .lesson = LESSON,
    .hints = {"A thread for each pixel: one load of 16 bytes, three stores.",
              "((const float4 *)pixels)[i] is pixel i; its members are x, y, z and w.",
              "The copy has to be of the whole float4: float4 p = ...; then red[i] = p.x;"},
    .functions = {"planes_on_device"},
    // Looked at first: what was not waited for is a finding there, and elsewhere only a wrong number.
    .tests = {{.name = "what its warps ask for", .inspect = true, .ask = ask_inspected, .judge = judge_inspected},
              {.name = "small", .ask = ask_small, .judge = judge},
              {.name = "odd", .ask = ask_odd, .judge = judge},
              {.name = "whole blocks", .ask = ask_exact, .judge = judge},
              {.name = "large", .ask = ask_large, .judge = judge, .schedules = 3}},
};
