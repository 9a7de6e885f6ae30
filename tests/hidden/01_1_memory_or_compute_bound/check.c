// SPDX-License-Identifier: MIT
// Exercise 1.1: operations per byte, and the roofline over them.
#include "exercise.h"
#include <math.h>

#define TWO_KINDS "docs/01_why_a_gpu.md#memory-bound-and-compute-bound"

static const Mistake NO_ADDITIONS = {
    "additions not counted",
    "Each term of a matrix product takes a multiplication and an addition. Count 2 FLOP per term.", TWO_KINDS};
static const Mistake ONE_LESS = {"one addition per result not counted",
                                 "Count 2 FLOP for each of the k terms, including the first.", TWO_KINDS};
static const Mistake WHOLE_NUMBERS = {
    "integer division", "Dividing an int by an int drops the fraction. Convert to double before you divide.",
    TWO_KINDS};
static const Mistake NO_RESULT = {
    "output bytes not counted",
    "The operation also writes its result to memory. Add the bytes of the result to those of the inputs.", TWO_KINDS};
static const Mistake ELEMENTS = {"FLOP per element instead of per byte",
                                 "Multiply the number of elements by element_bytes before you divide.", TWO_KINDS};
static const Mistake FIXED_BYTES = {"element size fixed at 4 bytes",
                                    "A float16 element has 2 bytes, and a float64 element has 8. Use element_bytes.",
                                    TWO_KINDS};
static const Mistake SQUARE = {"square matrices assumed",
                               "The product (m, k) @ (k, n) has the shape (m, n). Use all three sizes: the matrices "
                               "have m * k, k * n and m * n elements.",
                               TWO_KINDS};
static const Mistake INT_OVERFLOW = {
    "integer overflow", "m * k * n exceeds the range of an int. Multiply in double or int64_t.", TWO_KINDS};
static const Mistake NO_CEILING = {"compute roof missing",
                                   "bandwidth * intensity has no upper limit, but no operation is faster than "
                                   "machine->flops. Return the smaller of the two.",
                                   TWO_KINDS};
static const Mistake ALWAYS_PEAK = {"memory roof missing",
                                    "At a low intensity, memory cannot deliver data fast enough to reach the peak. "
                                    "Compare the peak with bandwidth * intensity.",
                                    TWO_KINDS};
static const Mistake LARGER = {"maximum of the two roofs",
                               "Both limits hold at the same time, so the smaller one decides.", TWO_KINDS};
static const Mistake OTHER_SIDE = {"comparison reversed",
                                   "An operation with few FLOP per byte is memory-bound, and an operation with many is "
                                   "compute-bound. Reverse the comparison.",
                                   TWO_KINDS};
static const Mistake INVERTED_BALANCE = {
    "machine balance inverted",
    "The machine balance is flops / bandwidth, in FLOP per byte. Do not use its reciprocal.", TWO_KINDS};
static const Mistake EQUAL_WAITS = {"ridge point counted as memory-bound",
                                    "At the ridge point, both limits are equal. Return true only below it.", TWO_KINDS};
static const Mistake RESULT_TWICE = {"output bytes counted twice",
                                     "The operation writes its result once and does not read it. Count its bytes once.",
                                     TWO_KINDS};
static const Mistake RESULT_FLOAT = {
    "output counted as float32", "Each element of the result has element_bytes bytes, like the elements of the inputs.",
    TWO_KINDS};
static const Mistake PER_INPUT = {
    "operations counted per input",
    "`operations` is the number of FLOP per element of the result. Do not multiply it by `inputs`.", TWO_KINDS};

enum { CASES = 48, FIELDS = 6 }; // inputs, operations, m, k, n, bytes of an element

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
    at->f64[i] = flops / bandwidth * (i % 6 == 0 ? 1 : draw_real(c, 0.02, 0.9) * (i % 2 ? 1 : 10));
  }
  give_array(c, "machine", machine, (Give){0});
  give_array(c, "cases", cases, (Give){0});
  give_array(c, "intensity", at, (Give){0});
}

// Bandwidths are powers of two, so that the ridge point is exact and can be drawn.
static void ask_cpu(Case *c) {
  ask(c, (double)draw_int(c, 100, 900) * 1e9, 0x1p35, 300);
}
static void ask_gpu(Case *c) {
  ask(c, (double)draw_int(c, 8, 90) * 1e12, 0x1p40, 1000);
}
static void ask_large(Case *c) {
  ask(c, (double)draw_int(c, 8, 90) * 1e12, 0x1p41, 100000);
}
static void ask_slow(Case *c) { // a ridge point below 1
  ask(c, (double)draw_int(c, 4, 9) * 1e8, 0x1p34, 40);
}

// ---- the numbers, right and wrong -----------------------------------------------------------------------------------

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

typedef enum Side { BELOW, AT_OR_BELOW, OVER, AT_OR_OVER, INVERTED } Side;

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

// An intensity is positive. Some product's is negative.
static bool has_overflowed(Case *c) {
  const Array *product = got_shaped(c, "product", shape(CASES));
  bool any = false;
  for (int64_t i = 0; product && product->dtype == FY_FLOAT64 && i < CASES; i++)
    any = any || product->f64[i] < 0;
  return any;
}

// For a result that is 0 everywhere, as the stub's is, no mistake is named.
static void suspect_values(Case *c, const char *name, const Array *wrong, const Mistake *mistake) {
  bool zero = true;
  for (int64_t i = 0; i < wrong->count; i++)
    zero = zero && (wrong->dtype == FY_INT64 ? wrong->i64[i] == 0 : wrong->f64[i] == 0);
  if (!zero)
    suspect_array(c, name, wrong, mistake);
}

