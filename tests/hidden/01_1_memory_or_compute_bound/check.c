// SPDX-License-Identifier: MIT
// Exercise 1.1: operations per byte, and the roofline over them.
#include "exercise.h"
#include <math.h>

#define TWO_KINDS "docs/01_why_a_gpu.md#two-kinds-of-work"

static const Mistake NO_ADDITIONS = {"multiplications alone",
                                     "Each term of a product is multiplied and then added: two operations.", TWO_KINDS};
static const Mistake ONE_LESS = {
    "an addition less for each result",
    "Each term is multiplied and added: two operations for each of the k terms, the first one "
    "too.",
    TWO_KINDS};
static const Mistake WHOLE_NUMBERS = {
    "divided as whole numbers",
    "What is behind the point was lost: an int divided by an int is an int. Divide doubles.", TWO_KINDS};
static const Mistake NO_RESULT = {"the result's bytes left out",
                                  "What is written crosses the bus to memory too: count the result's elements.",
                                  TWO_KINDS};
static const Mistake ELEMENTS = {"elements counted as bytes",
                                 "An element has element_bytes bytes, and it is per byte that is asked.", TWO_KINDS};
static const Mistake FIXED_BYTES = {
    "float32 taken for granted", "Half of it in float16, twice as much in float64: element_bytes says it.", TWO_KINDS};
static const Mistake SQUARE = {"taken for square matrices", "(m, k) @ (k, n) gives (m, n): three sizes, three areas.",
                               TWO_KINDS};
static const Mistake INT_OVERFLOW = {
    "more than an int holds",
    "An int ends at 2147483647, which m * k * n passes from 1300 x 1300 x 1300 on. Multiply doubles.", TWO_KINDS};
static const Mistake NO_CEILING = {"memory's limit alone",
                                   "With ever more operations per byte the arithmetic is what ends it: machine->flops "
                                   "is the most there is.",
                                   TWO_KINDS};
static const Mistake ALWAYS_PEAK = {
    "arithmetic's limit alone",
    "The data sheet's number is reached where enough operations share a byte. Below, memory feeds fewer.", TWO_KINDS};
static const Mistake LARGER = {"the larger of the two limits", "Both limits hold, so the smaller one decides.",
                               TWO_KINDS};
static const Mistake OTHER_SIDE = {
    "the wrong side of the balance",
    "Few operations per byte wait for memory, many keep the arithmetic busy: less than the balance waits.", TWO_KINDS};
static const Mistake BALANCE_TURNED = {
    "bytes per operation",
    "The balance is operations per byte, flops / bandwidth, to be compared with operations per byte.", TWO_KINDS};
static const Mistake IN_FLOAT = {"counted in float",
                                 "Every number is right to seven digits and no further: float has no more. Operations "
                                 "and bytes are many; count them in double.",
                                 TWO_KINDS};
static const Mistake EQUAL_WAITS = {"waiting at the balance itself",
                                    "At the balance both limits are equal, and memory alone holds nothing up there.",
                                    TWO_KINDS};

static const Mistake ROUNDED = {
    "the balance met by rounding",
    "Just below the balance memory is still waited for, just above it is not, and here both were taken for equal: the "
    "numbers went through float, or the comparison leaves room. Compare doubles as they are.",
    TWO_KINDS};

static const Mistake RESULT_TWICE = {"the result counted twice",
                                     "What is written crosses to memory once. It is not read before.", TWO_KINDS};
static const Mistake RESULT_FLOAT = {"a result of 2-byte elements in 4 bytes",
                                     "The result has elements of the same size as what it is made of.", TWO_KINDS};
static const Mistake PER_INPUT = {"operations for each input",
                                  "`operations` is what is done for an element of the result, of however many inputs.",
                                  TWO_KINDS};

enum { CASES = 48, FIELDS = 6 }; // inputs, operations, m, k, n, bytes of an element
#define CLOSE 0x1p-27            // to the balance, in parts of it: float knows no such difference

static void ask(Case *c, double flops, double bandwidth, int64_t largest) {
  static const int64_t element_bytes[] = {2, 4, 8};
  Array *machine = new_array(c, FY_FLOAT64, shape(2)), *at = new_array(c, FY_FLOAT64, shape(CASES));
  Array *cases = new_array(c, FY_INT64, shape(CASES, FIELDS));
  machine->f64[0] = flops;
  machine->f64[1] = bandwidth;
  for (int64_t i = 0; i < CASES; i++) {
    int64_t *row = cases->i64 + i * FIELDS;
    row[0] = draw_int(c, 1, 4);
    row[1] = draw_int(c, 1, 40);
    for (int k = 2; k < 5; k++)
      row[k] = draw_int(c, largest / 100 + 1, largest);
    row[5] = element_bytes[draw_int(c, 0, 2)];
    at->f64[i] = flops / bandwidth *
                 (i % 6 == 0   ? 1
                  : i % 6 == 1 ? 1 + (i % 12 == 1 ? -CLOSE : CLOSE)
                               : draw_real(c, 0.02, 0.9) * (i % 2 ? 1 : 10));
  }
  give_array(c, "machine", machine, (Give){0});
  give_array(c, "cases", cases, (Give){0});
  give_array(c, "intensity", at, (Give){0});
}

