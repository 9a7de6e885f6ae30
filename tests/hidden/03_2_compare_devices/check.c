// SPDX-License-Identifier: MIT
// Exercise 3.2: a product on two devices, and the largest difference.
#include "exercise.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

static const Mistake ROW_BY_ROW = {
    "one transfer per row", "Your function copies the matrix row by row. Call fy_to once: it copies the whole tensor.",
    "docs/07_pitfalls.md#one-large-transfer-instead-of-many-small-ones"};
static const Mistake MOVED_AGAIN = {"repeated transfers",
                                    "Copy each tensor once, and reuse the copy that fy_to or fy_cpu returns.",
                                    "docs/07_pitfalls.md#keep-data-on-the-device"};
static const Mistake BACK_IN_PIECES = {"one transfer per element",
                                       "Each call of fy_item on a device tensor copies one value and waits for it. "
                                       "Copy the whole tensor to the CPU instead.",
                                       "docs/07_pitfalls.md#implicit-synchronization-in-a-loop"};
static const Mistake CPU_ONLY = {
    "product computed on the CPU only",
    "No kernel was launched on the device. Multiply the tensors that fy_to(a, device) and fy_to(b, device) return.",
    "docs/03_tensor_moves.md#copying-with-todevice"};
static const Mistake IGNORED = {
    "result of fy_to ignored",
    "fy_to does not move its argument. It returns a new tensor on the device. Use this tensor.",
    "docs/03_tensor_moves.md#questions"};
static const Mistake FETCHED = {"result copied back to the CPU",
                                "Leave *on_device on the device. Copy it to the CPU only for the comparison.",
                                "docs/07_pitfalls.md#keep-data-on-the-device"};
static const Mistake NOT_COMPARED = {
    "device result not compared", "Nothing was copied back from the device. Compare *on_cpu with a copy of *on_device.",
    "docs/03_tensor_moves.md#copying-with-todevice"};
static const Mistake NOT_ON_CPU = {"CPU product computed on the device",
                                   "*on_cpu is a copy of the device result. Compute it on the CPU: fy_matmul(a, b).",
                                   "docs/03_tensor_moves.md#copying-with-todevice"};
static const Mistake LOWEST = {"minimum instead of maximum", "Return the largest difference.",
                               "docs/03_tensor_moves.md#copying-with-todevice"};
static const Mistake FIRST_GPU = {"hard-coded device", "Use the argument `device`, whatever its index is.",
                                  "docs/03_tensor_moves.md#copying-with-todevice"};
static const Mistake APART = {
    "operands on different devices",
    "All operands of an operation must be on the same device. Copy y to the CPU before you subtract it.",
    "docs/03_tensor_moves.md#all-operands-on-the-same-device"};
static const Mistake ELEMENTWISE = {"elementwise product",
                                    "fy_mul multiplies element by element. Use fy_matmul for the matrix product.",
                                    "docs/03_tensor_moves.md#copying-with-todevice"};
static const Mistake SIGNED = {"missing absolute value", "x - y may be negative. Call fy_abs before fy_max.",
                               "docs/03_tensor_moves.md#copying-with-todevice"};
static const Mistake MEAN = {"mean instead of maximum", "Return the largest difference, not the average.",
                             "docs/03_tensor_moves.md#copying-with-todevice"};
static const Mistake CONSTANT = {"constant result",
                                 "The result is 0 for tensors that differ. Compute it from both tensors.",
                                 "docs/03_tensor_moves.md#copying-with-todevice"};
static const Mistake SWAPPED = {"matrix factors swapped",
                                "a @ b and b @ a are different products. Keep the order of the factors.",
                                "docs/03_tensor_moves.md#copying-with-todevice"};
static const Mistake EMPTY = {"maximum of an empty tensor",
                              "An empty tensor has no maximum. Check fy_numel first, and return 0 for an empty tensor.",
                              "docs/03_tensor_moves.md#copying-with-todevice"};

