// SPDX-License-Identifier: MIT
// Exercise 3.2: a product on two devices, and how far the two are apart.
#include "exercise.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

static const Mistake ROW_BY_ROW = {"one transfer per row",
                                   "The matrices crossed in many small pieces. fy_to takes a whole tensor in one copy.",
                                   "docs/07_pitfalls.md#many-small-transfers-against-one"};
static const Mistake MOVED_AGAIN = {"moved more than once",
                                    "Two matrices have to reach the device, and two copies do it. Keep what fy_to "
                                    "returned and use that again; results that "
                                    "the CPU made need not go over.",
                                    "docs/07_pitfalls.md#to-and-fro-against-staying"};
static const Mistake BACK_IN_PIECES = {
    "fetched in pieces",
    "Each fy_item on a device's tensor is a copy of its own, and waits. Fetch the tensor once and look at it here.",
    "docs/07_pitfalls.md#waiting-in-a-loop"};
static const Mistake CPU_ONLY = {"calculated on the CPU alone",
                                 "The second product was made on the CPU too and only then carried over, so the device "
                                 "calculated nothing.",
                                 "docs/03_tensor_moves.md#todevice"};
static const Mistake IGNORED = {"the result of to ignored",
                                "fy_to does not move its argument: it returns another tensor, which is on the device.",
                                "docs/03_tensor_moves.md#questions"};
static const Mistake FETCHED = {
    "the device's product fetched",
    "*on_device is to stay where it was calculated. Only what is compared has to come here.",
    "docs/07_pitfalls.md#to-and-fro-against-staying"};
static const Mistake NOT_COMPARED = {
    "not compared with the device's result",
    "Nothing came back from the device, so its result cannot have been compared with anything.",
    "docs/03_tensor_moves.md#todevice"};
static const Mistake NOT_ON_CPU = {"the CPU's product calculated on the device",
                                   "*on_cpu is the device's result, fetched. The question is whether the two calculate "
                                   "alike, so the CPU has to calculate too.",
                                   "docs/03_tensor_moves.md#todevice"};
static const Mistake LOWEST = {"the smallest difference", "Asked for is the largest difference, not the smallest.",
                               "docs/03_tensor_moves.md#todevice"};
static const Mistake FIRST_GPU = {"the first GPU, not the one given",
                                  "The device that was given is the one to use, whatever its number.",
                                  "docs/03_tensor_moves.md#todevice"};
static const Mistake APART = {"operands on two devices",
                              "An operation takes tensors of one device. Fetch y before you subtract it.",
                              "docs/03_tensor_moves.md#one-operation-one-device"};
static const Mistake ELEMENTWISE = {"element by element",
                                    "fy_mul multiplies element by element, as * does; the matrix product is fy_matmul.",
                                    "docs/03_tensor_moves.md#todevice"};
static const Mistake SIGNED = {"without the absolute value",
                               "x - y can be negative, and then its maximum is not the largest difference.",
                               "docs/03_tensor_moves.md#todevice"};
static const Mistake MEAN = {"the mean instead of the maximum",
                             "Asked for is the largest difference, not the average one.",
                             "docs/03_tensor_moves.md#todevice"};
static const Mistake CONSTANT = {"a constant",
                                 "The same number came back for tensors that differ: the result has to be calculated.",
                                 "docs/03_tensor_moves.md#todevice"};
static const Mistake SWAPPED = {"factors swapped", "a @ b is not b @ a, even where the shapes allow both.",
                                "docs/03_tensor_moves.md#todevice"};
static const Mistake EMPTY = {"the maximum of nothing",
                              "A tensor without elements has no maximum. Ask fy_numel first, and return 0.",
                              "docs/03_tensor_moves.md#todevice"};

static const Mistake NO_STRIDES = {"strides ignored",
                                   "Behind fy_data_ptr the elements lie in the memory's order. Of a transposed tensor "
                                   "that is not the shape's; fy_contiguous brings them into it.",
                                   "docs/07_pitfalls.md#view-against-reshape"};

