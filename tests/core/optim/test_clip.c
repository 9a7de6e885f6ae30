// SPDX-License-Identifier: MIT
// Gradient clipping against PyTorch's numbers (tests/golden/make_golden_train.py).
// run: FERRY_SIM_DEVICES=2 FERRY_SIM_MODE=lazy
// run check: FERRY_CUDA=off
#include "../nn/check.h"
#include "device/runtime.h"
#include "support/golden.h"

static FyTensor *named(const char *name, const char *part, int k) {
  char key[64];
  snprintf(key, sizeof key, k < 0 ? "%s.%s" : "%s.%s%d", name, part, k);
  return golden_tensor("clip", key);
}

// Parameters of zeros with the case's gradients, on the devices in turn.
static FyTensorList *parameters_of(const char *name, int count, const FyDevice *devices, int device_count) {
  FyTensorList *list = fy_tensor_list_new();
  for (int k = 0; k < count; k++) {
    FyTensor *grad = fy_to(named(name, "grad", k), devices[k % device_count]);
    FyTensor *p = fy_set_requires_grad(fy_zeros_like(grad), true);
    fy_set_grad(p, grad);
    fy_list_add(list, "p", p);
  }
  return list;
}

static void assert_near(FyTensor *t, FyTensor *expected) {
  assert_int_equal(fy_dtype_of(t), fy_dtype_of(expected));
  if (!fy_allclose(fy_cpu(t), expected, 2e-6, 1e-9))
    fail_msg("expected %s, but got %s", fy_repr(expected), fy_repr(t));
}

static void check_case(const char *name, int count, const FyDevice *devices, int device_count) {
  FyTensorList *list = parameters_of(name, count, devices, device_count);
  double max_norm = fy_item(named(name, "max_norm", -1)), clip_value = fy_item(named(name, "clip_value", -1));
  int64_t waits = fy_counters().synchronizations;
  FyTensor *total = fy_clip_grad_norm_(list, max_norm);
  assert_int_equal(fy_counters().synchronizations, waits);
  assert_near(total, named(name, "total", -1));
  assert_true(fy_device_equal(fy_device_of(total), devices[0]));
  for (int k = 0; k < count; k++)
    assert_near(fy_grad(list->items[k]), named(name, "clipped", k));
  list = parameters_of(name, count, devices, device_count);
  fy_clip_grad_value_(list, clip_value);
  for (int k = 0; k < count; k++)
    assert_near(fy_grad(list->items[k]), named(name, "value", k));
}

static void check_all(const FyDevice *devices, int device_count) {
  check_case("clipped", 3, devices, device_count);
  check_case("left", 2, devices, device_count);
  check_case("zero", 1, devices, device_count);
  check_case("wide", 2, devices, device_count);
}

static void on_the_cpu(void **state) {
  (void)state;
  check_all(&FY_CPU_DEVICE, 1);
}

static void on_a_device(void **state) {
  (void)state;
  if (!fy_cuda_is_available()) {
    print_message("needs CUDA, real or simulated, and there is none\n");
    skip();
  }
  check_all((FyDevice[]){fy_cuda_device(0)}, 1);
}

static void across_devices(void **state) {
  (void)state;
  if (fy_cuda_device_count() < 2) {
    print_message("needs two CUDA devices\n");
    skip();
  }
  const FyDevice pairs[][2] = {
      {fy_cuda_device(0), fy_cuda_device(1)}, {fy_cuda_device(0), FY_CPU_DEVICE}, {FY_CPU_DEVICE, fy_cuda_device(1)}};
  for (int i = 0; i < 3; i++) {
    FyTensorList *list = parameters_of("clipped", 3, pairs[i], 2);
    assert_near(fy_clip_grad_norm_(list, 1), named("clipped", "total", -1));
    for (int k = 0; k < 3; k++)
      assert_near(fy_grad(list->items[k]), named("clipped", "clipped", k));
  }
}

static FyTensor *with_grad(FyTensor *grad) {
  FyTensor *p = fy_set_requires_grad(fy_zeros_like(grad), true);
  fy_set_grad(p, grad);
  return p;
}

static void without_gradients(void **state) {
  (void)state;
  FyTensorList *list = fy_tensor_list_new();
  assert_true(fy_item(fy_clip_grad_norm_(list, 1)) == 0);
  fy_list_add(list, "none", fy_zeros(fy_shape(3), .requires_grad = true));
  assert_true(fy_item(fy_clip_grad_norm_(list, 1)) == 0);
  fy_clip_grad_value_(list, 1);
  assert_null(fy_grad(list->items[0]));
  // One with and one without
  fy_list_add(list, "one", with_grad(fy_tensor(fy_floats(3, 4), fy_shape(2))));
  assert_true(fy_item(fy_clip_grad_norm_(list, 1)) == 5);
  assert_values(fy_grad(list->items[1]), (double[]){0.6, 0.8}, 2, 1e-6);
}

// Squares of halves overflow; their norm must not.
static void halves(void **state) {
  (void)state;
  FyTensorList *list = fy_tensor_list_new();
  fy_list_add(list, "h", with_grad(fy_half(fy_tensor(fy_floats(3000, 4000), fy_shape(2)))));
  assert_true(fy_item(fy_clip_grad_norm_(list, 10)) == 5000);
  assert_int_equal(fy_dtype_of(fy_grad(list->items[0])), FY_FLOAT16);
  assert_values(fy_grad(list->items[0]), (double[]){6, 8}, 2, 1e-3);
}

static void bounds_are_checked(void **state) {
  (void)state;
  FyTensorList *list = fy_tensor_list_new();
  assert_raises_about(FY_VALUE_ERROR, "a max_norm from 0, but got -1", fy_clip_grad_norm_(list, -1));
  assert_raises_about(FY_VALUE_ERROR, "a max_norm from 0, but got", fy_clip_grad_norm_(list, NAN));
  assert_raises_about(FY_VALUE_ERROR, "a clip_value from 0, but got -2", fy_clip_grad_value_(list, -2));
  assert_raises_about(FY_TYPE_ERROR, "NULL", fy_clip_grad_norm_(NULL, 1));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(on_the_cpu),        cmocka_unit_test(on_a_device), cmocka_unit_test(across_devices),
      cmocka_unit_test(without_gradients), cmocka_unit_test(halves),      cmocka_unit_test(bounds_are_checked),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