static const Mistake NO_STRIDES = {
    "strides ignored",
    "The elements of a view may have a different order in memory. Call fy_contiguous before you use fy_data_ptr.",
    "docs/07_pitfalls.md#view-and-reshape"};

static const Mistake TWO_LOOPS = {
    "only two dimensions handled",
    "A tensor may have more or fewer than two dimensions. fy_numel counts its elements, and fy_max reads all of them.",
    "docs/03_tensor_moves.md#copying-with-todevice"};
static const Mistake KEPT = {"cached result",
                             "The second call returned a value from the first call. A static variable keeps its value "
                             "between calls: use a local variable.",
                             "docs/03_tensor_moves.md#copying-with-todevice"};

// ---- the largest difference -------------------------------------------------------------------------------------

// The test says where the largest difference is (`last`) and whether x is the larger one (`above`). `how` and `where`
// are the layouts of x and y.
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
}
static void ask_here_gaps(Case *c) {
  ask_pair(c, some(c), (Give){.transposed = true}, (Give){.strided = true}, false, false);
}
static void ask_three(Case *c) {
  ask_pair(c, in_three(c), (Give){.strided = true}, (Give){.device = "cuda:0", .transposed = true}, true, true);
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

// The elements in their order in memory, with the zeros between them.
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

// The largest of the first sizes[0] * sizes[1] elements, or of the first plane: two loops over three dimensions.
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

// Names the mistake for an excess of copies to the host.
static const Mistake *fetched(const Case *c) {
  enum { MANY = 8 };
  return counts(c)->device_to_host >= MANY ? &BACK_IN_PIECES : &MOVED_AGAIN;
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
  bool wrong = !is_close(result, largest), telling = x->count > 0 && result != 0; // 0 may also be a constant
  suspect_that(c, telling && wrong && (is_close(result, highest) || is_close(result, lowest)), &SIGNED);
  suspect_that(c, x->count > 1 && telling && wrong && is_close(result, sum / count), &MEAN);
  suspect_that(c, telling && wrong && is_close(result, smallest), &LOWEST);
  // Where both give the same number by chance, it is evidence for neither.
  const bool lies = by_memory(c, x, y, result), two_loops = by_two_loops(x, y, result);
  suspect_that(c, telling && wrong && lies && !two_loops, &NO_STRIDES);
  suspect_that(c, telling && wrong && two_loops && !lies, &TWO_LOOPS);
  suspect_error(c, "on the same device", &APART);
  suspect_that(c, x->count == 0 && strstr(got_error(c), "max"), &EMPTY);
  suspect_that(c, wrong && result == 0 && smallest > 0, &CONSTANT); // smallest: or the minimum
  if (!*got_error(c))
    expect_that(c, !wrong, NULL, "difference: expected %.9g, got %.9g", largest, result);
  else
    expect_number(c, "difference", largest, 1e-6);
  expect_at_most(c, "copies from device to host", counts(c)->device_to_host, 2, fetched(c));
  expect_at_most(c, "copies from host to device", counts(c)->host_to_device, 3, &MOVED_AGAIN);
  suspect_that(c, x->count > 0 && !wrong && got_number(c, "second call: difference") == result, &KEPT);
  expect_number(c, "second call: difference", 0, 0); // x and x
}

// ---- the products -----------------------------------------------------------------------------------------------

static void ask_product_of(Case *c, Array *a, Array *b, const char *device, Give how) {
  for (int64_t i = 0; i < a->count; i++) // products that are rounded
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
// With the rounding of tensor cores. Otherwise a simulated device's product equals the CPU's, and every difference is
// 0. All are positive, so that the sums and their differences are large.
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
  char sizes[96]; // of a * b: the columns of both, as they are given
  snprintf(sizes, sizeof sizes, "tensor a (%lld) must match the size of tensor b (%lld)", (long long)a->shape.size[1],
           (long long)b->shape.size[1]);
  suspect_that(c, strstr(got_error(c), sizes) && a->shape.size[1] != b->shape.size[1], &ELEMENTWISE);
  suspect_error(c, "on the same device", &APART);
}

// A second call has the opposite of b: what is kept of the first is the opposite of what is right.
static void judge_again(Case *c, const Array *first, double tolerance) {
  Array *want = array_negated(c, first);
  if (!expect_array(c, "second call: on_cpu", want, 1e-4))
    suspect_that(c, near(got(c, "second call: on_cpu"), first), &KEPT);
  else if (!expect_array(c, "second call: on_device", want, tolerance))
    suspect_that(c, near(got(c, "second call: on_device"), first), &KEPT);
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
  const Mistake *elsewhere = !here                       ? &FIRST_GPU
                             : counts(c)->launches       ? &FETCHED
                             : counts(c)->host_to_device ? &IGNORED
                                                         : &CPU_ONLY;
  expect_device(c, "on_device", device, elsewhere);
  double difference = largest_of(got(c, "on_cpu"), got(c, "on_device")); // it depends on how each device rounds
  suspect_that(c, difference > 0.1 && got_number(c, "difference") == 0, &CONSTANT);
  expect_number(c, "difference", difference, 1e-6);
  int64_t there = counts(c)->host_to_device;
  expect_at_most(c, "copies from host to device", there, 3, there >= rows ? &ROW_BY_ROW : &MOVED_AGAIN);
  expect_at_most(c, "copies from device to host", counts(c)->device_to_host, 2, fetched(c));
  judge_again(c, want, tolerance);
  if (!cuda)
    return;
  expect_at_least(c, "launches", counts(c)->launches, 1, &CPU_ONLY);
  expect_at_least(c, "copies from device to host", counts(c)->device_to_host, 1, &NOT_COMPARED);
  expect_that(c, !(got_number(c, "launches for the CPU's gradients") > 0), &NOT_ON_CPU,
              "on_cpu: expected a product computed on the CPU, got a copy from the device");
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
    .after_pass = "An operation runs on the device of its operands, and one copy brings its result to the CPU.",
    .kind = "write",
    .chapter = 3,
    .level = LEVEL_EASY,
    .minutes = 15,
    .lesson = "docs/03_tensor_moves.md#copying-with-todevice",
    .stars = {{"few copies: at most 3 to the device and 2 back per call",
               {&ROW_BY_ROW, &MOVED_AGAIN, &BACK_IN_PIECES}}},
    .hints = {"An operation runs on the device of its operands. fy_to(a, device) returns a copy of a on the device and "
              "does not move a itself.",
              "Both operands of a subtraction must be on the same device. Copy y to the CPU with fy_cpu(y).",
              "largest_difference is fy_item(fy_max(fy_abs(fy_sub(x, fy_cpu(y))))). Check fy_numel(x) first: an empty "
              "tensor has no maximum."},
    .functions = {"largest_difference", "compare_products"},
    .tests = {{"x and y on the CPU", ask_here, .judge = judge_difference},
              {"y on the GPU", ask_difference, .judge = judge_difference},
              {"both transposed", ask_transposed, .judge = judge_difference},
              {"y transposed on the GPU", ask_transposed_there, .judge = judge_difference},
              {"y transposed on the CPU", ask_here_transposed, .judge = judge_difference},
              {"y strided on the CPU", ask_here_gaps, .judge = judge_difference},
              {"three dimensions", ask_three, .judge = judge_difference},
              {"one dimension", ask_line, .judge = judge_difference},
              {"scalar", ask_one_number, .judge = judge_difference},
              {"no rows", ask_nothing, .judge = judge_difference},
              {"no columns", ask_no_columns, .judge = judge_difference},
              {"products on CPU and GPU", ask_gpu, .judge = judge_products},
              {"square matrices", ask_square, .judge = judge_products},
              {"large matrices", ask_large, .judge = judge_rounded},
              {"strided matrices", ask_gaps, .judge = judge_products},
              {"products on the second GPU", ask_second, .judge = judge_products, .devices = 2},
              {"without CUDA", ask_cpu, .judge = judge_products, .no_cuda = true}},
};