static const Mistake TWO_LOOPS = {"written for two dimensions",
                                  "A tensor may have one dimension, three, or none. fy_numel counts the elements of "
                                  "all, and fy_max looks at each.",
                                  "docs/03_tensor_moves.md#todevice"};
static const Mistake FEW_LOOPS = {"written for a few dimensions",
                                  "Of the dimensions behind the fourth only the first element was looked at. fy_max "
                                  "looks at each, however many there are.",
                                  "docs/03_tensor_moves.md#todevice"};
static const Mistake SAME_MEMORY = {"the same memory taken for the same values",
                                    "Two views of one memory, such as a matrix and its transposed, have the same "
                                    "elements in other places.",
                                    "docs/07_pitfalls.md#view-against-reshape"};
static const Mistake SQUARED = {"the square in place of the absolute value",
                                "A float holds the square of no number below 1e-23 or above 1e19: it becomes 0, or "
                                "infinite. fy_abs loses nothing.",
                                "docs/03_tensor_moves.md#todevice"};
static const Mistake KEPT = {
    "kept from the call before",
    "In a second call the result was that of the first, or was begun with it. What is static keeps its "
    "value from one call to the next; each call has tensors of its own.",
    "docs/03_tensor_moves.md#todevice"};

// ---- the largest difference ------------------------------------------------------------------------------------------

// Where the largest difference is, and whether it is x that is larger there, is the test's to say. Of `size`: x is laid out as `how`
// says, y as `where`.
static void ask_pair(Case *c, Shape size, Give how, Give where, bool last, bool above) {
  Array *x = draw_array(c, FY_FLOAT32, size, -4, 4), *y = draw_array(c, FY_FLOAT32, size, -4, 4);
  int64_t far = x->count == 0 ? -1 : last ? x->count - 1 : draw_int(c, 0, x->count - 1);
  if (far >= 0) {
    x->f32[far] = above ? 7 : -7;
    y->f32[far] = (float)(above ? -draw_int(c, 3, 6) : draw_int(c, 3, 6));
  }
  give_array(c, "x", x, how);
  give_array(c, "y", y, where);
}

static Shape some(Case *c) {
  int64_t rows = draw_odd(c, 3, 9);
  return shape(rows, draw_int(c, 10, 20));
}
static Shape in_three(Case *c) {
  int64_t planes = draw_int(c, 2, 4), rows = draw_odd(c, 5, 9);
  return shape(planes, rows, draw_int(c, 10, 20));
}

static void ask_difference(Case *c) {
  ask_pair(c, some(c), (Give){0}, (Give){.device = "cuda:0"}, true, false);
}
static void ask_transposed(Case *c) {
  ask_pair(c, some(c), (Give){.transposed = true}, (Give){.device = "cuda:0", .transposed = true}, false, true);
}
static void ask_transposed_there(Case *c) {
  ask_pair(c, some(c), (Give){0}, (Give){.device = "cuda:0", .transposed = true}, false, false);
}
static void ask_here(Case *c) {
  ask_pair(c, some(c), (Give){0}, (Give){0}, false, true);
}
static void ask_here_transposed(Case *c) {
  ask_pair(c, some(c), (Give){0}, (Give){.transposed = true}, false, true);
  give_number(c, "views of x", 1);
}
static void ask_here_gaps(Case *c) {
  ask_pair(c, some(c), (Give){.transposed = true}, (Give){.strided = true}, false, false);
}
static void ask_three(Case *c) {
  ask_pair(c, in_three(c), (Give){.strided = true}, (Give){.device = "cuda:0", .transposed = true}, true, true);
}
static void ask_three_here(Case *c) {
  ask_pair(c, in_three(c), (Give){0}, (Give){.transposed = true}, true, false);
}
// The difference is largest at the end of the fifth dimension.
static void ask_five(Case *c) {
  int64_t rows = draw_int(c, 2, 3), columns = draw_int(c, 2, 4);
  ask_pair(c, shape(2, 3, 2, rows, columns), (Give){.transposed = true}, (Give){.device = "cuda:0"}, true, true);
}
static void ask_line(Case *c) {
  ask_pair(c, shape(draw_odd(c, 301, 399)), (Give){.strided = true}, (Give){.device = "cuda:0"}, true, false);
}
static void ask_one_number(Case *c) {
  ask_pair(c, (Shape){0}, (Give){0}, (Give){.device = "cuda:0"}, true, false);
}
static void ask_nothing(Case *c) {
  ask_pair(c, shape(0, draw_int(c, 1, 9)), (Give){0}, (Give){.device = "cuda:0"}, false, false);
}
static void ask_no_columns(Case *c) {
  ask_pair(c, shape(draw_int(c, 1, 9), 0), (Give){0}, (Give){.device = "cuda:0"}, false, false);
}

