// SPDX-License-Identifier: MIT
// Views in the graph: made early, of views, changed in place, expanded, refused.
//
// run check: FERRY_CUDA=off
// run: FERRY_SIM_DEVICES=2 FERRY_SIM_MODE=lazy -- cuda
#include "check.h"

static FyTensor *ones(int64_t n) {
  return fy_ones(fy_shape(n), .device = device);
}

// A tensor with a history.
static FyTensor *computed(FyTensor *x) {
  return fy_mul_scalar(x, 1);
}

static void test_made_before_the_base_has_a_history(void **state) {
  (void)state;
  FyTensor *w = leaf(fy_floats(1, 2, 3), 3);
  FyTensor *b = fy_zeros(fy_shape(3), .device = device), *v = fy_view(b, fy_shape(3));
  fy_add_(b, fy_mul_scalar(w, 3));
  assert_true(fy_requires_grad(v));
  assert_false(fy_is_leaf(v));
  assert_string_equal(fy_grad_fn_name(v), "AsStridedBackward0");
  fy_backward(fy_sum(v));
  expect(fy_grad(w), fy_floats(3, 3, 3));
}

// As in PyTorch, where v.requires_grad says True and v stays a leaf without a gradient of its own.
static void test_made_before_the_base_requires_grad(void **state) {
  (void)state;
  FyTensor *b = ones(3), *v = fy_view(b, fy_shape(3));
  fy_set_requires_grad(b, true);
  assert_true(fy_requires_grad(v));
  assert_true(fy_is_leaf(v));
  assert_null(fy_grad_fn_name(v));
  fy_backward(fy_sum(fy_mul_scalar(v, 2)));
  assert_null(fy_grad(v));
  assert_null(fy_grad(b));
  raises("element 0 of tensors does not require grad and does not have a grad_fn", fy_backward(v, fy_ones_like(v)));
}

static void test_a_leaf_of_its_own(void **state) {
  (void)state;
  FyTensor *b = ones(3), *v = fy_view(b, fy_shape(3));
  fy_set_requires_grad(v, true);
  fy_backward(fy_sum(fy_mul_scalar(v, 2)));
  expect(fy_grad(v), fy_floats(2, 2, 2));
  assert_false(fy_requires_grad(b));
  fy_add_scalar_(b, 1); // nothing to record
  assert_true(fy_is_leaf(v));
  raises("a view of a leaf Variable that requires grad is being used in an in-place operation.", fy_add_scalar_(v, 1));
  fy_add_(b, leaf(fy_floats(1, 1, 1), 3));
  assert_string_equal(fy_grad_fn_name(v), "AsStridedBackward0");
}

static void test_views_of_views(void **state) {
  (void)state;
  FyTensor *x = fy_set_requires_grad(fy_arange(6, .dtype = FY_FLOAT32, .device = device), true);
  FyTensor *b = computed(x);
  FyTensor *rows = fy_view(b, fy_shape(2, 3)), *column = fy_select(fy_t(rows), 0, 1); // elements 1 and 4
  fy_mul_scalar_(column, 10);
  expect(b, fy_floats(0, 10, 2, 3, 40, 5));
  fy_backward(fy_sum(fy_mul(rows, rows)));
  expect(fy_grad(x), fy_floats(0, 200, 4, 6, 800, 10));
}

static void test_two_views_changed_in_turn(void **state) {
  (void)state;
  FyTensor *x = leaf(fy_floats(1, 2, 3, 4), 4), *w = leaf(fy_floats(5, 6), 2);
  FyTensor *b = computed(x), *head = fy_narrow(b, 0, 0, 2), *middle = fy_narrow(b, 0, 1, 2);
  fy_mul_(head, w);          // 5, 12, 3, 4
  fy_mul_scalar_(middle, 2); // 5, 24, 6, 4
  fy_add_(head, middle);     // 29, 30, 6, 4 (head overlaps what it adds)
  expect(b, fy_floats(29, 30, 6, 4));
  fy_backward(fy_sum(b));
  // b = (5 x0 + 2 * 6 x1, 2 * 6 x1 + 2 x2, 2 x2, x3)
  expect(fy_grad(x), fy_floats(5, 24, 4, 1));
  expect(fy_grad(w), fy_floats(1, 8));
}

