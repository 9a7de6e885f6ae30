// SPDX-License-Identifier: MIT
// Exercise image.2: a two-dimensional grid, and an index that runs backward.
#include "exercise.h"

#define LESSON "docs/20_the_first_kernel.md"

static const Mistake LAUNCHES = {"too many launches", "One launch is enough for all pixels.",
                                 LESSON "#five-versions-of-saxpy"};
static const Mistake ROUNDED_DOWN = {"grid size rounded down",
                                     "The last columns or rows have no thread. Round up in both directions.",
                                     LESSON "#grid-block-guard"};
static const Mistake ROWS = {"rows mirrored", "Keep the row, and mirror the column: columns - 1 - c.",
                             LESSON "#grid-block-guard"};
static const Mistake BOTH = {"rows and columns mirrored", "Keep the row, and mirror only the column.",
                             LESSON "#grid-block-guard"};
static const Mistake COPIED = {"image copied", "Read column columns - 1 - c.", LESSON "#grid-block-guard"};

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

static float right(const Array *in, int64_t r, int64_t c) {
  return in->f32[r * in->shape.size[1] + in->shape.size[1] - 1 - c];
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
  Array *of_rows = new_array(c, FY_FLOAT32, in->shape), *of_both = new_array(c, FY_FLOAT32, in->shape);
  for (int64_t i = 0; i < in->count; i++) {
    of_rows->f32[i] = in->f32[(rows - 1 - i / columns) * columns + i % columns];
    of_both->f32[i] = in->f32[in->count - 1 - i];
  }
  if (rows > 1) {
    suspect_array(c, "out", of_rows, &ROWS);
    suspect_array(c, "out", of_both, &BOTH);
  }
  suspect_array(c, "out", in, &COPIED);
  suspect_that(c, s && (s[0] * s[3] < columns || s[1] * s[4] < rows), &ROUNDED_DOWN);
  if (expect_array(c, "out", want, 0) && expect_by_kernel(c))
    expect_at_most(c, "launches", counts(c)->launches, 2, &LAUNCHES);
}

EXERCISE = {.id = "image_2_flip",
            .title = "Mirror an image",
            .after_pass = "Each thread has a row and a column, and may read any element.",
            .kind = "kernel",
            .chapter = 20,
            .level = LEVEL_EASY,
            .minutes = 15,
            .lesson = LESSON "#grid-block-guard",
            .hints = {"Give each thread a row and a column of a two-dimensional grid.",
                      "The mirrored column of c is columns - 1 - c."},
            .functions = {"flip_on_device"},
            .tests = {{"wide", ask_wide, judge},
                      {"tall", ask_tall, judge},
                      {"small", ask_small, judge},
                      {"one row", ask_row, judge},
                      {"whole blocks", ask_whole, judge}}};