// Such that no float holds the square of a difference.
static void ask_scaled(Case *c, double factor) {
  Shape size = some(c);
  Array *x = draw_array(c, FY_FLOAT32, size, -4, 4), *y = draw_array(c, FY_FLOAT32, size, -4, 4);
  for (int64_t i = 0; i < x->count; i++) {
    x->f32[i] *= (float)factor;
    y->f32[i] *= (float)factor;
  }
  give_array(c, "x", x, (Give){0});
  give_array(c, "y", y, (Give){.device = "cuda:0"});
}
static void ask_tiny(Case *c) {
  ask_scaled(c, 0x1p-90);
}
static void ask_huge(Case *c) {
  ask_scaled(c, 0x1p90);
}

// The elements in the order in which they lie in memory, the zeros between them too.
static const Array *as_it_lies(Case *c, const Array *a) {
  int n = a->shape.rank;
  if (n == 0)
    return a;
  Array *out = new_array(c, FY_FLOAT32, a->shape);
  int64_t columns = a->shape.size[n - 1], rows = n > 1 ? a->shape.size[n - 2] : 1;
  bool turned = a->flags & ARRAY_TRANSPOSED && n > 1, gaps = a->flags & ARRAY_STRIDED;
  for (int64_t i = 0; i < a->count; i++) {
    int64_t plane = i / (rows * columns), at = i % (rows * columns);
    if (turned)
      at = at % columns * rows + at / columns;
    int64_t to = (plane * rows * columns + at) * (gaps ? 2 : 1);
    if (to < a->count)
      out->f32[to] = a->f32[i];
  }
  return out;
}

static double largest_of(const Array *x, const Array *y) {
  double largest = 0;
  for (int64_t i = 0; i < x->count; i++)
    largest = fmax(largest, fabs((double)x->f32[i] - y->f32[i]));
  return largest;
}

static bool is_close(double result, double value) {
  return fabs(result - value) <= 1e-5 * fabs(value);
}

static bool by_memory(Case *c, const Array *x, const Array *y, double result) {
  const Array *x_lies = as_it_lies(c, x), *y_lies = as_it_lies(c, y);
  return is_close(result, largest_of(x_lies, y)) || is_close(result, largest_of(x, y_lies)) ||
         is_close(result, largest_of(x_lies, y_lies));
}

// Of the first sizes[0] * sizes[1] elements, or of the first plane: what two loops reach of three dimensions.
static bool by_two_loops(const Array *x, const Array *y, double result) {
  const int64_t *size = x->shape.size, reached[] = {size[0] * size[1], size[1] * size[2]};
  bool found = false;
  for (int k = 0; x->shape.rank == 3 && k < 2; k++) {
    double largest = 0;
    for (int64_t i = 0; i < reached[k]; i++)
      largest = fmax(largest, fabs((double)x->f32[i] - y->f32[i]));
    found |= is_close(result, largest);
  }
  return found;
}

// Of the elements that are the first in each dimension behind the fourth.
static bool by_four_loops(const Array *x, const Array *y, double result) {
  double largest = 0;
  for (int64_t i = 0; x->shape.rank == 5 && i < x->count; i += x->shape.size[4])
    largest = fmax(largest, fabs((double)x->f32[i] - y->f32[i]));
  return x->shape.rank == 5 && is_close(result, largest);
}