typedef enum Function { ELEMENTWISE, PRODUCT, BEST, WAITS } Function;

// As expect_array, and the finding says the arguments of the first call whose result is wrong.
static bool expect_results(Case *c, Function function, const char *name, const Array *want, double tolerance) {
  const Array *a = got_shaped(c, name, shape(CASES));
  const double *machine = given(c, "machine")->f64;
  int64_t i = 0;
  while (a && a->dtype == want->dtype && i < CASES &&
         (want->dtype == FY_INT64 ? a->i64[i] == want->i64[i]
                                  : fabs(a->f64[i] - want->f64[i]) <= tolerance * fmax(1, want->f64[i])))
    i++;
  if (a && a->dtype == want->dtype && i < CASES) {
    const int64_t *row = given(c, "cases")->i64 + i * FIELDS;
    const double at = given(c, "intensity")->f64[i];
    if (function == ELEMENTWISE)
      expect_that(c, false, NULL, "elementwise_intensity(%d, %d, %d): expected %.6g, got %.6g", (int)row[0],
                  (int)row[1], (int)row[5], want->f64[i], a->f64[i]);
    else if (function == PRODUCT)
      expect_that(c, false, NULL, "product_intensity(%d, %d, %d, %d): expected %.6g, got %.6g", (int)row[2],
                  (int)row[3], (int)row[4], (int)row[5], want->f64[i], a->f64[i]);
    else if (function == BEST)
      expect_that(c, false, NULL, "best_flops(%.4g FLOP/s and %.4g byte/s, %.6g FLOP/byte): expected %.6g, got %.6g",
                  machine[0], machine[1], at, want->f64[i], a->f64[i]);
    else
      expect_that(c, false, NULL, "waits_for_memory(%.4g FLOP/s and %.4g byte/s, %.6g FLOP/byte): expected %s",
                  machine[0], machine[1], at, want->i64[i] ? "true" : "false");
  }
  return expect_array(c, name, want, tolerance);
}

static void judge_intensities(Case *c, const char *name, bool product) {
  if (expect_results(c, product ? PRODUCT : ELEMENTWISE, name, intensities(c, product, RIGHT), 1e-5))
    return;
  suspect_values(c, name, intensities(c, product, READ_ONLY), &NO_RESULT);
  suspect_values(c, name, intensities(c, product, BYTES_1), &ELEMENTS);
  suspect_values(c, name, intensities(c, product, BYTES_4), &FIXED_BYTES);
  suspect_values(c, name, intensities(c, product, WHOLE), &WHOLE_NUMBERS);
  suspect_values(c, name, intensities(c, product, TWICE), &RESULT_TWICE);
  suspect_values(c, name, intensities(c, product, FLOAT_RESULT), &RESULT_FLOAT);
  if (product) {
    suspect_values(c, name, intensities(c, true, HALF), &NO_ADDITIONS);
    suspect_values(c, name, intensities(c, true, ONE_SIZE), &SQUARE);
    suspect_values(c, name, intensities(c, true, ADDED_LESS), &ONE_LESS);
    suspect_that(c, has_overflowed(c), &INT_OVERFLOW);
  } else {
    suspect_values(c, name, intensities(c, false, TIMES_INPUTS), &PER_INPUT);
  }
}

static void judge(Case *c) {
  judge_intensities(c, "elementwise", false);
  judge_intensities(c, "product", true);
  if (!expect_results(c, BEST, "best", reached(c, ROOF), 1e-5)) {
    suspect_values(c, "best", reached(c, SLOPE), &NO_CEILING);
    suspect_values(c, "best", reached(c, FLAT), &ALWAYS_PEAK);
    suspect_values(c, "best", reached(c, ABOVE), &LARGER);
  }
  if (!expect_results(c, WAITS, "waits", waiting(c, BELOW), 0)) {
    suspect_values(c, "waits", waiting(c, AT_OR_BELOW), &EQUAL_WAITS);
    suspect_values(c, "waits", waiting(c, OVER), &OTHER_SIDE);
    suspect_values(c, "waits", waiting(c, AT_OR_OVER), &OTHER_SIDE);
    suspect_values(c, "waits", waiting(c, INVERTED), &INVERTED_BALANCE);
  }
}

EXERCISE = {
    .id = "01_1_memory_or_compute_bound",
    .title = "Memory-bound or compute-bound",
    .after_pass = "Roofline model: compare the arithmetic intensity with the machine balance to tell memory-bound from "
                  "compute-bound operations.",
    .kind = "write",
    .chapter = 1,
    .level = LEVEL_EASY,
    .minutes = 15,
    .essential = true,
    .lesson = TWO_KINDS,
    .hints = {"Arithmetic intensity is FLOP divided by bytes. Count the bytes of each input tensor and of the output "
              "tensor.",
              "A matrix product has m * n results with k terms each, and each term takes 2 FLOP. Its three matrices "
              "have m * k, k * n and m * n elements.",
              "Memory allows at most bandwidth * intensity FLOP/s, and the processor allows at most flops. The smaller "
              "limit decides.",
              "The ridge point is flops / bandwidth. Below it, an operation is memory-bound: return intensity < flops "
              "/ bandwidth."},
    .functions = {"elementwise_intensity", "product_intensity", "best_flops", "waits_for_memory"},
    .tests = {{.name = "CPU", .ask = ask_cpu, .judge = judge},
              {.name = "GPU", .ask = ask_gpu, .judge = judge},
              {.name = "large matrices", .ask = ask_large, .judge = judge},
              {.name = "low machine balance", .ask = ask_slow, .judge = judge}},
};
