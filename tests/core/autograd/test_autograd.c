// SPDX-License-Identifier: MIT
// The graph: accumulation, errors with PyTorch's texts, in-place changes, views, hooks, anomaly mode, depth.
//
// run check: FERRY_CUDA=off
// run: FERRY_SIM_DEVICES=2 FERRY_SIM_MODE=lazy -- cuda
#include "check.h"

static void test_chain_rule(void **state) {
  (void)state;
  FyTensor *x = leaf(fy_floats(1, 2, 3), 3);
  fy_backward(fy_sum(fy_mul(x, fy_exp(x))));
  expect(fy_grad(x), fy_floats(2 * expf(1), 3 * expf(2), 4 * expf(3)));
  assert_true(fy_is_leaf(x));
  assert_null(fy_grad_fn_name(x));
}

static void test_accumulates(void **state) {
  (void)state;
  FyTensor *x = leaf(fy_floats(1, 2), 2);
  fy_backward(fy_sum(fy_mul_scalar(x, 3)));
  fy_backward(fy_sum(fy_mul_scalar(x, 4)));
  expect(fy_grad(x), fy_floats(7, 7));
  fy_set_grad(x, NULL);
  assert_null(fy_grad(x));
  raises("can't assign Variable as its own grad", fy_set_grad(x, x));
}

static void test_one_tensor_used_twice(void **state) {
  (void)state;
  FyTensor *x = leaf(fy_floats(3), 1);
  fy_backward(fy_add(fy_mul(x, x), x));
  expect(fy_grad(x), fy_floats(7));
  FyTensor *a = leaf(fy_floats(1, 2), 2), *b = leaf(fy_floats(3, 4), 2);
  fy_backward(fy_sum(fy_add(a, b))); // both receive the very same gradient
  fy_add_scalar_(fy_grad(a), 1);
  expect(fy_grad(b), fy_floats(1, 1));
}

static void test_given_gradient(void **state) {
  (void)state;
  FyTensor *x = leaf(fy_floats(1, 2), 2);
  FyTensor *y = fy_mul(x, x);
  raises("grad can be implicitly created only for scalar outputs", fy_backward(y));
  raises(
      "Mismatch in shape: grad_output[0] has a shape of torch.Size([3]) and output[0] has a shape of torch.Size([2]).",
      fy_backward(y, .gradient = fy_ones(fy_shape(3), .device = device)));
  fy_backward(y, .gradient = fy_tensor(fy_floats(1, 10), fy_shape(2), .device = device));
  expect(fy_grad(x), fy_floats(2, 40));
}

static void test_no_gradient_to_be_had(void **state) {
  (void)state;
  FyTensor *x = leaf(fy_floats(1, 2), 2);
  const char *text = "element 0 of tensors does not require grad and does not have a grad_fn";
  raises(text, fy_backward(fy_sum(fy_detach(x))));
  fy_no_grad {
    assert_false(fy_is_grad_enabled());
    FyTensor *y = fy_mul(x, x);
    assert_false(fy_requires_grad(y));
    fy_enable_grad
      assert_true(fy_requires_grad(fy_mul(x, x)));
  }
  assert_true(fy_is_grad_enabled());
  raises("only Tensors of floating point dtype can require gradients", fy_set_requires_grad(fy_arange(3), true));
  raises("you can only change requires_grad flags of leaf variables.", fy_set_requires_grad(fy_exp(x), false));
}

static void test_second_backward(void **state) {
  (void)state;
  FyTensor *x = leaf(fy_floats(1, 2), 2);
  FyTensor *y = fy_sum(fy_mul(x, x));
  fy_backward(y, .retain_graph = true);
  fy_backward(y);
  expect(fy_grad(x), fy_floats(4, 8));
  raises("Trying to backward through the graph a second time", fy_backward(y));
}

static void test_saved_tensor_changed(void **state) {
  (void)state;
  FyTensor *x = leaf(fy_floats(-1, 2, 3), 3);
  FyTensor *y = fy_relu(x);
  FyTensor *z = fy_sum(fy_mul(y, y));
  fy_add_scalar_(y, 1);
  char text[320];
  snprintf(text, sizeof text,
           "one of the variables needed for gradient computation has been modified by an inplace operation: "
           "[torch.%sFloatTensor [3]], which is output 0 of AddBackward0, is at version 1; expected version 0 instead.",
           device.type == FY_CUDA ? "cuda." : "");
  raises(text, fy_backward(z));
  raises("which is output 0 of SigmoidBackward0, is at version 1", FyTensor *s = fy_sigmoid(x); FyTensor *w = fy_sum(s);
         fy_mul_scalar_(s, 2); fy_backward(w));
}

