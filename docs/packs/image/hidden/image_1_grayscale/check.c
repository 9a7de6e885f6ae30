// SPDX-License-Identifier: MIT
// Exercise image.1: interleaved values, one thread for each pixel.
#include "exercise.h"

#define LESSON "docs/20_the_first_kernel.md"

static const Mistake PLANES = {"planes instead of interleaved values",
                               "The three values of a pixel are neighbors: rgb[3 * i], rgb[3 * i + 1], rgb[3 * i + 2].",
                               LESSON "#grid-block-guard"};
static const Mistake MEAN = {"equal weights", "Green counts twice: (r + 2 g + b) / 4.", LESSON "#grid-block-guard"};
static const Mistake ROUNDED_DOWN = {"grid size rounded down",
                                     "The last pixels have no thread. Round up: (pixels + threads - 1) / threads.",
                                     LESSON "#grid-block-guard"};
static const Mistake LAUNCHES = {"too many launches", "One launch is enough for all pixels.",
                                 LESSON "#five-versions-of-saxpy"};

static void ask(Case *c, int64_t pixels) {
  give_array(c, "rgb", draw_array(c, FY_FLOAT32, shape(3 * pixels), 0, 1), (Give){.device = "cuda:0"});
  give_number(c, "pixels", (double)pixels);
}
static void ask_whole(Case *c) {
  ask(c, 1024);
}
static void ask_odd(Case *c) {
  ask(c, draw_odd(c, 1025, 1999));
}
static void ask_few(Case *c) {
  ask(c, draw_odd(c, 3, 29));
}
static void ask_large(Case *c) {
  ask(c, draw_odd(c, 90001, 99999));
}

static void judge(Case *c) {
  const Array *rgb = given(c, "rgb");
  const int64_t n = rgb->count / 3, *s = launch_shape(c, 0);
  Array *want = new_array(c, FY_FLOAT32, shape(n)), *planes = new_array(c, FY_FLOAT32, shape(n));
  Array *mean = new_array(c, FY_FLOAT32, shape(n));
  for (int64_t i = 0; i < n; i++) {
    const float *p = rgb->f32 + 3 * i;
    want->f32[i] = 0.25f * p[0] + 0.5f * p[1] + 0.25f * p[2];
    planes->f32[i] = 0.25f * rgb->f32[i] + 0.5f * rgb->f32[n + i] + 0.25f * rgb->f32[2 * n + i];
    mean->f32[i] = (p[0] + p[1] + p[2]) / 3;
  }
  suspect_faults(c);
  suspect_sure(c, refused_empty_grid(c), &ROUNDED_DOWN);
  suspect_that(c, counts(c)->launches == 0, &NO_KERNEL);
  suspect_array(c, "out", planes, &PLANES);
  suspect_array(c, "out", mean, &MEAN);
  suspect_that(c, s && s[0] * s[3] < n, &ROUNDED_DOWN);
  if (expect_array(c, "out", want, 1e-5) && expect_by_kernel(c))
    expect_at_most(c, "launches", counts(c)->launches, 2, &LAUNCHES);
}

EXERCISE = {.id = "image_1_grayscale",
            .title = "Grayscale",
            .after_pass = "The values of a pixel are neighbors in memory, so thread i reads at 3 * i.",
            .kind = "kernel",
            .chapter = 20,
            .level = LEVEL_EASY,
            .minutes = 15,
            .lesson = LESSON "#grid-block-guard",
            .hints = {"Thread i computes pixel i. Which index does it have in the grid?",
                      "The values of pixel i are rgb[3 * i], rgb[3 * i + 1] and rgb[3 * i + 2]."},
            .functions = {"gray_on_device"},
            .tests = {{"whole blocks", ask_whole, judge},
                      {"several blocks, odd", ask_odd, judge},
                      {"less than a block", ask_few, judge},
                      {"large", ask_large, judge}}};
