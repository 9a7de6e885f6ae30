// SPDX-License-Identifier: MIT
// Exercise 26.4, open: right for every size, without a finding, and scored by its modelled time. The elements are small multiples of a half,
// so that every order of adding gives the same.
#include "exercise.h"
#include <string.h>

#define LESSON "docs/26_the_matrix_product.md"

static const Mistake NOT_FASTER = {"not faster than what was handed out",
                                   "./ferry inspect --gpu gtx1650 says what limits the kernel. Count how many loads "
                                   "there are for each multiply-add, and where they go.",
                                   "docs/26_the_matrix_product.md#what-the-steps-are-worth"};
static const Mistake DOWN_COLUMNS = {"global memory read or written down columns",
                                     "Neighbouring lanes touch elements that are a row apart, a sector for each: let "
                                     "threadIdx.x count columns.",
                                     "docs/26_the_matrix_product.md#a-thread-for-each-element"};
static const Mistake UNORDERED = {"a barrier is missing",
                                  "Two barriers a step: none may use a tile before it is whole, nor overwrite it while "
                                  "others read.",
                                  "docs/26_the_matrix_product.md#tiles-in-shared-memory"};
static const Mistake LAST_TILE = {"the last, partial tile left out",
                                  "k is hardly ever a multiple of the step: beyond the matrices there are zeros.",
                                  "docs/26_the_matrix_product.md#tiles-in-shared-memory"};
static const Mistake EDGES = {"the edges left out",
                              "m and n are hardly ever multiples of the tile: round the grid up, and guard.",
                              "docs/26_the_matrix_product.md#tiles-in-shared-memory"};
static const Mistake TRANSPOSED = {"b taken for its transpose", "Element (p, j) of b is b[p * n + j].",
                                   "docs/26_the_matrix_product.md#a-thread-for-each-element"};
static const Mistake ONE_SIZE = {"slow at sizes beside the scored one",
                                 "It has to be good there, too: whole tiles, and zeros beyond the matrices.",
                                 "docs/26_the_matrix_product.md#what-the-steps-are-worth"};

enum { ROWS = 256, COLUMNS = 896, INNER = 128 };
static const Scored SCORED = {.gpu = "gtx1650",
                              .size = "(256, 128) times (128, 896) floats",
                              .blocks = 16,
                              .naive = 178e-6,
                              .reference = 34.5e-6,
                              .steps = {1.1, 2.2, 3.5, 4.5, 5}};

static void ask(Case *c, int64_t m, int64_t n, int64_t k) {
  give_array(c, "a", draw_steps(c, shape(m, k), -2, 2, 0.5), (Give){.device = "cuda:0"});
  give_array(c, "b", draw_steps(c, shape(k, n), -2, 2, 0.5), (Give){.device = "cuda:0"});
}
static void ask_odd(Case *c) {
  ask(c, draw_odd(c, 33, 149), draw_odd(c, 33, 149), draw_odd(c, 17, 43));
}
static void ask_looked_at(Case *c) {
  ask(c, draw_odd(c, 33, 63), 4 * draw_odd(c, 9, 17), 4 * draw_odd(c, 5, 7)); // in fours, and not in eights
}
// Whole tiles in two of the three: each has to be asked for.
static void ask_rows_alone(Case *c) {
  ask(c, draw_odd(c, 65, 127), 128, 64);
}
static void ask_columns_alone(Case *c) {
  ask(c, 128, draw_odd(c, 65, 127), 64);
}
static void ask_inner_alone(Case *c) {
  ask(c, 128, 128, draw_odd(c, 33, 63));
}
// Rows of one of the two matrices are whole fours, and rows of the other are not, although many other numbers divide them.
static void ask_odd_rows_of_a(Case *c) {
  ask(c, draw_int(c, 3, 9), 4 * draw_odd(c, 5, 9), 315);
}
static void ask_even_rows_of_a(Case *c) {
  ask(c, draw_int(c, 3, 9), 4 * draw_odd(c, 5, 9), 630);
}
static void ask_odd_rows_of_b(Case *c) {
  ask(c, draw_int(c, 3, 9), 315, 4 * draw_odd(c, 5, 9));
}
static void ask_even_rows_of_b(Case *c) {
  ask(c, draw_int(c, 3, 9), 630, 4 * draw_odd(c, 5, 9));
}
// No tile is ever full: what nobody wrote to it is no number.
static void ask_short(Case *c) {
  ask(c, draw_odd(c, 17, 33), draw_odd(c, 17, 33), draw_int(c, 1, 7));
}
static void ask_vector(Case *c) {
  ask(c, 1, draw_odd(c, 5, 99), 4 * draw_int(c, 4, 9));
}
static void ask_scored(Case *c) {
  ask(c, ROWS, COLUMNS, INNER);
}
static void ask_beside(Case *c) {
  ask(c, ROWS - draw_odd(c, 1, 15), COLUMNS - draw_odd(c, 1, 31), INNER - draw_odd(c, 1, 7));
}

// The product over p = 0 .. inner-1; with b taken as it is or for its transpose.
static Array *product(Case *c, int64_t inner, bool transposed) {
  const Array *a = given(c, "a"), *b = given(c, "b");
  const int64_t m = a->shape.size[0], k = a->shape.size[1], n = b->shape.size[1];
  Array *out = new_array(c, FY_FLOAT32, shape(m, n));
  for (int64_t i = 0; i < m; i++)
    for (int64_t p = 0; p < inner; p++) {
      const float left = a->f32[i * k + p], *right = &b->f32[transposed ? p : p * n];
      float *row = &out->f32[i * n];
      for (int64_t j = 0; j < n && !transposed; j++) // side by side: a score's product is looked up in each run
        row[j] += left * right[j];
      for (int64_t j = 0; j < n && transposed; j++)
        row[j] += left * right[j * k];
    }
  return out;
}

