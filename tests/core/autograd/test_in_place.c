// SPDX-License-Identifier: MIT
// Changes in place whose op needs the old value, and those that leave nothing of it.
//
// run check: FERRY_CUDA=off
// run: FERRY_SIM_DEVICES=2 FERRY_SIM_MODE=lazy -- cuda
#include "check.h"

static FyTensor *computed(FyTensor *x) {
  return fy_mul_scalar(x, 1);
}

static void test_the_old_value_is_kept(void **state) {
  (void)state;
  FyTensor *x = leaf(fy_floats(1, 2, 4), 3);
  fy_backward(fy_sum(fy_log_(computed(x))));
  expect(fy_grad(x), fy_floats(1, 0.5f, 0.25f));
  fy_set_grad(x, NULL);
  fy_backward(fy_sum(fy_pow_scalar_(computed(x), 3)));
  expect(fy_grad(x), fy_floats(3, 12, 48));
  fy_set_grad(x, NULL);
  fy_backward(fy_sum(fy_clamp_(computed(x), 1.5, 3)));
  expect(fy_grad(x), fy_floats(0, 1, 0));
}

static void test_both_operands_get_gradients(void **state) {
  (void)state;
  FyTensor *x = leaf(fy_floats(1, 2, 4), 3), *w = leaf(fy_floats(2, 5, 10), 3);
  fy_backward(fy_sum(fy_mul_(computed(x), w)));
  expect(fy_grad(x), fy_floats(2, 5, 10));
  expect(fy_grad(w), fy_floats(1, 2, 4));
  fy_set_grad(x, NULL), fy_set_grad(w, NULL);
  fy_backward(fy_sum(fy_div_(computed(x), w)));
  expect(fy_grad(x), fy_floats(0.5f, 0.2f, 0.1f));
  expect(fy_grad(w), fy_floats(-0.25f, -2.f / 25, -0.04f));
}

static void test_on_a_view(void **state) {
  (void)state;
  FyTensor *x = leaf(fy_floats(1, 2, 4), 3), *w = leaf(fy_floats(3, 5), 2);
  FyTensor *b = computed(x);
  fy_mul_(fy_narrow(b, 0, 1, 2), w);
  fy_log_(fy_narrow(b, 0, 0, 2));
  fy_backward(fy_sum(b));
  expect(fy_grad(x), fy_floats(1, 0.5f, 5));
  expect(fy_grad(w), fy_floats(1.f / 3, 4));
}

static void test_by_itself(void **state) {
  (void)state;
  FyTensor *x = leaf(fy_floats(1, 2), 2), *y = computed(x);
  fy_mul_(y, y);
  raises("is at version 1; expected version 0 instead", fy_backward(fy_sum(y)));
}

// An output that backward needs is the new value: exp, sqrt, tanh, sigmoid and relu keep no copy.
static void test_the_new_value_is_enough(void **state) {
  (void)state;
  FyTensor *x = leaf(fy_floats(1, 4), 2);
  fy_backward(fy_sum(fy_sqrt_(computed(x))));
  expect(fy_grad(x), fy_floats(0.5f, 0.25f));
  FyTensor *y = fy_exp_(computed(x));
  fy_add_scalar_(y, 1);
  raises("which is output 0 of ExpBackward0, is at version 2; expected version 1 instead", fy_backward(fy_sum(y)));
}

static void test_overwritten(void **state) {
  (void)state;
  int calls = 0;
  FyTensor *x = leaf(fy_floats(1, 2), 2);
  fy_register_hook(x, times_ten, &calls, NULL);
  FyTensor *y = computed(x);
  fy_fill_(y, 3);
  assert_string_equal(fy_grad_fn_name(y), "FillBackward2");
  assert_string_equal(fy_grad_fn_name(fy_zero_(computed(x))), "ZeroBackward0");
  fy_backward(fy_sum(y));
  expect(fy_grad(x), fy_floats(0, 0));
  assert_int_equal(calls, 1);
  fy_set_grad(x, NULL);
  FyTensor *source = leaf(fy_floats(5, 6), 2), *z = computed(x);
  fy_copy_(z, source);
  fy_backward(fy_sum(z));
  expect(fy_grad(x), fy_floats(0, 0));
  expect(fy_grad(source), fy_floats(1, 1));
  fy_set_grad(x, NULL);
  fy_backward(fy_sum(fy_zero_(computed(x))));
  expect(fy_grad(x), fy_floats(0, 0));
  fy_set_grad(x, NULL);
  fy_backward(fy_sum(fy_normal_(fy_uniform_(computed(x), 0, 1), 0, 1)));
  expect(fy_grad(x), fy_floats(0, 0));
}

// What an op saved of a tensor must not be held by the tensor's own later history.
static void test_no_circle(void **state) {
  (void)state;
  const size_t before = fy_memory_allocated(device);
  fy_scope {
    FyTensor *x = leaf(fy_floats(1, 2), 2), *y = fy_exp(x), *z = fy_abs(y);
    fy_copy_(y, z);
    FyTensor *plain = fy_zeros(fy_shape(2), .device = device);
    fy_add_(plain, fy_mul(plain, x));
    raises("is at version 1; expected version 0 instead", fy_backward(fy_sum(plain)));
  }
  fy_synchronize(device);
  assert_int_equal(fy_memory_allocated(device), before);
}

static void test_an_integer_target_records_nothing(void **state) {
  (void)state;
  FyTensor *x = leaf(fy_floats(1, 2), 2), *target = fy_zeros(fy_shape(2), .dtype = FY_INT64, .device = device);
  fy_copy_(target, x);
  assert_false(fy_requires_grad(target));
  assert_true(fy_is_leaf(target));
  FyTensor *elsewhere = fy_zeros(fy_shape(2), .dtype = FY_INT64);
  fy_copy_(elsewhere, x);
  assert_false(fy_requires_grad(elsewhere));
}

static void test_a_leaf_switched_off_after_the_forward(void **state) {
  (void)state;
  FyTensor *x = leaf(fy_floats(1, 2), 2), *y = fy_sum(fy_mul_scalar(x, 2));
  fy_set_requires_grad(x, false);
  fy_backward(y);
  assert_null(fy_grad(x));
}

int main(int argc, char **argv) {
  device = fy_device(argc > 1 ? argv[1] : "cpu");
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_the_old_value_is_kept),
      cmocka_unit_test(test_both_operands_get_gradients),
      cmocka_unit_test(test_on_a_view),
      cmocka_unit_test(test_by_itself),
      cmocka_unit_test(test_the_new_value_is_enough),
      cmocka_unit_test(test_overwritten),
      cmocka_unit_test(test_no_circle),
      cmocka_unit_test(test_an_integer_target_records_nothing),
      cmocka_unit_test(test_a_leaf_switched_off_after_the_forward),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
