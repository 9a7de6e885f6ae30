// SPDX-License-Identifier: MIT
// Exercise 27.4, a performance challenge: right for every size, without a finding, and scored by its modeled time. The elements are small
// multiples of a half: every order of adding is exact.
#include "exercise.h"
#include <string.h>

#define LESSON "docs/27_the_matrix_product.md"

static const Mistake NOT_FASTER = {"no speedup",
                                   "./ferry inspect --gpu v100 shows what limits the kernel. Count the loads per "
                                   "multiply-add, and note which memory they access.",
                                   LESSON "#what-each-step-gains"};
static const Mistake UNCOALESCED = {
    "uncoalesced access",
    "Neighboring lanes load elements of different rows, each from its own sector. Let threadIdx.x select the column.",
    LESSON "#naive-kernel-one-thread-per-element"};
static const Mistake NO_BARRIER = {"missing barrier",
                                   "Each step needs two barriers: one after the tiles are written, and one before the "
                                   "next step overwrites them.",
                                   LESSON "#tiling-in-shared-memory"};
static const Mistake LAST_TILE = {"number of tiles rounded down",
                                  "k is not always a multiple of the step, so the last products are missing. Round the "
                                  "number of steps up, and pad the tiles with zeros.",
                                  LESSON "#tiling-in-shared-memory"};
static const Mistake EDGES = {
    "partial edge tiles",
    "m and n are not always multiples of the tile size. Round the grid size up, and check the bounds.",
    LESSON "#tiling-in-shared-memory"};
static const Mistake TRANSPOSED = {
    "transposed operand", "The kernel reads b as if it were stored transposed. Element (p, j) of b is b[p * n + j].",
    LESSON "#naive-kernel-one-thread-per-element"};
static const Mistake ONE_SIZE = {
    "slow at other sizes",
    "Near the scored size, your kernels are slower than the original. Use the fast kernels for partial tiles as well.",
    LESSON "#what-each-step-gains"};

enum { ROWS = 1024, COLUMNS = 1280, INNER = 128 };
static const Scored SCORED = {.gpu = "v100",
                              .size = "(1024, 128) times (128, 1280) floats",
                              .blocks = 16,
                              .naive = 173e-6,
                              .reference = 37.7e-6,
                              .steps = {1.2, 2.2, 3.5, 4.2, 4.5}};
// At sizes near the scored one it must not be slower than the original, by more than what partial tiles cost.
static const Scored NEAR = {
    .gpu = "v100", .size = "near it", .blocks = 16, .naive = 173e-6, .reference = 37.7e-6, .steps = {0.9}};

static void ask(Case *c, int64_t m, int64_t n, int64_t k) {
  give_array(c, "a", draw_steps(c, shape(m, k), -2, 2, 0.5), (Give){.device = "cuda:0"});
  give_array(c, "b", draw_steps(c, shape(k, n), -2, 2, 0.5), (Give){.device = "cuda:0"});
}
static void ask_odd(Case *c) {
  ask(c, draw_odd(c, 33, 149), draw_odd(c, 33, 149), draw_odd(c, 17, 43));
}
static void ask_inspected(Case *c) {
  ask(c, draw_odd(c, 33, 63), 4 * draw_odd(c, 9, 17), 4 * draw_odd(c, 5, 7)); // multiples of 4, but not of 8
}
// Whole tiles in two of the three sizes: each needs its own bounds check.
static void ask_odd_m(Case *c) {
  ask(c, draw_odd(c, 65, 127), 128, 64);
}
static void ask_odd_n(Case *c) {
  ask(c, 128, draw_odd(c, 65, 127), 64);
}
static void ask_odd_k(Case *c) {
  ask(c, 128, 128, draw_odd(c, 33, 63));
}
// Rows of one of the two matrices are multiples of 16 bytes, those of the other are not.
static void ask_rows_of_a(Case *c) {
  ask(c, draw_int(c, 3, 9), 4 * draw_odd(c, 5, 9), 2 * draw_odd(c, 155, 165));
}
static void ask_rows_of_b(Case *c) {
  ask(c, draw_int(c, 3, 9), 2 * draw_odd(c, 155, 165), 4 * draw_odd(c, 5, 9));
}
// No tile is ever full: the rest of it is uninitialized.
static void ask_short(Case *c) {
  ask(c, draw_odd(c, 17, 33), draw_odd(c, 17, 33), draw_int(c, 1, 7));
}
static void ask_vector(Case *c) {
  ask(c, 1, draw_odd(c, 5, 99), 4 * draw_int(c, 4, 9));
}
static void ask_scored(Case *c) {
  ask(c, ROWS, COLUMNS, INNER);
}
static void ask_near(Case *c) {
  ask(c, ROWS - draw_odd(c, 1, 15), COLUMNS - draw_odd(c, 1, 31), INNER - draw_odd(c, 1, 7));
}

