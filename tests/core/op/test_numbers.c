// SPDX-License-Identifier: MIT
// Values that golden files do not have: roots of negative infinity, what does not fit a dtype, NaN under dropout, statistics.
//
// run check: FERRY_CUDA=off
// run: FERRY_SIM_DEVICES=1 FERRY_SIM_MODE=lazy -- cuda
#include "base/threads.h"
#include "core/nn/check.h"

static FyDevice device;

static void test_roots_of_infinity(void **state) {
  (void)state;
  for (int d = 0; d < 2; d++) {
    FyTensor *x = fy_full(-INFINITY, fy_shape(40), .dtype = d ? FY_FLOAT64 : FY_FLOAT32, .device = device);
    assert_true(isnan(fy_item(fy_max(fy_pow_scalar(x, 0.5)))));
    assert_true(isnan(fy_item(fy_max(fy_pow_scalar(x, -0.5)))));
    assert_true(fy_item(fy_max(fy_pow_scalar(x, 1.5))) == INFINITY);
    // An exponent that is a tensor: pow's own answer.
    assert_true(fy_item(fy_max(fy_pow(x, fy_full_like(x, 0.5)))) == INFINITY);
  }
}

static void expect_fill(FyDType dtype, double value, double result) {
  FyTensor *t = fy_zeros(fy_shape(3), .dtype = dtype, .device = device);
  assert_true(fy_item(fy_select(fy_fill_(t, value), 0, 1)) == result);
}

static void expect_no_fill(FyDType dtype, double value, const char *type) {
  char text[96];
  snprintf(text, sizeof text, "value cannot be converted to type %s without overflow", type);
  assert_raises(FY_RUNTIME_ERROR, text, fy_fill_(fy_zeros(fy_shape(3), .dtype = dtype, .device = device), value));
  assert_raises(FY_RUNTIME_ERROR, text, fy_full(value, fy_shape(3), .dtype = dtype, .device = device));
}

static void test_fill_with_what_does_not_fit(void **state) {
  (void)state;
  expect_fill(FY_UINT8, 255.5, 255);
  expect_fill(FY_UINT8, -1, 255); // a whole number is Python's int, and those wrap around
  expect_fill(FY_INT32, -1.5, -1);
  expect_fill(FY_INT64, -0x1p63, -0x1p63);
  expect_fill(FY_BOOL, NAN, 1);
  expect_fill(FY_FLOAT16, 70000, INFINITY);
  expect_no_fill(FY_UINT8, -1.5, "uint8_t");
  expect_no_fill(FY_UINT8, 256, "uint8_t");
  expect_no_fill(FY_INT32, 0x1p31, "int");
  expect_no_fill(FY_INT32, NAN, "int");
  expect_no_fill(FY_INT64, 0x1p63, "int64_t");
  expect_no_fill(FY_FLOAT32, 1e300, "float");
}

static void test_dropout_multiplies(void **state) {
  (void)state;
  FyTensor *x = fy_full(NAN, fy_shape(100), .device = device);
  assert_true(isnan(fy_item(fy_min(fy_dropout(x, 1, true)))));
  FyTensor *kept = fy_isfinite(fy_dropout(x, 0.5, true)); // no element is finite, dropped or not
  assert_true(fy_item(fy_sum(kept)) == 0);
}

static void test_linspace_of_integers(void **state) {
  (void)state;
  FyTensor *t = fy_linspace(-1.875, 0, 4, .dtype = FY_INT32, .device = device);
  assert_values(fy_to_dtype(t, FY_FLOAT64), (double[]){-1, 0, 0, 0}, 4, 0);
}

// Random values in place hand zeros on, and what is behind them is looked at.
static void test_random_values_in_place(void **state) {
  (void)state;
  FyTensor *x = fy_set_requires_grad(fy_ones(fy_shape(3), .device = device), true), *y = fy_mul_scalar(x, 2);
  fy_backward(fy_sum(fy_normal_(y, 0, 1)));
  assert_values(fy_grad(x), (double[]){0, 0, 0}, 3, 0);
  FyTensor *root = fy_sqrt(x);
  fy_uniform_(root, 0, 1);
  assert_raises_about(FY_RUNTIME_ERROR, "modified by an inplace operation", fy_backward(fy_sum(root)));
  fy_normal_(fy_zeros(fy_shape(0), .dtype = FY_INT32, .device = device), 0, 1); // nothing to do
}