// The first rows and columns of x, as many of both, against the same transposed: two views of one memory.
static void judge_views(Case *c, const Array *x) {
  int64_t columns = x->shape.size[1], n = x->shape.size[0] < columns ? x->shape.size[0] : columns;
  double largest = 0, result = got_number(c, "two views");
  for (int64_t i = 0; i < n * n; i++)
    largest = fmax(largest, fabs((double)x->f32[i / n * columns + i % n] - x->f32[i % n * columns + i / n]));
  expect_that(c, is_close(result, largest), largest > 0 && result == 0 ? &SAME_MEMORY : NULL,
              "x and its own transposed: expected %.9g, got %.9g", largest, result);
}

static void judge_difference(Case *c) {
  const Array *x = given(c, "x"), *y = given(c, "y");
  double largest = largest_of(x, y), smallest = INFINITY, highest = -INFINITY, lowest = INFINITY, sum = 0;
  for (int64_t i = 0; i < x->count; i++) {
    double difference = (double)x->f32[i] - y->f32[i];
    smallest = fmin(smallest, fabs(difference));
    highest = fmax(highest, difference);
    lowest = fmin(lowest, difference);
    sum += fabs(difference);
  }
  double result = got_number(c, "difference"), count = (double)x->count;
  bool wrong = !is_close(result, largest), telling = x->count > 0 && result != 0; // 0 may be a constant's, too
  bool extreme = strcmp(case_test(c), "tiny differences") == 0 || strcmp(case_test(c), "huge differences") == 0;
  suspect_that(c, telling && wrong && (is_close(result, highest) || is_close(result, lowest)), &SIGNED);
  suspect_that(c, x->count > 1 && telling && wrong && is_close(result, sum / count), &MEAN);
  suspect_that(c, telling && wrong && is_close(result, smallest), &LOWEST);
  // Where both come to the same number, by chance, it is evidence for neither.
  const bool lies = !extreme && by_memory(c, x, y, result), two_loops = by_two_loops(x, y, result);
  suspect_that(c, telling && wrong && lies && !two_loops, &NO_STRIDES);
  suspect_that(c, telling && wrong && two_loops && !lies, &TWO_LOOPS);
  suspect_that(c, telling && wrong && by_four_loops(x, y, result), &FEW_LOOPS);
  suspect_that(c, extreme && wrong && (result == 0 || isinf(result)), &SQUARED);
  suspect_error(c, "on the same device", &APART);
  suspect_that(c, x->count == 0 && strstr(got_error(c), "max"), &EMPTY);
  suspect_that(c, wrong && ((result == 0 && smallest > 0) || result == -1), &CONSTANT); // or the smallest one's
  if (!*got_error(c))
    expect_that(c, !wrong, NULL, "difference: expected %.9g, got %.9g", largest, result);
  else
    expect_number(c, "difference", largest, 1e-6);
  expect_at_most(c, "copies from device to host", counts(c)->device_to_host, 1, &BACK_IN_PIECES);
  expect_at_most(c, "copies from host to device", counts(c)->host_to_device, 0, &MOVED_AGAIN);
  suspect_that(c, x->count > 0 && !wrong && got_number(c, "then") == result, &KEPT);
  expect_number(c, "then", 0, 0); // x and x
  if (strcmp(case_test(c), "both on the CPU, y transposed") == 0 && !wrong)
    judge_views(c, x);
}

// ---- the products ----------------------------------------------------------------------------------------------------

static void ask_product_of(Case *c, Array *a, Array *b, const char *device, Give how) {
  for (int64_t i = 0; i < a->count; i++) // products that have to be rounded
    a->f32[i] /= 3;
  for (int64_t i = 0; i < b->count; i++)
    b->f32[i] /= 7;
  give_array(c, "a", a, how);
  give_array(c, "b", b, how);
  give_text(c, "device", device);
}

static void ask_product(Case *c, int64_t m, int64_t k, int64_t n, const char *device, Give how) {
  ask_product_of(c, draw_array(c, FY_FLOAT32, shape(m, k), -4, 4), draw_array(c, FY_FLOAT32, shape(k, n), -4, 4),
                 device, how);
}

