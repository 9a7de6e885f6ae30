// SPDX-License-Identifier: MIT
// Exercise image.3: a stencil, and its border.
#include "exercise.h"

#define LESSON "docs/20_the_first_kernel.md"

static const Mistake LAUNCHES = {"too many launches", "One launch is enough for all pixels.",
                                 LESSON "#five-versions-of-saxpy"};
static const Mistake ROUNDED_DOWN = {"grid size rounded down",
                                     "The last columns or rows have no thread. Round up in both directions.",
                                     LESSON "#grid-block-guard"};
static const Mistake ZEROS = {"zeros outside of the image", "Clamp the indices: min(max(r, 0), rows - 1).",
                              LESSON "#grid-block-guard"};
static const Mistake SUM = {"sum instead of the mean", "Divide the sum by 9.", LESSON "#grid-block-guard"};
static const Mistake CROSS = {"corner pixels left out", "Sum all nine pixels, the four at the corners as well.",
                              LESSON "#grid-block-guard"};
static const Mistake BORDER = {"border not written", "Pixels at the border have a mean as well.",
                               LESSON "#grid-block-guard"};

static void ask(Case *c, int64_t rows, int64_t columns) {
  give_array(c, "in", draw_array(c, FY_FLOAT32, shape(rows, columns), 1, 9), (Give){.device = "cuda:0"});
}
static void ask_wide(Case *c) {
  ask(c, draw_odd(c, 35, 49), draw_odd(c, 131, 159));
}
static void ask_tall(Case *c) {
  ask(c, draw_odd(c, 131, 159), draw_odd(c, 35, 49));
}
static void ask_small(Case *c) {
  ask(c, 3, 5);
}
static void ask_row(Case *c) {
  ask(c, 1, draw_odd(c, 1025, 1199));
}
static void ask_whole(Case *c) {
  ask(c, 64, 128);
}

// The sum of the pixels around (r, c), of nine or of five.
static float around(const Array *in, int64_t r, int64_t c, bool clamped, bool corners) {
  const int64_t rows = in->shape.size[0], columns = in->shape.size[1];
  float sum = 0;
  for (int64_t y = r - 1; y <= r + 1; y++)
    for (int64_t x = c - 1; x <= c + 1; x++) {
      const int64_t inside_y = y < 0      ? 0
                               : y < rows ? y
                                          : rows - 1,
                    inside_x = x < 0         ? 0
                               : x < columns ? x
                                             : columns - 1;
      if ((clamped || (y == inside_y && x == inside_x)) && (corners || y == r || x == c))
        sum += in->f32[inside_y * columns + inside_x];
    }
  return sum;
}
static float right(const Array *in, int64_t r, int64_t c) {
  return around(in, r, c, true, true) / 9;
}
// Every pixel of the border is as it was before, and no other.
static bool only_border_left(const Case *c) {
  const Array *out = got(c, "out");
  for (int64_t i = 0; out && out->shape.rank == 2 && i < out->count; i++) {
    const int64_t y = i / out->shape.size[1], x = i % out->shape.size[1];
    const bool border = y == 0 || x == 0 || y == out->shape.size[0] - 1 || x == out->shape.size[1] - 1;
    if (array_is_filling(out, i) != border)
      return false;
  }
  return out != NULL;
}

static void judge(Case *c) {
  const Array *in = given(c, "in");
  const int64_t rows = in->shape.size[0], columns = in->shape.size[1], *s = launch_shape(c, 0);
  Array *want = new_array(c, FY_FLOAT32, in->shape);
  for (int64_t i = 0; i < in->count; i++)
    want->f32[i] = right(in, i / columns, i % columns);
  suspect_faults(c);
  suspect_sure(c, refused_empty_grid(c), &ROUNDED_DOWN);
  suspect_that(c, counts(c)->launches == 0, &NO_KERNEL);
  Array *zeros = new_array(c, FY_FLOAT32, in->shape), *sum = new_array(c, FY_FLOAT32, in->shape);
  Array *cross = new_array(c, FY_FLOAT32, in->shape);
  for (int64_t i = 0; i < in->count; i++) {
    zeros->f32[i] = around(in, i / columns, i % columns, false, true) / 9;
    sum->f32[i] = 9 * want->f32[i];
    cross->f32[i] = around(in, i / columns, i % columns, true, false) / 5;
  }
  suspect_array(c, "out", zeros, &ZEROS);
  suspect_array(c, "out", sum, &SUM);
  suspect_array(c, "out", cross, &CROSS);
  suspect_that(c, only_border_left(c), &BORDER);
  suspect_that(c, s && (s[0] * s[3] < columns || s[1] * s[4] < rows), &ROUNDED_DOWN);
  if (expect_array(c, "out", want, 1e-5) && expect_by_kernel(c))
    expect_at_most(c, "launches", counts(c)->launches, 2, &LAUNCHES);
}

EXERCISE = {
    .id = "image_3_box_blur",
    .title = "Box blur",
    .after_pass = "Neighboring threads read the same pixels. Lesson 23 keeps them in shared memory.",
    .kind = "kernel",
    .chapter = 20,
    .level = LEVEL_MEDIUM,
    .minutes = 30,
    .lesson = LESSON "#grid-block-guard",
    .hints = {"Let each thread sum the nine pixels around its own.", "At the border, clamp the indices to the image."},
    .functions = {"blur_on_device"},
    .tests = {{"wide", ask_wide, judge},
              {"tall", ask_tall, judge},
              {"small", ask_small, judge},
              {"one row", ask_row, judge},
              {"whole blocks", ask_whole, judge}}};