static void test_harmless_in_place(void **state) {
  (void)state;
  FyTensor *x = leaf(fy_floats(-1, 2, 3), 3);
  FyTensor *y = fy_add_scalar(x, 1);
  fy_add_scalar_(y, 1); // nobody saved y
  assert_string_equal(fy_grad_fn_name(y), "AddBackward0");
  assert_int_equal(fy_version_of(y), 1);
  fy_mul_(y, fy_tensor(fy_floats(2, 3, 4), fy_shape(3), .device = device));
  fy_backward(fy_sum(y));
  expect(fy_grad(x), fy_floats(2, 3, 4));
}

static void test_in_place_on_leaves(void **state) {
  (void)state;
  FyTensor *x = leaf(fy_floats(1, 2, 3), 3);
  raises("a leaf Variable that requires grad is being used in an in-place operation.", fy_add_scalar_(x, 1));
  raises("a view of a leaf Variable that requires grad is being used in an in-place operation.",
         fy_add_scalar_(fy_select(x, 0, 1), 1));
  fy_no_grad
    fy_add_scalar_(x, 1);
  expect(fy_detach(x), fy_floats(2, 3, 4));
  raises("output with shape [3] doesn't match the broadcast shape [2, 3]",
         fy_add_(fy_detach(x), fy_zeros(fy_shape(2, 3), .device = device)));
  raises("result type Float can't be cast to the desired output type Long",
         fy_add_(fy_arange(3, .device = device), fy_zeros(fy_shape(3), .device = device)));
}

static void test_in_place_on_views(void **state) {
  (void)state;
  FyTensor *x = leaf(fy_floats(1, 2, 3, 4), 4), *w = leaf(fy_floats(5, 6), 2);
  FyTensor *y = fy_mul_scalar(x, 2);
  FyTensor *tail = fy_slice(y, 0, 2, 4, 1);
  FyTensor *all = fy_view(y, fy_shape(2, 2));
  fy_mul_scalar_(tail, 5);
  fy_add_(tail, w); // y is now [2, 4, 35, 46]
  assert_string_equal(fy_grad_fn_name(y), "CopySlices");
  expect(fy_detach(y), fy_floats(2, 4, 35, 46));
  fy_backward(fy_sum(all)); // a view taken before the change sees its history too
  expect(fy_grad(x), fy_floats(2, 2, 10, 10));
  expect(fy_grad(w), fy_floats(1, 1));
}

static void test_filling_a_buffer(void **state) {
  (void)state;
  FyTensor *x = leaf(fy_floats(1, 2, 3), 3);
  FyTensor *results = fy_zeros(fy_shape(3), .device = device);
  for (int i = 0; i < 3; i++)
    fy_copy_(fy_select(results, 0, i), fy_mul_scalar(fy_select(x, 0, i), i + 1));
  fy_backward(fy_sum(results));
  expect(fy_grad(x), fy_floats(1, 2, 3));
}

static void test_broadcast_and_dtypes(void **state) {
  (void)state;
  FyTensor *a = leaf(fy_floats(1, 2, 3), 3);
  FyTensor *b = fy_ones(fy_shape(2, 1), .dtype = FY_FLOAT64, .device = device, .requires_grad = true);
  FyTensor *y = fy_mul(a, b);
  assert_int_equal(fy_dtype_of(y), FY_FLOAT64);
  fy_backward(fy_sum(y));
  assert_int_equal(fy_dtype_of(fy_grad(a)), FY_FLOAT32);
  expect(fy_grad(a), fy_floats(2, 2, 2));
  expect(fy_to_dtype(fy_grad(b), FY_FLOAT32), fy_floats(6, 6));
}

static void test_across_devices(void **state) {
  (void)state;
  FyTensor *x = fy_tensor(fy_floats(1, 2), fy_shape(2), .requires_grad = true);
  FyTensor *y = fy_to(x, device);
  fy_backward(fy_sum(fy_mul(y, y)));
  assert_false(fy_is_cuda(fy_grad(x)));
  expect(fy_grad(x), fy_floats(2, 4));
}

static FyTensor *double_it(FyTensor *grad, void *context) {
  ++*(int *)context;
  return fy_mul_scalar(grad, 2);
}

static void count_leaf(FyTensor *t, void *context) {
  assert_non_null(fy_grad(t));
  ++*(int *)context;
}