static void test_an_expanded_view_and_its_base_changed(void **state) {
  (void)state;
  FyTensor *x = leaf(fy_floats(3), 1);
  FyTensor *b = computed(x), *v = fy_expand(b, fy_shape(2, 3));
  fy_mul_scalar_(b, 2);
  fy_backward(fy_sum(fy_mul(v, v)));
  expect(fy_grad(x), fy_floats(2 * 6 * 6 * 2));
}

static void test_a_base_that_is_not_contiguous(void **state) {
  (void)state;
  FyTensor *w = leaf(fy_floats(1, 2), 2);
  FyTensor *base =
      fy_detach(fy_t(fy_view(fy_arange(6, .dtype = FY_FLOAT32, .device = device), fy_shape(2, 3)))); // 3 x 2
  FyTensor *row = fy_select(base, 0, 1);                                                             // 1, 4
  fy_mul_(row, w);
  expect(base, fy_floats(0, 3, 1, 8, 2, 5));
  fy_backward(fy_sum(fy_mul(base, base)));
  expect(fy_grad(w), fy_floats(2, 64));
}

static void test_overlapping_targets(void **state) {
  (void)state;
  const char *text = "unsupported operation: more than one element of the written-to tensor refers to a single memory "
                     "location. Please fy_clone() the tensor before performing the operation.";
  FyTensor *x = fy_expand(fy_zeros(fy_shape(1), .device = device), fy_shape(3));
  raises(text, fy_add_scalar_(x, 1));
  raises(text, fy_relu_(x));
  raises(text, fy_copy_(x, ones(3)));
  raises(text, fy_copy_(x, fy_ones(fy_shape(3))));
  raises(text, fy_uniform_(x, 0, 1));
  expect(x, fy_floats(0, 0, 0));
  fy_fill_(x, 4); // the same for all
  expect(x, fy_floats(4, 4, 4));
  FyTensor *y = leaf(fy_floats(1, 2), 2);
  fy_backward(fy_sum(y));
  fy_mul_scalar_(fy_grad(y), 5); // .grad is no expanded one
  expect(fy_grad(y), fy_floats(5, 5));
}

#define FORBIDDEN                                                                                                      \
  " Given that this use case is ambiguous and error-prone, it is forbidden. You can clarify your code by moving both " \
  "the view and the inplace either both inside the no_grad block (if you don't want the inplace to be tracked) or "    \
  "both outside (if you want the inplace to be tracked)."

static void test_made_under_no_grad(void **state) {
  (void)state;
  FyTensor *b = computed(leaf(fy_floats(1, 2, 3), 3)), *v = NULL;
  fy_no_grad {
    v = fy_narrow(b, 0, 0, 2);
  }
  assert_true(fy_requires_grad(v));
  assert_true(fy_is_leaf(v));
  assert_null(fy_grad_fn_name(v));
  raises("A view was created in no_grad mode and is being modified inplace with grad mode enabled." FORBIDDEN,
         fy_add_scalar_(v, 1));
  raises(
      "Output 0 of ViewBackward0 is a view of a view which was created in no_grad mode and is being modified inplace "
      "with grad mode enabled." FORBIDDEN,
      fy_mul_scalar_(fy_view(v, fy_shape(2)), 2));
  expect(b, fy_floats(1, 2, 3));
  fy_no_grad {
    fy_add_scalar_(v, 1); // nobody records it
  }
  expect(b, fy_floats(2, 3, 3));
  fy_add_scalar_(b, 1);
  raises("A view was created in no_grad mode and its base or another view of its base has been modified inplace with "
         "grad mode enabled." FORBIDDEN,
         fy_mul_scalar(v, 2));
  assert_string_equal(fy_grad_fn_name(v), "Invalid");
  char *text = fy_repr(v);
  assert_non_null(strstr(text, "grad_fn=<Invalid>"));
  free(text);
}

#define SEVERAL                                                                                                        \
  " This view is the output of a function that returns multiple views. Such functions do not allow the output views "  \
  "to be modified inplace. You should replace the inplace operation by an out-of-place one."