// Bandwidths are powers of two, so that the balance is exact and can be met.
static void ask_cpu(Case *c) {
  ask(c, (double)draw_int(c, 100, 900) * 1e9, 0x1p35, 300);
}
static void ask_gpu(Case *c) {
  ask(c, (double)draw_int(c, 8, 90) * 1e12, 0x1p40, 1000);
}
static void ask_large(Case *c) {
  ask(c, (double)draw_int(c, 8, 90) * 1e12, 0x1p41, 100000);
}
static void ask_slow(Case *c) { // a balance below 1: nearly everything is limited by arithmetic
  ask(c, (double)draw_int(c, 4, 9) * 1e8, 0x1p34, 40);
}

// ---- the numbers, right and wrong --------------------------------------------------------------------------------------

typedef enum Slip {
  RIGHT,
  HALF,
  READ_ONLY,
  BYTES_1,
  BYTES_4,
  ONE_SIZE,
  ADDED_LESS,
  WHOLE,
  TWICE,
  FLOAT_RESULT,
  TIMES_INPUTS
} Slip;

static double intensity(const int64_t *row, bool product, Slip slip) {
  double m = (double)row[2], k = (double)row[3], n = (double)row[4];
  double bytes = slip == BYTES_1 ? 1 : slip == BYTES_4 ? 4 : (double)row[5];
  // How many bytes of one element are counted where a result is written.
  const double result = slip == READ_ONLY                    ? 0
                        : slip == TWICE                      ? 2 * bytes
                        : slip == FLOAT_RESULT && bytes == 2 ? 4
                                                             : bytes;
  if (!product) {
    const double share = (double)(slip == TIMES_INPUTS ? row[0] * row[1] : row[1]) / ((double)row[0] * bytes + result);
    return slip == WHOLE ? floor(share) : share;
  }
  double all_bytes = slip == ONE_SIZE ? 3 * m * m * bytes : (m * k + k * n) * bytes + m * n * result;
  double terms = slip == ONE_SIZE ? m * m * m : m * k * n;
  const double operations = slip == HALF ? terms : slip == ADDED_LESS ? 2 * terms - m * n : 2 * terms;
  return slip == WHOLE ? floor(operations / all_bytes) : operations / all_bytes;
}

static Array *intensities(Case *c, bool product, Slip slip) {
  Array *all = new_array(c, FY_FLOAT64, shape(CASES));
  for (int64_t i = 0; i < CASES; i++)
    all->f64[i] = intensity(given(c, "cases")->i64 + i * FIELDS, product, slip);
  return all;
}

typedef enum Roof { ROOF, SLOPE, FLAT, ABOVE } Roof;

static Array *reached(Case *c, Roof roof) {
  const double *machine = given(c, "machine")->f64, *at = given(c, "intensity")->f64;
  Array *all = new_array(c, FY_FLOAT64, shape(CASES));
  for (int64_t i = 0; i < CASES; i++) {
    double slope = machine[1] * at[i], flat = machine[0];
    all->f64[i] = roof == ROOF ? fmin(slope, flat) : roof == SLOPE ? slope : roof == FLAT ? flat : fmax(slope, flat);
  }
  return all;
}

typedef enum Side { BELOW, AT_OR_BELOW, OVER, AT_OR_OVER, TURNED } Side;

static Array *waiting(Case *c, Side side) {
  const double *machine = given(c, "machine")->f64, *at = given(c, "intensity")->f64;
  Array *all = new_array(c, FY_INT64, shape(CASES));
  for (int64_t i = 0; i < CASES; i++) {
    double balance = machine[0] / machine[1];
    all->i64[i] = side == BELOW         ? at[i] < balance
                  : side == AT_OR_BELOW ? at[i] <= balance
                  : side == OVER        ? at[i] > balance
                  : side == AT_OR_OVER  ? at[i] >= balance
                                        : at[i] < 1 / balance;
  }
  return all;
}

// A rate or intensity of numbers above 0 that is not finite or not above 0 has left the range of its type.
static bool has_overflowed(const Case *c) {
  const Array *product = got_shaped(c, "product", shape(CASES)), *other = got_shaped(c, "elementwise", shape(CASES));
  bool any = false, filled = product && other && product->dtype == FY_FLOAT64 && other->dtype == FY_FLOAT64;
  for (int64_t i = 0; filled && i < CASES; i++)
    any = any || product->f64[i] < 0;
  return any;
}