static void ask_gpu(Case *c) {
  ask_product(c, draw_odd(c, 5, 9), draw_int(c, 10, 20), draw_odd(c, 21, 31), "cuda:0", (Give){0});
}
static void ask_square(Case *c) {
  int64_t n = draw_odd(c, 17, 31);
  ask_product(c, n, n, n, "cuda:0", (Give){.requires_grad = true});
}
// With the rounding of tensor cores: else a simulated device's product is the CPU's, bit for bit, and every difference 0. All above 0,
// so that the sums are large and what they are apart by is, too.
static void ask_large(Case *c) {
  int64_t k = draw_odd(c, 151, 199);
  ask_product_of(c, draw_array(c, FY_FLOAT32, shape(draw_odd(c, 101, 149), k), 32, 128),
                 draw_array(c, FY_FLOAT32, shape(k, draw_int(c, 60, 90)), 32, 128), "cuda:0", (Give){0});
  give_number(c, "with tensor cores", 1);
}
static void ask_gaps(Case *c) {
  ask_product(c, draw_odd(c, 5, 9), draw_int(c, 10, 20), draw_odd(c, 21, 31), "cuda:0", (Give){.strided = true});
}
static void ask_second(Case *c) {
  ask_product(c, draw_odd(c, 5, 9), draw_int(c, 10, 20), draw_odd(c, 21, 31), "cuda:1", (Give){0});
}
static void ask_cpu(Case *c) {
  ask_product(c, draw_odd(c, 5, 9), draw_int(c, 10, 20), draw_odd(c, 21, 31), "cpu", (Give){0});
}

static Array *product(Case *c, const Array *a, const Array *b) {
  int64_t m = a->shape.size[0], k = a->shape.size[1], n = b->shape.size[1];
  Array *out = new_array(c, FY_FLOAT32, shape(m, n));
  for (int64_t i = 0; i < m; i++)
    for (int64_t j = 0; j < n; j++) {
      double sum = 0;
      for (int64_t l = 0; l < k; l++)
        sum += (double)a->f32[i * k + l] * b->f32[l * n + j];
      out->f32[i * n + j] = (float)sum;
    }
  return out;
}

// Products are equal to a few digits only: the order of a sum is the device's.
static bool near(const Array *result, const Array *other) {
  double apart = result && result->count == other->count ? 0 : INFINITY;
  for (int64_t i = 0; i < other->count && apart < 1; i++)
    apart = fmax(apart, fabs((double)result->f32[i] - other->f32[i]));
  return apart < 1e-3;
}

static void suspect_products(Case *c, const Array *a, const Array *b) {
  bool square = a->shape.size[0] == b->shape.size[1];
  if (square) {
    Array *each = new_array(c, FY_FLOAT32, a->shape);
    for (int64_t i = 0; i < a->count; i++)
      each->f32[i] = a->f32[i] * b->f32[i];
    suspect_array(c, "on_cpu", each, &ELEMENTWISE);
    suspect_that(c, near(got(c, "on_cpu"), product(c, b, a)), &SWAPPED);
  }
  suspect_error(c, "shapes cannot be multiplied", &SWAPPED);
  char sizes[96]; // of a * b: the columns of both, as they are given
  snprintf(sizes, sizeof sizes, "tensor a (%lld) must match the size of tensor b (%lld)", (long long)a->shape.size[1],
           (long long)b->shape.size[1]);
  suspect_that(c, strstr(got_error(c), sizes) && a->shape.size[1] != b->shape.size[1], &ELEMENTWISE);
  suspect_error(c, "on the same device", &APART);
}

// A second call has the opposite of b: what is kept of the first is the opposite of what is right.
static void judge_again(Case *c, const Array *first, double tolerance) {
  Array *want = array_negated(c, first);
  if (!expect_array(c, "on_cpu, then", want, 1e-4))
    suspect_that(c, near(got(c, "on_cpu, then"), first), &KEPT);
  else if (!expect_array(c, "on_device, then", want, tolerance))
    suspect_that(c, near(got(c, "on_device, then"), first), &KEPT);
}