static void test_one_of_several(void **state) {
  (void)state;
  FyTensor *x = leaf(fy_floats(1, 2, 3, 4), 4), *b = computed(x), *parts[2];
  assert_int_equal(fy_chunk(b, 2, 0, parts), 2);
  assert_string_equal(fy_grad_fn_name(parts[1]), "SplitBackward0");
  raises("Output 1 of SplitBackward0 is a view and is being modified inplace." SEVERAL, fy_add_scalar_(parts[1], 1));
  raises("Output 0 of ViewBackward0 is a view and is being modified inplace." SEVERAL,
         fy_add_scalar_(fy_view(parts[1], fy_shape(2)), 1));
  fy_backward(fy_sum(fy_mul(parts[0], parts[1])), .retain_graph = true);
  expect(fy_grad(x), fy_floats(3, 4, 1, 2));
  fy_add_scalar_(b, 1);
  raises("Output 0 of SplitBackward0 is a view and its base or another view of its base has been modified "
         "inplace." SEVERAL,
         fy_mul_scalar(parts[0], 2));
  FyTensor *plain = ones(4), *halves[2];
  fy_chunk(plain, 2, 0, halves);
  raises("A view was created in no_grad mode and is being modified inplace with grad mode enabled." SEVERAL,
         fy_add_(halves[1], leaf(fy_floats(1, 1), 2)));
  fy_add_scalar_(halves[1], 1);
  expect(plain, fy_floats(1, 1, 2, 2));
}

static void test_views_of_leaves(void **state) {
  (void)state;
  FyTensor *x = leaf(fy_floats(1, 2), 2), *v = NULL;
  raises("a view of a leaf Variable that requires grad is being used in an in-place operation.",
         fy_add_scalar_(fy_narrow(x, 0, 0, 1), 1));
  fy_no_grad {
    v = fy_narrow(x, 0, 0, 1);
  }
  raises("A view was created in no_grad mode and is being modified inplace with grad mode enabled.",
         fy_add_scalar_(v, 1));
  fy_set_requires_grad(v, false); // no error, and no effect: its base still does
  assert_true(fy_requires_grad(v));
}

static void test_detached_shares_the_version(void **state) {
  (void)state;
  FyTensor *x = leaf(fy_floats(1, 2), 2), *b = computed(x), *v = fy_view(b, fy_shape(2, 1));
  fy_mul_scalar_(fy_detach(b), 7); // unseen by the graph, but counted
  assert_string_equal(fy_grad_fn_name(v), "AsStridedBackward0");
  fy_backward(fy_sum(v));
  expect(fy_grad(x), fy_floats(1, 1));
}

// CopySlices gives the op on the view up with what the op saved, also where that is nothing.
static void test_a_second_backward_through_a_changed_view(void **state) {
  (void)state;
  FyTensor *w = leaf(fy_floats(1, 2), 2), *b = fy_zeros(fy_shape(2), .device = device);
  fy_add_(fy_view(b, fy_shape(2)), w);
  FyTensor *y = fy_sum(b);
  fy_backward(y, .retain_graph = true);
  fy_backward(y);
  raises("Trying to backward through the graph a second time", fy_backward(y));
  expect(fy_grad(w), fy_floats(2, 2));
}

// A failure inside of an op on a view, in backward, leaves the graph as it was: the next backward is right.
static void test_backward_after_a_failed_one(void **state) {
  (void)state;
  FyTensor *x = leaf(fy_floats(1, 2), 2), *w = leaf(fy_floats(3), 1);
  FyTensor *b = computed(x), *factor = computed(w), *v = fy_narrow(b, 0, 0, 1);
  fy_mul_(v, factor);
  fy_no_grad {
    fy_add_scalar_(factor, 1);
  }
  FyTensor *y = fy_sum(b);
  raises("modified by an inplace operation", fy_backward(y, .retain_graph = true));
  raises("modified by an inplace operation", fy_backward(y, .retain_graph = true));
}

int main(int argc, char **argv) {
  device = fy_device(argc > 1 ? argv[1] : "cpu");
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_made_before_the_base_has_a_history),
      cmocka_unit_test(test_made_before_the_base_requires_grad),
      cmocka_unit_test(test_a_leaf_of_its_own),
      cmocka_unit_test(test_views_of_views),
      cmocka_unit_test(test_two_views_changed_in_turn),
      cmocka_unit_test(test_an_expanded_view_and_its_base_changed),
      cmocka_unit_test(test_a_base_that_is_not_contiguous),
      cmocka_unit_test(test_overlapping_targets),
      cmocka_unit_test(test_made_under_no_grad),
      cmocka_unit_test(test_one_of_several),
      cmocka_unit_test(test_views_of_leaves),
      cmocka_unit_test(test_detached_shares_the_version),
      cmocka_unit_test(test_a_second_backward_through_a_changed_view),
      cmocka_unit_test(test_backward_after_a_failed_one),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