// The product over p = 0 .. inner-1; with b as it is or as if it were stored transposed.
static Array *product(Case *c, int64_t inner, bool transposed) {
  const Array *a = given(c, "a"), *b = given(c, "b");
  const int64_t m = a->shape.size[0], k = a->shape.size[1], n = b->shape.size[1];
  Array *out = new_array(c, FY_FLOAT32, shape(m, n));
  for (int64_t i = 0; i < m; i++)
    for (int64_t p = 0; p < inner; p++) {
      const float left = a->f32[i * k + p], *right = &b->f32[transposed ? p : p * n];
      float *row = &out->f32[i * n];
      for (int64_t j = 0; j < n && !transposed; j++) // for the vector units: the product is computed in each run
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
               &NO_BARRIER);
  suspect_finding(c, "race", &NO_BARRIER);
  for (int64_t step = 8; wrong && step <= 32; step *= 2) // only then: each product takes as long as a run
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

static void judge_score(Case *c, bool near, const Mistake *slow) {
  const Array *a = given(c, "a"), *b = given(c, "b");
  const double m = (double)a->shape.size[0], k = (double)a->shape.size[1], n = (double)b->shape.size[1];
  if (!judge_values(c))
    return;
  suspect_that(c, !near && inspected(c, LOADED_SECTORS, (Where){0}) > 2, &UNCOALESCED);
  expect_score(c,
               (Least){.loaded = 4 * (m * k + k * n),
                       .stored = 4 * m * n,
                       .computed = m * n * k,
                       .share = near ? m * n * k / ((double)ROWS * COLUMNS * INNER) : 0},
               slow);
}
static void judge_scored(Case *c) {
  judge_score(c, false, &NOT_FASTER);
}
static void judge_near(Case *c) {
  judge_score(c, true, &ONE_SIZE);
}

EXERCISE = {
    .id = "27_4_fast_matmul",
    .title = "Performance challenge: matmul",
    .after_pass =
        "With each level of tiling, in shared memory and in registers, the kernel uses a loaded word more often.",
    .kind = "kernel",
    .chapter = 27,
    .level = LEVEL_HARD,
    .minutes = 90,
    .lesson = LESSON "#what-each-step-gains",
    .open = true,
    .hints =
        {"The kernel loads two words for each multiply-add. Which other threads load the same words?",
         "Stage tiles in shared memory, as in exercise 27.1. Then run ./ferry run again, and see what limits the "
         "kernel now.",
         "Let a thread compute 8 x 8 elements, as in exercise 27.2: it reads 16 words for 64 multiply-adds. Unroll "
         "all loops over its sums.",
         "Use float4 loads and stores. Store the tile of a transposed, and give each thread four groups of 4 x 4 "
         "elements that are 64 apart."},
    .functions = {"product_on_device"},
    .tests = {{.name = "one row", .ask = ask_vector, .judge = judge},
              {.name = "inspected", .ask = ask_inspected, .judge = judge_inspected, .inspect = true},
              {.name = "odd sizes", .ask = ask_odd, .judge = judge},
              {.name = "odd m", .ask = ask_odd_m, .judge = judge, .schedules = 2},
              {.name = "odd n", .ask = ask_odd_n, .judge = judge, .schedules = 2},
              {.name = "odd k", .ask = ask_odd_k, .judge = judge, .schedules = 2},
              {.name = "k not a multiple of 4", .ask = ask_rows_of_a, .judge = judge, .schedules = 1},
              {.name = "n not a multiple of 4", .ask = ask_rows_of_b, .judge = judge, .schedules = 1},
              {.name = "small k, inspected", .ask = ask_short, .judge = judge_inspected, .inspect = true},
              {.name = "scored", .ask = ask_scored, .judge = judge_scored, .scored = &SCORED},
              {.name = "near the scored size", .ask = ask_near, .judge = judge_near, .scored = &NEAR}},
};