static void judge_products_within(Case *c, double tolerance) {
  const Array *a = given(c, "a"), *b = given(c, "b");
  const char *device = given_text(c, "device");
  bool cuda = strcmp(device, "cpu") != 0;
  int64_t rows = a->shape.size[0];
  suspect_products(c, a, b);
  const Array *want = product(c, a, b);
  if (!expect_array(c, "on_cpu", want, 1e-4) || !expect_array(c, "on_device", want, tolerance))
    return;
  expect_device(c, "on_cpu", "cpu", NULL);
  bool here = strcmp(got_device(c, "on_device"), "cpu") == 0;
  const Mistake *elsewhere = !here ? &FIRST_GPU : counts(c)->launches ? &FETCHED : &IGNORED;
  expect_device(c, "on_device", device, elsewhere);
  double difference = largest_of(got(c, "on_cpu"), got(c, "on_device")); // it depends on how each device rounds
  suspect_that(c, difference > 0.1 && got_number(c, "difference") == 0, &CONSTANT);
  expect_number(c, "difference", difference, 1e-6);
  int64_t there = counts(c)->host_to_device;
  expect_at_most(c, "copies from host to device", there, 2, there >= rows ? &ROW_BY_ROW : &MOVED_AGAIN);
  expect_at_most(c, "copies from device to host", counts(c)->device_to_host, cuda ? 1 : 0, &BACK_IN_PIECES);
  judge_again(c, want, tolerance);
  if (!cuda)
    return;
  expect_at_least(c, "launches", counts(c)->launches, 1, &CPU_ONLY);
  expect_at_least(c, "copies from device to host", counts(c)->device_to_host, 1, &NOT_COMPARED);
  expect_that(c, !(got_number(c, "launches for the CPU's gradients") > 0), &NOT_ON_CPU,
              "on_cpu: it was calculated on the device, and fetched");
}

static void judge_products(Case *c) {
  judge_products_within(c, 1e-4);
}
static void judge_rounded(Case *c) {
  judge_products_within(c, 2e-3);
}

EXERCISE = {
    .id = "03_2_compare_devices",
    .title = "Compare two devices",
    .after_pass = "An operation runs where its operands are; results on two devices meet after one copy.",
    .kind = "write",
    .chapter = 3,
    .level = LEVEL_EASY,
    .minutes = 15,
    .lesson = "docs/03_tensor_moves.md#todevice",
    .hints = {"fy_matmul multiplies where its operands are. fy_to(a, device) is a on the device; a itself stays here.",
              "To subtract, both have to be in one place: fy_cpu(y) fetches y in one copy, fy_sub, fy_abs, fy_max and "
              "fy_item "
              "do the rest on the CPU.",
              "fy_max of no elements is an error, so look at fy_numel first."},
    .functions = {"largest_difference", "compare_products"},
    .tests = {{"the largest difference", ask_difference, .judge = judge_difference},
              {"both transposed", ask_transposed, .judge = judge_difference},
              {"y alone transposed", ask_transposed_there, .judge = judge_difference},
              {"both on the CPU", ask_here, .judge = judge_difference},
              {"both on the CPU, y transposed", ask_here_transposed, .judge = judge_difference},
              {"both on the CPU, y with gaps", ask_here_gaps, .judge = judge_difference},
              {"three dimensions", ask_three, .judge = judge_difference},
              {"three dimensions on the CPU", ask_three_here, .judge = judge_difference},
              {"five dimensions", ask_five, .judge = judge_difference},
              {"one dimension", ask_line, .judge = judge_difference},
              {"one number", ask_one_number, .judge = judge_difference},
              {"no rows", ask_nothing, .judge = judge_difference},
              {"no columns", ask_no_columns, .judge = judge_difference},
              {"tiny differences", ask_tiny, .judge = judge_difference},
              {"huge differences", ask_huge, .judge = judge_difference},
              {"products on CPU and GPU", ask_gpu, .judge = judge_products},
              {"square matrices", ask_square, .judge = judge_products},
              {"large and odd", ask_large, .judge = judge_rounded},
              {"matrices with gaps", ask_gaps, .judge = judge_products},
              {"on the second GPU", ask_second, .judge = judge_products, .devices = 2},
              {"without CUDA", ask_cpu, .judge = judge_products, .no_cuda = true}},
};