static void test_running_statistics(void **state) {
  (void)state;
  FyTensor *x = fy_randn(fy_shape(4, 2), .device = device), *mean = fy_zeros(fy_shape(2), .device = device);
  FyTensor *var = fy_ones(fy_shape(2), .device = device), *one = fy_set_requires_grad(fy_ones_like(var), true);
  FyTensor *evaluated = fy_batch_norm(x, mean, var, one, NULL, false, 0.1, 1e-5);
  fy_batch_norm(x, mean, var, one, NULL, true, 0.1, 1e-5);
  assert_int_equal(fy_version_of(mean), 0); // they follow, and that is no change
  fy_backward(fy_sum(evaluated));
  assert_raises(FY_RUNTIME_ERROR,
                "The function 'native_batch_norm' is not differentiable with respect to argument 'running_var'. This "
                "input cannot have requires_grad True.",
                fy_batch_norm(x, mean, one, NULL, NULL, false, 0.1, 1e-5));
  assert_raises(FY_VALUE_ERROR, "running_mean and running_var must either both be None or neither be None",
                fy_batch_norm(x, mean, NULL, NULL, NULL, true, 0.1, 1e-5));
  fy_no_grad {
    fy_batch_norm(x, mean, one, NULL, NULL, false, 0.1, 1e-5);
  }
}

// Beside a half type, parameters may be float32 on the CPU. The texts are those of PyTorch 2.15.
static void test_layer_norm_of_two_dtypes(void **state) {
  (void)state;
  FySize n = fy_shape(2);
  FyTensor *x = fy_randn(fy_shape(4, 2), .device = device), *half = fy_half(x);
  FyTensor *one = fy_ones(n, .device = device), *two = fy_double(one);
  if (device.type == FY_CUDA) {
    assert_raises(FY_RUNTIME_ERROR, "expected scalar type Half but found Float",
                  fy_layer_norm(half, n, one, NULL, 1e-5));
    return;
  }
  FyTensor *mixed = fy_layer_norm(half, n, one, one, 1e-5);
  assert_true(fy_equal(mixed, fy_layer_norm(half, n, fy_half(one), fy_half(one), 1e-5)));
  assert_raises(FY_RUNTIME_ERROR, "mixed dtype (CPU): expect parameter to have scalar type of Float",
                fy_layer_norm(x, n, two, NULL, 1e-5));
  assert_raises(FY_RUNTIME_ERROR, "mixed dtype (CPU): expect parameter to have scalar type of Float",
                fy_layer_norm(half, n, one, fy_half(one), 1e-5));
  assert_raises(FY_RUNTIME_ERROR, "mixed dtype (CPU): all inputs must share same datatype.",
                fy_layer_norm(fy_double(x), n, NULL, one, 1e-5));
  assert_raises(FY_RUNTIME_ERROR, "expected scalar type Float but found Half",
                fy_layer_norm(x, n, one, fy_half(one), 1e-5));
}

static FyTensor *random_leaf(FySize shape) {
  return fy_set_requires_grad(fy_randn_with((FyFactory){.size = shape, .device = device}), true);
}

// The sums of layer norm's and attention's gradients have one order.
static void test_any_number_of_threads(void **state) {
  FyTensor *first[6] = {NULL};
  const int before = fy_get_num_threads();
  (void)state;
  for (int threads = 1; threads <= 5; threads += 2) {
    fy_set_num_threads(threads);
    fy_manual_seed(3);
    FyTensor *x = random_leaf(fy_shape(700, 90)), *weight = random_leaf(fy_shape(90)),
             *q = random_leaf(fy_shape(3, 150, 8));
    FyTensor *normal = fy_layer_norm(x, fy_shape(90), weight, weight, 1e-5);
    FyTensor *mixed = fy_scaled_dot_product_attention(q, fy_neg(q), q, .is_causal = true);
    fy_backward(fy_sum(fy_mul(normal, normal)));
    fy_backward(fy_sum(fy_mul(mixed, mixed)));
    FyTensor *now[] = {normal, fy_grad(x), fy_grad(weight), mixed, fy_grad(q), weight};
    for (int i = 0; i < 6; i++) {
      if (first[i])
        assert_true(fy_equal(first[i], now[i]));
      else
        first[i] = now[i];
    }
  }
  fy_set_num_threads(before);
}

int main(int argc, char **argv) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_roots_of_infinity),        cmocka_unit_test(test_fill_with_what_does_not_fit),
      cmocka_unit_test(test_dropout_multiplies),       cmocka_unit_test(test_linspace_of_integers),
      cmocka_unit_test(test_random_values_in_place),   cmocka_unit_test(test_running_statistics),
      cmocka_unit_test(test_layer_norm_of_two_dtypes), cmocka_unit_test(test_any_number_of_threads),
  };
  device = fy_device(argc > 1 ? argv[1] : "cpu");
  return cmocka_run_group_tests(tests, NULL, NULL);
}