static bool is_near(const Case *c, const char *name, const Array *want, double tolerance) {
  const Array *a = got_shaped(c, name, want->shape);
  bool near = a && a->dtype == FY_FLOAT64;
  for (int64_t i = 0; near && i < want->count; i++)
    near = fabs(a->f64[i] - want->f64[i]) <= tolerance * want->f64[i];
  return near;
}

// Every number is right but for the digits that a float has not got, and one has not got them.
static bool is_in_float(Case *c) {
  const Array *elementwise = intensities(c, false, RIGHT), *product = intensities(c, true, RIGHT);
  const Array *best = reached(c, ROOF);
  return is_near(c, "elementwise", elementwise, 1e-6) && is_near(c, "product", product, 1e-6) &&
         is_near(c, "best", best, 1e-6) &&
         !(is_near(c, "elementwise", elementwise, 1e-9) && is_near(c, "product", product, 1e-9) &&
           is_near(c, "best", best, 1e-9));
}

// Whatever is not close to the balance is right, and something that is, but not at it, is wrong.
static bool is_rounded(Case *c) {
  const double *machine = given(c, "machine")->f64, *at = given(c, "intensity")->f64;
  const Array *waits = got_shaped(c, "waits", shape(CASES)), *want = waiting(c, BELOW);
  int64_t close = 0, far = 0;
  for (int64_t i = 0; waits && waits->dtype == FY_INT64 && i < CASES; i++) {
    const double balance = machine[0] / machine[1], away = fabs(at[i] / balance - 1);
    if (waits->i64[i] != want->i64[i] && at[i] != balance)
      away < 2 * CLOSE ? close++ : far++;
  }
  return close > 0 && far == 0;
}

static void judge(Case *c) {
  for (int product = 0; product < 2; product++) {
    const char *name = product ? "product" : "elementwise";
    suspect_array(c, name, intensities(c, product, HALF), &NO_ADDITIONS);
    suspect_array(c, name, intensities(c, product, READ_ONLY), &NO_RESULT);
    suspect_array(c, name, intensities(c, product, BYTES_1), &ELEMENTS);
    suspect_array(c, name, intensities(c, product, BYTES_4), &FIXED_BYTES);
    suspect_array(c, name, intensities(c, product, ONE_SIZE), &SQUARE);
    suspect_array(c, name, intensities(c, product, ADDED_LESS), &ONE_LESS);
    suspect_array(c, name, intensities(c, product, WHOLE), &WHOLE_NUMBERS);
    suspect_array(c, name, intensities(c, product, TWICE), &RESULT_TWICE);
    suspect_array(c, name, intensities(c, product, FLOAT_RESULT), &RESULT_FLOAT);
  }
  suspect_array(c, "elementwise", intensities(c, false, TIMES_INPUTS), &PER_INPUT);
  suspect_that(c, has_overflowed(c), &INT_OVERFLOW);
  suspect_that(c, is_in_float(c), &IN_FLOAT);
  suspect_array(c, "best", reached(c, SLOPE), &NO_CEILING);
  suspect_array(c, "best", reached(c, FLAT), &ALWAYS_PEAK);
  suspect_array(c, "best", reached(c, ABOVE), &LARGER);
  suspect_that(c, is_rounded(c), &ROUNDED);
  suspect_array(c, "waits", waiting(c, AT_OR_BELOW), &EQUAL_WAITS);
  suspect_array(c, "waits", waiting(c, OVER), &OTHER_SIDE);
  suspect_array(c, "waits", waiting(c, AT_OR_OVER), &OTHER_SIDE);
  suspect_array(c, "waits", waiting(c, TURNED), &BALANCE_TURNED);
  expect_array(c, "elementwise", intensities(c, false, RIGHT), 1e-9);
  expect_array(c, "product", intensities(c, true, RIGHT), 1e-9);
  expect_array(c, "best", reached(c, ROOF), 1e-9);
  expect_array(c, "waits", waiting(c, BELOW), 0);
}

EXERCISE = {
    .id = "01_1_memory_or_compute_bound",
    .title = "Memory-bound or compute-bound",
    .after_pass = "Operations per byte, against the machine's balance, say whether memory or arithmetic limits.",
    .kind = "write",
    .chapter = 1,
    .level = LEVEL_EASY,
    .minutes = 15,
    .essential = true,
    .lesson = TWO_KINDS,
    .hints = {"Count what has to cross to or from memory once: every tensor that is read, and the one that is written.",
              "A product has m * n results of k terms each, and each term is one multiplication and one addition.",
              "Memory alone would allow bandwidth * intensity operations per second. Which of two limits decides?",
              "The balance is flops / bandwidth; below it memory is what one waits for."},
    .functions = {"elementwise_intensity", "product_intensity", "best_flops", "waits_for_memory"},
    .tests = {{.name = "a CPU", .ask = ask_cpu, .judge = judge},
              {.name = "a GPU", .ask = ask_gpu, .judge = judge},
              {.name = "large matrices", .ask = ask_large, .judge = judge},
              {.name = "slow arithmetic", .ask = ask_slow, .judge = judge}},
};
