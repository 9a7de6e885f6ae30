// SPDX-License-Identifier: MIT
// Hooks and retain_grad: they belong to an output, whatever happens to the tensor later.
//
// run check: FERRY_CUDA=off
// run: FERRY_SIM_DEVICES=2 FERRY_SIM_MODE=lazy -- cuda
#include "check.h"

static FyTensor *computed(FyTensor *x) {
  return fy_mul_scalar(x, 2);
}

// A hook asked about the value of then; retain_grad about the tensor, and comes after all hooks.
static void test_after_a_change_in_place(void **state) {
  (void)state;
  int early = 0, late = 0;
  FyTensor *x = leaf(fy_floats(1, 1), 2), *y = computed(x);
  fy_retain_grad(y);
  fy_register_hook(y, times_ten, &early, NULL);
  fy_add_scalar_(y, 1);
  fy_register_hook(y, times_hundred, &late, NULL);
  fy_backward(fy_sum(y));
  assert_int_equal(early, 1);
  assert_int_equal(late, 1);
  expect(fy_grad(y), fy_floats(100, 100));
  expect(fy_grad(x), fy_floats(2000, 2000));
}

static void test_retained_twice(void **state) {
  (void)state;
  FyTensor *y = computed(leaf(fy_floats(1, 1), 2));
  fy_retain_grad(y), fy_retain_grad(y);
  FyTensor *z = fy_sum(y);
  fy_backward(z, .retain_graph = true);
  fy_backward(z);
  expect(fy_grad(y), fy_floats(2, 2));
}

static void test_dropped_after_a_change_in_place(void **state) {
  (void)state;
  FyTensor *x = leaf(fy_floats(1, 1), 2), *y = computed(x);
  fy_retain_grad(y);
  fy_add_scalar_(y, 1);
  FyTensor *z = fy_sum(y);
  fy_drop(y);
  fy_backward(z);
  expect(fy_grad(x), fy_floats(2, 2));
}

static void test_dropped_view_of_a_changed_base(void **state) {
  (void)state;
  FyTensor *x = leaf(fy_floats(1, 1), 2), *b = computed(x), *v = fy_view(b, fy_shape(2, 1));
  fy_retain_grad(v);
  fy_add_scalar_(b, 1);
  FyTensor *z = fy_sum(fy_mul_scalar(v, 3));
  fy_drop(v);
  fy_backward(z);
  expect(fy_grad(x), fy_floats(6, 6));
}

static void test_on_a_view_of_a_changed_base(void **state) {
  (void)state;
  int calls = 0;
  FyTensor *x = leaf(fy_floats(1, 1), 2), *b = computed(x), *v = fy_view(b, fy_shape(2, 1));
  fy_add_scalar_(b, 1);
  fy_retain_grad(v);
  fy_register_hook(v, times_ten, &calls, NULL);
  fy_backward(fy_sum(fy_mul_scalar(v, 3)));
  assert_int_equal(calls, 1);
  expect(fy_grad(v), fy_floats(30, 30));
  expect(fy_grad(x), fy_floats(60, 60));
}

static void test_on_a_base_changed_through_its_view(void **state) {
  (void)state;
  FyTensor *x = leaf(fy_floats(1, 1), 2), *b = computed(x);
  fy_retain_grad(b);
  fy_mul_scalar_(fy_narrow(b, 0, 0, 1), 5);
  fy_backward(fy_sum(fy_mul_scalar(b, 3)));
  expect(fy_grad(b), fy_floats(3, 3)); // of the new value
  expect(fy_grad(x), fy_floats(30, 6));
}

static void test_of_a_leaf(void **state) {
  (void)state;
  int calls = 0;
  FyTensor *x = leaf(fy_floats(1, 1), 2);
  fy_retain_grad(x); // nothing to do
  fy_register_hook(x, times_ten, &calls, NULL);
  fy_register_hook(x, times_hundred, &calls, NULL);
  fy_backward(fy_sum(computed(x)));
  assert_int_equal(calls, 2);
  expect(fy_grad(x), fy_floats(2000, 2000));
  raises("can't retain_grad on Tensor that has requires_grad=False",
         fy_retain_grad(fy_ones(fy_shape(1), .device = device)));
}

static void raise_in_hook(FyTensor *t, void *context) {
  (void)t;
  (void)context;
  fy_raise(FY_VALUE_ERROR, "the hook gives up");
}

static void test_an_error_in_a_hook(void **state) {
  (void)state;
  FyTensor *x = leaf(fy_floats(1, 1), 2);
  fy_register_post_accumulate_grad_hook(x, raise_in_hook, NULL, NULL);
  raises("the hook gives up", fy_backward(fy_sum(computed(x))));
  raises("the hook gives up", fy_backward(fy_sum(computed(x)))); // no lock was left behind
  expect(fy_grad(x), fy_floats(4, 4));
}

int main(int argc, char **argv) {
  device = fy_device(argc > 1 ? argv[1] : "cpu");
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_after_a_change_in_place),
      cmocka_unit_test(test_retained_twice),
      cmocka_unit_test(test_dropped_after_a_change_in_place),
      cmocka_unit_test(test_dropped_view_of_a_changed_base),
      cmocka_unit_test(test_on_a_view_of_a_changed_base),
      cmocka_unit_test(test_on_a_base_changed_through_its_view),
      cmocka_unit_test(test_of_a_leaf),
      cmocka_unit_test(test_an_error_in_a_hook),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
