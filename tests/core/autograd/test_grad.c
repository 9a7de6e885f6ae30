// SPDX-License-Identifier: MIT
// fy_autograd_grad: what it runs, what it frees, what hooks make of its gradients.
//
// run check: FERRY_CUDA=off
// run: FERRY_SIM_DEVICES=2 FERRY_SIM_MODE=lazy -- cuda
#include "check.h"

static void test_only_what_is_needed_runs(void **state) {
  (void)state;
  int calls = 0;
  FyTensor *x = leaf(fy_floats(1, 2), 2), *w = leaf(fy_floats(3, 4), 2), *grads[1];
  FyTensor *aside = fy_exp(w), *y = fy_mul(fy_exp(x), aside), *z = fy_sum(y);
  fy_register_hook(aside, times_ten, &calls, NULL);
  fy_autograd_grad(z, fy_list(x), NULL, false, grads);
  expect(grads[0], fy_floats(expf(1 + 3), expf(2 + 4)));
  assert_int_equal(calls, 0);
  // What was not run was not freed either.
  fy_backward(fy_sum(aside));
  expect(fy_grad(w), fy_floats(10 * expf(3), 10 * expf(4)));
  assert_null(fy_grad(x));
  raises("Trying to backward through the graph a second time", fy_backward(z));
}

static void test_an_intermediate(void **state) {
  (void)state;
  FyTensor *x = leaf(fy_floats(1, 2), 2), *grads[1];
  FyTensor *y = fy_exp(x), *z = fy_sum(fy_mul(y, y));
  fy_autograd_grad(z, fy_list(y), NULL, false, grads);
  expect(grads[0], fy_floats(2 * expf(1), 2 * expf(2)));
  fy_backward(fy_sum(y)); // exp itself did not run
  expect(fy_grad(x), fy_floats(expf(1), expf(2)));
}

// As PyTorch: hooks have changed a gradient where the walk ends with it, and not where it goes on from there.
static void test_hooks_and_captures(void **state) {
  (void)state;
  int calls = 0;
  FyTensor *x = leaf(fy_floats(1, 1), 2), *y = fy_mul_scalar(x, 2), *grads[2];
  fy_register_hook(y, times_ten, &calls, NULL);
  FyTensor *z = fy_sum(fy_mul_scalar(y, 3));
  fy_autograd_grad(z, fy_list(x, y), NULL, true, grads);
  expect(grads[0], fy_floats(60, 60));
  expect(grads[1], fy_floats(3, 3));
  fy_autograd_grad(z, fy_list(y), NULL, true, grads);
  expect(grads[0], fy_floats(30, 30));
  assert_int_equal(calls, 2);
  fy_register_hook(x, times_hundred, &calls, NULL);
  fy_autograd_grad(z, fy_list(x), NULL, true, grads);
  expect(grads[0], fy_floats(6000, 6000));
  assert_null(fy_grad(x));
}

static void test_retained_on_the_way(void **state) {
  (void)state;
  FyTensor *x = leaf(fy_floats(1, 1), 2), *y = fy_mul_scalar(x, 2), *grads[1];
  fy_retain_grad(y);
  FyTensor *z = fy_sum(fy_mul_scalar(y, 3));
  fy_autograd_grad(z, fy_list(x), NULL, true, grads);
  expect(fy_grad(y), fy_floats(3, 3));
  fy_autograd_grad(z, fy_list(y), NULL, true, grads);
  expect(fy_grad(y), fy_floats(6, 6));
}

static void test_the_root_and_the_same_input_twice(void **state) {
  (void)state;
  FyTensor *x = leaf(fy_floats(2), 1), *y = fy_mul(x, x), *grads[3];
  fy_autograd_grad(y, fy_list(y, x, x), NULL, false, grads);
  expect(grads[0], fy_floats(1));
  expect(grads[1], fy_floats(4));
  expect(grads[2], fy_floats(4));
}

static void test_of_an_early_view(void **state) {
  (void)state;
  FyTensor *w = leaf(fy_floats(1, 2), 2), *grads[2];
  FyTensor *b = fy_zeros(fy_shape(2), .device = device), *v = fy_view(b, fy_shape(2));
  fy_add_(b, fy_mul_scalar(w, 3));
  fy_autograd_grad(fy_sum(fy_mul(v, v)), fy_list(v, w), NULL, false, grads);
  expect(grads[0], fy_floats(6, 12));
  expect(grads[1], fy_floats(18, 36));
}

// The view's history is written anew while its consumer is recorded: the consumer is younger all the same.
static void test_through_a_view_of_a_changed_base(void **state) {
  (void)state;
  FyTensor *x = leaf(fy_floats(1, 2), 2), *b = fy_add_scalar(x, 1), *v = fy_view(b, fy_shape(2)), *grads[1];
  fy_add_scalar_(b, 1);
  fy_autograd_grad(fy_sum(fy_mul_scalar(v, 2)), fy_list(x), NULL, false, grads);
  expect(grads[0], fy_floats(2, 2));
}

static void test_a_gradient_is_the_caller_s(void **state) {
  (void)state;
  FyTensor *x = leaf(fy_floats(2), 1), *grads[1];
  fy_autograd_grad(fy_mean(x), fy_list(x), NULL, false, grads);
  fy_div_(grads[0], x); // recorded
  expect(grads[0], fy_floats(0.5f));
  assert_true(fy_requires_grad(grads[0]));
}

static void test_not_part_of_the_graph(void **state) {
  (void)state;
  FyTensor *x = leaf(fy_floats(1), 1), *unused = leaf(fy_floats(1), 1), *grads[1];
  fy_autograd_grad(fy_exp(x), fy_list(unused), NULL, false, grads);
  assert_null(grads[0]);
  raises("One of the differentiated Tensors does not require grad",
         fy_autograd_grad(fy_exp(x), fy_list(fy_detach(x)), NULL, false, grads));
}

int main(int argc, char **argv) {
  device = fy_device(argc > 1 ? argv[1] : "cpu");
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_only_what_is_needed_runs),
      cmocka_unit_test(test_an_intermediate),
      cmocka_unit_test(test_hooks_and_captures),
      cmocka_unit_test(test_retained_on_the_way),
      cmocka_unit_test(test_the_root_and_the_same_input_twice),
      cmocka_unit_test(test_of_an_early_view),
      cmocka_unit_test(test_through_a_view_of_a_changed_base),
      cmocka_unit_test(test_a_gradient_is_the_caller_s),
      cmocka_unit_test(test_not_part_of_the_graph),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
