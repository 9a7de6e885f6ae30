// SPDX-License-Identifier: MIT
// Learning-rate schedules against PyTorch's rates (tests/golden/make_golden_train.py).
// run check: FERRY_CUDA=off
#include "../nn/check.h"
#include "support/golden.h"

static FyOptimizer *optimizer(double lr) {
  FyTensorList *parameters = fy_tensor_list_new();
  fy_list_add(parameters, "w", fy_zeros(fy_shape(1), .requires_grad = true));
  return fy_sgd(parameters, .lr = lr);
}

static void assert_rates(const char *name, FyOptimizer *sgd, FyScheduler *scheduler) {
  FyTensor *rates = golden_tensor("schedules", name);
  const double *rate = fy_numpy(rates);
  for (int64_t i = 0; i < fy_numel(rates); i++) {
    double lr = fy_learning_rate(sgd);
    if (!(fabs(lr - rate[i]) <= 1e-14 + 1e-12 * rate[i]))
      fail_msg("%s, step %ld: expected %.17g, but got %.17g", name, (long)i, rate[i], lr);
    assert_int_equal(fy_scheduler_last_epoch(scheduler), i);
    fy_scheduler_step(scheduler);
  }
}

static void step_lr(void **state) {
  (void)state;
  FyOptimizer *a = optimizer(0.5), *b = optimizer(1e-3), *c = optimizer(0.1);
  assert_rates("step_3_0.1", a, fy_step_lr(a, 3, 0.1));
  assert_rates("step_1_0.97", b, fy_step_lr(b, 1, 0.97));
  assert_rates("step_30_0.5", c, fy_step_lr(c, 30, 0.5));
}

static void cosine_annealing(void **state) {
  (void)state;
  FyOptimizer *a = optimizer(0.1), *b = optimizer(0.05), *c = optimizer(0.2);
  assert_rates("cosine_10_0", a, fy_cosine_annealing_lr(a, 10, 0));
  assert_rates("cosine_7_0.001", b, fy_cosine_annealing_lr(b, 7, 0.001));
  assert_rates("cosine_1_0", c, fy_cosine_annealing_lr(c, 1, 0));
}

// A schedule's state and its optimizer's rate are enough to go on.
static void going_on_from_a_state(void **state) {
  (void)state;
  FyOptimizer *first = optimizer(0.1), *second = optimizer(0.7);
  FyScheduler *one = fy_cosine_annealing_lr(first, 10, 0), *two = fy_cosine_annealing_lr(second, 10, 0);
  for (int i = 0; i < 10; i++)
    fy_scheduler_step(one);
  fy_set_learning_rate(second, fy_learning_rate(first));
  fy_scheduler_load_state(two, fy_scheduler_state(one));
  for (int i = 0; i < 15; i++) {
    fy_scheduler_step(one);
    fy_scheduler_step(two);
    assert_true(fy_learning_rate(first) == fy_learning_rate(second));
  }
}

static void a_schedule_holds_its_optimizer(void **state) {
  (void)state;
  FyOptimizer *sgd = optimizer(1);
  FyScheduler *scheduler = fy_step_lr(sgd, 1, 0.5);
  fy_retain(sgd);
  fy_drop(sgd);
  fy_scheduler_step(scheduler);
  assert_true(fy_learning_rate(sgd) == 0.5);
  fy_release(sgd);
  fy_scheduler_step(scheduler); // still alive
}

static void arguments_are_checked(void **state) {
  (void)state;
  assert_raises_about(FY_VALUE_ERROR, "a step_size from 1, but got 0", fy_step_lr(optimizer(1), 0, 0.1));
  assert_raises_about(FY_VALUE_ERROR, "a t_max from 1, but got -3", fy_cosine_annealing_lr(optimizer(1), -3, 0));
  assert_raises_about(FY_TYPE_ERROR, "needs an optimizer", fy_step_lr(NULL, 1, 0.1));
  assert_raises_about(FY_VALUE_ERROR, "but got -1",
                      fy_scheduler_load_state(fy_step_lr(optimizer(1), 1, 1), (FySchedulerState){.last_epoch = -1}));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(step_lr),
      cmocka_unit_test(cosine_annealing),
      cmocka_unit_test(going_on_from_a_state),
      cmocka_unit_test(a_schedule_holds_its_optimizer),
      cmocka_unit_test(arguments_are_checked),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