static bool inside_is_right(const Array *out, const Array *want, int64_t tile) {
  const int64_t m = want->shape.size[0], n = want->shape.size[1];
  for (int64_t i = 0; out && i < m / tile * tile; i++)
    if (memcmp(&out->f32[i * n], &want->f32[i * n], (size_t)(n / tile * tile) * sizeof(float)) != 0)
      return false;
  return out && m >= tile && n >= tile;
}

static bool judge_values(Case *c) {
  const Array *a = given(c, "a"), *b = given(c, "b");
  const int64_t k = a->shape.size[1], n = b->shape.size[1];
  const Array *want = product(c, k, false), *out = got_shaped(c, "c", want->shape);
  const bool wrong = out && memcmp(out->f32, want->f32, (size_t)want->count * sizeof(float)) != 0;
  suspect_that(c, counts(c)->launches == 0, &NO_KERNEL);
  suspect_faults(c);
  suspect_that(c, wrong && (case_schedule(c) == SCHEDULE_THREADS_DOWN || case_schedule(c) == SCHEDULE_WITHIN_BLOCKS),
               &UNORDERED);
  suspect_finding(c, "race", &UNORDERED);
  for (int64_t step = 8; wrong && step <= 32; step *= 2) // each of these products takes as long as a run
    if (k > step && k % step)
      suspect_array(c, "c", product(c, k / step * step, false), &LAST_TILE);
  if (wrong && (n == k || (k < n && n <= 160)))
    suspect_array(c, "c", product(c, k, true), &TRANSPOSED);
  suspect_that(c, wrong && (inside_is_right(out, want, 16) || inside_is_right(out, want, 32)), &EDGES);
  return expect_array(c, "c", want, 0) && expect_by_kernel(c);
}

static void judge(Case *c) {
  judge_values(c);
}
static void judge_inspected(Case *c) {
  if (judge_values(c))
    expect_no_finding(c);
}

static void judge_score(Case *c, bool beside, const Mistake *slow) {
  const Array *a = given(c, "a"), *b = given(c, "b");
  const double m = (double)a->shape.size[0], k = (double)a->shape.size[1], n = (double)b->shape.size[1];
  if (!judge_values(c))
    return;
  suspect_that(c, !beside && inspected(c, LOADED_SECTORS, (Where){0}) > 2, &DOWN_COLUMNS);
  expect_score(c,
               (Least){.loaded = 4 * (m * k + k * n),
                       .stored = 4 * m * n,
                       .computed = m * n * k,
                       .share = beside ? m * n * k / ((double)ROWS * COLUMNS * INNER) : 0},
               slow);
}
static void judge_scored(Case *c) {
  judge_score(c, false, &NOT_FASTER);
}
static void judge_beside(Case *c) {
  judge_score(c, true, &ONE_SIZE);
}

EXERCISE = {
    .id = "26_4_fast_matmul",
    .title = "Performance challenge: matrix multiplication",
    .after_pass = "Each level, tile, registers, vectors, raises how often a word is used once it is near.",
    .kind = "kernel",
    .chapter = 26,
    .level = LEVEL_HARD,
    .minutes = 90,
    .lesson = LESSON "#what-the-steps-are-worth",
    .open = true,
    .hints = {"Two loads for each multiply-add: who else wants the same words?",
              "Tiles in shared memory, two barriers a step; then look at what limits it now.",
              "A thread with 8 x 8 elements reads 16 words for 64 multiply-adds. Unroll all loops about its sums.",
              "What moves can be a float4: store a's tile turned, and give a thread four pieces of 4 x 4."},
    .functions = {"product_on_device"},
    .tests = {{.name = "scored", .ask = ask_scored, .judge = judge_scored, .scored = &SCORED},
              {.name = "sizes beside it", .ask = ask_beside, .judge = judge_beside, .scored = &SCORED},
              {.name = "odd sizes", .ask = ask_odd, .judge = judge},
              {.name = "looked at", .ask = ask_looked_at, .judge = judge_inspected, .inspect = true},
              {.name = "m alone is odd", .ask = ask_rows_alone, .judge = judge, .schedules = 2},
              {.name = "n alone is odd", .ask = ask_columns_alone, .judge = judge, .schedules = 2},
              {.name = "k alone is odd", .ask = ask_inner_alone, .judge = judge, .schedules = 2},
              {.name = "k alone no multiple of 4, odd", .ask = ask_odd_rows_of_a, .judge = judge, .schedules = 1},
              {.name = "k alone no multiple of 4, even", .ask = ask_even_rows_of_a, .judge = judge, .schedules = 1},
              {.name = "n alone no multiple of 4, odd", .ask = ask_odd_rows_of_b, .judge = judge, .schedules = 1},
              {.name = "n alone no multiple of 4, even", .ask = ask_even_rows_of_b, .judge = judge, .schedules = 1},
              {.name = "short sums, looked at", .ask = ask_short, .judge = judge_inspected, .inspect = true},
              {.name = "one row", .ask = ask_vector, .judge = judge}},
};
