// SPDX-License-Identifier: MIT
// oneDNN's plans for convolutions: the cache keeps those used last, and a program with ever new shapes gets a plan for each.
//
// run check: FERRY_CUDA=off
#include "core/nn/check.h"
#include "base/threads.h"
#include "op/convolution/conv_dnn.h"

enum { LIMIT = 6, MORE = LIMIT + 4 };

// x (1, 8, h, h), weight (8, 8, 1, 1): cheap to plan.
static FyConvShape shape_of(int64_t h) {
  return (FyConvShape){.n = 1,
                       .c = 8,
                       .h = h,
                       .w = h,
                       .o = 8,
                       .kh = 1,
                       .kw = 1,
                       .oh = h,
                       .ow = h,
                       .stride = 1,
                       .dilation = 1,
                       .groups = 1};
}

static FyDnnPlan *plan_of(int64_t h) {
  FyConvShape shape = shape_of(h);
  return fy_dnn_plan(FY_DNN_FORWARD, FY_FLOAT32, &shape, false, true, false, false);
}

static double convolve(int64_t h) {
  FyTensor *x = fy_ones(fy_shape(1, 8, h, h)), *weight = fy_full(0.5, fy_shape(8, 8, 1, 1));
  return fy_item(fy_mean(fy_conv2d(x, weight, NULL)));
}

static void test_ever_new_shapes(void **state) {
  (void)state;
  FyDnnPlan *held = plan_of(1);
  assert_non_null(held);
  for (int64_t h = 2; h <= MORE; h++) {
    FyDnnPlan *plan = plan_of(h);
    if (!plan)
      fail_msg("there is no plan for shape %ld", (long)h);
    fy_dnn_plan_release(plan);
    assert_in_range(fy_dnn_plans_alive(), 1, LIMIT + 1); // with the one that is held
  }
  assert_int_equal(fy_dnn_plans_alive(), LIMIT + 1);
  assert_int_equal(held->key.shape.h, 1); // the cache has let go of it, and it is still there
  fy_dnn_plan_release(held);
  assert_int_equal(fy_dnn_plans_alive(), LIMIT);
}

// What was used last is kept: asking for it again makes no other plan.
static void test_the_last_ones_stay(void **state) {
  (void)state;
  FyDnnPlan *first = plan_of(MORE), *again = plan_of(MORE);
  assert_ptr_equal(first, again);
  fy_dnn_plan_release(first);
  fy_dnn_plan_release(again);
}

static void test_values_of_a_replaced_plan(void **state) {
  (void)state;
  fy_scope {
    for (int64_t h = 1; h <= 4; h++)
      assert_true(convolve(h) == 4.0);
  }
}

static void plan_on_a_thread(int64_t begin, int64_t end, void *context) {
  (void)context;
  for (int64_t i = begin; i < end; i++) {
    FyDnnPlan *plan = plan_of(20 + i % 9);
    if (plan && plan->key.shape.h != 20 + i % 9)
      abort();
    fy_dnn_plan_release(plan);
  }
}

static void test_several_threads(void **state) {
  (void)state;
  fy_parallel_for(40, 1, plan_on_a_thread, NULL);
  assert_int_equal(fy_dnn_plans_alive(), LIMIT);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_ever_new_shapes),
      cmocka_unit_test(test_the_last_ones_stay),
      cmocka_unit_test(test_values_of_a_replaced_plan),
      cmocka_unit_test(test_several_threads),
  };
  fy_dnn_limit_plans(LIMIT);
  return cmocka_run_group_tests(tests, NULL, NULL);
}
