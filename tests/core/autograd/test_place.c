// SPDX-License-Identifier: MIT
// Leaves whose gradients have a place: backward writes them there, by the op that makes them where it can, and never where
// something else is to be kept.
// run check: FERRY_SIM_DEVICES=2 FERRY_SIM_MODE=lazy
#include "../nn/check.h"
#include "graph/place.h"
#include "op/op.h"
#include "op/ops.h"
#include <string.h>

static int copies;
static const void *written;
static void count_copies(FyOpHooks *hooks, const FyOpCall *call) {
  (void)hooks;
  copies += call->op == &fy_op_copy;
  written = call->out[0]->array.data;
}

static FyOpHooks count_copies_hooks = {.kernel = count_copies};

static FyTensor *leaf_of(FySize size) {
  return fy_set_requires_grad(fy_randn(size), true);
}

// Backward of `loss`, and how many copies it makes.
static int backward(FyTensor *loss, bool retain) {
  copies = 0;
  fy_op_hooks_add(&count_copies_hooks);
  fy_backward(loss, .retain_graph = retain);
  fy_op_hooks_remove(&count_copies_hooks);
  return copies;
}

static FyTensor *linear(FyTensor *x, FyTensor *w) {
  return fy_linear(x, w, NULL);
}
static FyTensor *convolved(FyTensor *x, FyTensor *w) {
  return fy_conv2d(fy_view(x, fy_shape(4, 2, 6, 6)), fy_view(w, fy_shape(3, 2, 3, 3)), NULL);
}

// The gradient of a sum that has none before, by an op that can write it, and through a view of the leaf.
static void in_its_place(void **state) {
  (void)state;
  FyTensor *(*const forwards[])(FyTensor *, FyTensor *) = {linear, convolved};
  for (int k = 0; k < 2; k++) {
    fy_scope {
      FyTensor *x = k ? fy_randn(fy_shape(4, 2, 6, 6)) : fy_randn(fy_shape(5, 7));
      FyTensor *w = leaf_of(k ? fy_shape(3, 2, 3, 3) : fy_shape(6, 7));
      FyTensor *y = forwards[k](x, w), *loss = fy_sum(fy_mul(y, y)), *plain;
      fy_autograd_grad(loss, (FyTensors){1, &w}, NULL, true, &plain);
      const int usual = backward(loss, true);
      fy_set_grad(w, NULL);
      FyTensor *place = fy_full(77, fy_size(w));
      fy_set_grad_place(w, place);
      const int placed = backward(loss, true);
      assert_ptr_equal(fy_grad(w), place);
      assert_true(fy_equal(place, plain));
      assert_int_equal(placed, usual); // none; through a view it is copied there in place of a clone
      // What is there already is added to.
      fy_fill_(place, 1);
      backward(loss, true);
      assert_ptr_equal(fy_grad(w), place);
      assert_true(fy_equal(place, fy_add_scalar(plain, 1)));
      // Asked for by itself, the gradient is another tensor.
      FyTensor *again;
      fy_set_grad(w, NULL);
      fy_fill_(place, 5);
      fy_autograd_grad(loss, (FyTensors){1, &w}, NULL, true, &again);
      assert_true(fy_equal(again, plain));
      assert_false(fy_shares_storage(again, place));
      assert_true(fy_item(fy_min(place)) == 5 && fy_item(fy_max(place)) == 5);
      fy_set_grad_place(w, NULL);
      backward(loss, false);
      assert_false(fy_shares_storage(fy_grad(w), place));
      assert_true(fy_equal(fy_grad(w), plain));
    }
  }
}

static FyTensor *conv_directly(FyTensor *x, FyTensor *w) {
  return fy_conv2d(x, w, NULL);
}

static void by_the_op_itself(void **state) {
  (void)state;
  FyTensor *(*const forwards[])(FyTensor *, FyTensor *) = {linear, conv_directly};
  for (int k = 0; k < 2; k++) {
    FyTensor *x = k ? fy_randn(fy_shape(4, 2, 6, 6)) : fy_randn(fy_shape(5, 7));
    FyTensor *w = leaf_of(k ? fy_shape(3, 2, 3, 3) : fy_shape(6, 7)), *place = fy_zeros(fy_size(w));
    fy_set_grad_place(w, place);
    backward(fy_sum(forwards[k](x, w)), false);
    assert_ptr_equal(written, fy_data_ptr(place)); // the last call was the one that wrote it
    fy_set_grad_place(w, NULL);
  }
}

// Two gradients for one leaf: neither may be written over the other.
static void used_twice(void **state) {
  (void)state;
  FyTensor *x = fy_randn(fy_shape(5, 6)), *w = leaf_of(fy_shape(6, 6)), *plain;
  FyTensor *loss = fy_sum(fy_linear(fy_relu(fy_linear(x, w, NULL)), w, NULL));
  fy_autograd_grad(loss, (FyTensors){1, &w}, NULL, true, &plain);
  FyTensor *place = fy_full(3, fy_shape(6, 6));
  fy_set_grad_place(w, place);
  backward(loss, false);
  assert_ptr_equal(fy_grad(w), place);
  assert_true(fy_allclose(place, plain, 1e-6, 1e-6));
  fy_set_grad_place(w, NULL);
}

// A place that does not fit any more is none.
static void of_another_kind(void **state) {
  (void)state;
  FyTensor *x = fy_randn(fy_shape(5, 7)), *w = leaf_of(fy_shape(6, 7));
  FyTensor *place = fy_zeros(fy_shape(6, 7), .dtype = FY_FLOAT64);
  fy_set_grad_place(w, place);
  fy_backward(fy_sum(fy_linear(x, w, NULL)));
  assert_false(fy_shares_storage(fy_grad(w), place));
  assert_int_equal(fy_grad(w)->array.dtype, FY_FLOAT32);
  fy_set_grad_place(w, NULL);
}

// A tensor that is saved for backward is found to have changed when a gradient is written over it.
static void versions(void **state) {
  (void)state;
  FyTensor *x = fy_randn(fy_shape(5, 7)), *w = leaf_of(fy_shape(6, 7)), *place = fy_zeros(fy_shape(6, 7));
  FyTensor *v = leaf_of(fy_shape(6, 7));
  fy_set_grad_place(w, place);
  FyTensor *product = fy_sum(fy_mul(v, place));
  fy_backward(fy_sum(fy_linear(x, w, NULL)));
  FyError error;
  fy_trap(error) {
    fy_backward(product);
  }
  assert_int_equal(error.kind, FY_RUNTIME_ERROR);
  assert_non_null(strstr(error.message, "modified by an inplace operation"));
  fy_set_grad_place(w, NULL);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(in_its_place), cmocka_unit_test(by_the_op_itself),
                                     cmocka_unit_test(used_twice), cmocka_unit_test(of_another_kind),
                                     cmocka_unit_test(versions)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