static void test_hooks(void **state) {
  (void)state;
  int calls = 0, leaf_calls = 0;
  FyTensor *x = leaf(fy_floats(1, 2), 2);
  FyTensor *y = fy_mul_scalar(x, 3);
  fy_register_hook(y, double_it, &calls, NULL);
  fy_register_hook(x, double_it, &calls, NULL);
  fy_register_post_accumulate_grad_hook(x, count_leaf, &leaf_calls, NULL);
  fy_retain_grad(y);
  fy_backward(fy_sum(y));
  assert_int_equal(calls, 2);
  assert_int_equal(leaf_calls, 1);
  expect(fy_grad(x), fy_floats(12, 12));
  expect(fy_grad(y), fy_floats(2, 2));
  raises("cannot register a hook on a tensor that doesn't require gradient",
         fy_register_hook(fy_detach(x), double_it, &calls, NULL));
}

static void test_retain_grad_of_a_dropped_tensor(void **state) {
  (void)state;
  FyTensor *x = leaf(fy_floats(1, 2), 2), *z = NULL;
  fy_scope {
    FyTensor *y = fy_mul_scalar(x, 3);
    fy_retain_grad(y);
    z = fy_keep(fy_sum(y));
  }
  fy_backward(z);
  expect(fy_grad(x), fy_floats(3, 3));
}

static void test_autograd_grad(void **state) {
  (void)state;
  FyTensor *x = leaf(fy_floats(1, 2), 2), *unused = leaf(fy_floats(1), 1), *grads[3];
  FyTensor *y = fy_mul(x, x);
  FyTensor *z = fy_sum(fy_mul(y, x));
  fy_autograd_grad(z, fy_list(x, y, unused), NULL, false, grads);
  expect(grads[0], fy_floats(3, 12));
  expect(grads[1], fy_floats(1, 2));
  assert_null(grads[2]);
  assert_null(fy_grad(x));
}

static void test_anomaly_mode(void **state) {
  (void)state;
  FyTensor *x = leaf(fy_floats(0, 1), 2);
  fy_set_detect_anomaly(true);
  fy_retain(x); // the text goes to standard error as well
  raises("Function 'SqrtBackward0' returned nan values in its 0th output.",
         fy_backward(fy_sum(fy_mul_scalar(fy_sqrt(fy_mul_scalar(x, 0)), 0))));
  fy_set_detect_anomaly(false);
  fy_release(x);
}

static void test_deep_graph(void **state) {
  (void)state;
  FyTensor *x = leaf(fy_floats(1), 1);
  fy_scope {
    FyTensor *y = x;
    for (int i = 0; i < 20000; i++) {
      FyTensor *next = fy_add_scalar(y, 0);
      if (y != x)
        fy_drop(y);
      y = next;
    }
    fy_backward(y);
    // and a chain that nobody ever goes through
    FyTensor *z = x;
    for (int i = 0; i < 20000; i++)
      z = fy_mul_scalar(z, 1);
  }
  expect(fy_grad(x), fy_floats(1));
}

static void test_backward_frees_what_it_saved(void **state) {
  (void)state;
  FyTensor *x = leaf(fy_floats(1, 2, 3, 4), 4);
  size_t before = fy_memory_allocated(device);
  fy_scope {
    FyTensor *y = NULL;
    fy_scope {
      y = fy_keep(fy_sum(fy_exp(fy_exp(fy_exp(x)))));
    }
    size_t with_graph = fy_memory_allocated(device);
    fy_backward(y);
    assert_true(fy_memory_allocated(device) < with_graph);
  }
  fy_set_grad(x, NULL);
  assert_int_equal(fy_memory_allocated(device), before);
}

int main(int argc, char **argv) {
  device = fy_device(argc > 1 ? argv[1] : "cpu");
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_chain_rule),
      cmocka_unit_test(test_accumulates),
      cmocka_unit_test(test_one_tensor_used_twice),
      cmocka_unit_test(test_given_gradient),
      cmocka_unit_test(test_no_gradient_to_be_had),
      cmocka_unit_test(test_second_backward),
      cmocka_unit_test(test_saved_tensor_changed),
      cmocka_unit_test(test_harmless_in_place),
      cmocka_unit_test(test_in_place_on_leaves),
      cmocka_unit_test(test_in_place_on_views),
      cmocka_unit_test(test_filling_a_buffer),
      cmocka_unit_test(test_broadcast_and_dtypes),
      cmocka_unit_test(test_across_devices),
      cmocka_unit_test(test_hooks),
      cmocka_unit_test(test_retain_grad_of_a_dropped_tensor),
      cmocka_unit_test(test_autograd_grad),
      cmocka_unit_test(test_anomaly_mode),
      cmocka_unit_test(test_deep_graph),
      cmocka_unit_test(test_backward_frees_what_it_saved),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
