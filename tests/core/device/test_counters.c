// SPDX-License-Identifier: MIT
// What is counted: kernels started of every kind, ops, copies; and that counting is all that it does.
// run check: FERRY_SIM_DEVICES=2 FERRY_SIM_MODE=lazy
// run: FERRY_SIM_DEVICES=2 FERRY_SIM_MODE=threads
#include "device/impl.h"
#include "expect.h"
#include "ferry.h"
#include <pthread.h>

// The change of every counter since `before`.
static FyCounters since(FyCounters before) {
  FyCounters now = fy_counters();
  return (FyCounters){.host_to_device = now.host_to_device - before.host_to_device,
                      .device_to_host = now.device_to_host - before.device_to_host,
                      .device_to_device = now.device_to_device - before.device_to_device,
                      .launches = now.launches - before.launches,
                      .ops = now.ops - before.ops,
                      .synchronizations = now.synchronizations - before.synchronizations};
}

static void an_op_of_one_kernel(void **state) {
  (void)state;
  FyTensor *x = fy_ones(fy_shape(3, 3), .device = fy_cuda_device(0));
  FyCounters before = fy_counters();
  fy_add(x, x);
  FyCounters used = since(before);
  assert_int_equal(used.launches, 1);
  assert_int_equal(used.ops, 1);
  assert_int_equal(used.synchronizations, 0);
}

static void a_product_is_a_kernel_of_a_library(void **state) {
  (void)state;
  FyTensor *x = fy_ones(fy_shape(3, 3), .device = fy_cuda_device(0));
  FyTensor *bias = fy_ones(fy_shape(3), .device = fy_cuda_device(0));
  FyCounters before = fy_counters();
  fy_matmul(x, x);
  assert_int_equal(since(before).launches, 1);
  before = fy_counters();
  fy_linear(x, x, bias); // the bias is written first, by a kernel
  assert_int_equal(since(before).launches, 2);
  assert_int_equal(since(before).ops, 1);
}

static void a_fill_is_a_kernel(void **state) {
  (void)state;
  FyCounters before = fy_counters();
  fy_zeros(fy_shape(1000), .device = fy_cuda_device(0));
  assert_int_equal(since(before).launches, 1);
  assert_int_equal(since(before).ops, 1);
}

static void a_copy_within_a_device_is_a_kernel(void **state) {
  (void)state;
  FyTensor *x = fy_ones(fy_shape(64, 3), .device = fy_cuda_device(0));
  FyCounters before = fy_counters();
  fy_clone(x);
  FyCounters used = since(before);
  assert_int_equal(used.launches, 1);
  assert_int_equal(used.host_to_device + used.device_to_host + used.device_to_device, 0);
}

static void an_op_of_several_kernels(void **state) {
  (void)state;
  FyModule *norm = fy_nn_batch_norm1d(3, .device = fy_cuda_device(0));
  FyTensor *x = fy_ones(fy_shape(8, 3), .device = fy_cuda_device(0));
  FyCounters before = fy_counters();
  fy_forward(norm, x);
  FyCounters used = since(before);
  assert_true(used.launches > used.ops);
}

static void nothing_is_started_for_nothing(void **state) {
  (void)state;
  FyTensor *x = fy_empty(fy_shape(0, 3), .device = fy_cuda_device(0));
  FyCounters before = fy_counters();
  fy_add(x, x);
  assert_int_equal(since(before).launches, 0);
}

static void *multiply_elsewhere(void *handle) {
  FyTensor *x = fy_ones(fy_shape(3, 3), .device = fy_cuda_device(1));
  fy_add(x, fy_zeros(fy_shape(3, 3), .device = fy_cuda_device(1)));
  ((void **)handle)[0] = fy_thread_devices.blas[1];
  fy_matmul(x, x);
  ((void **)handle)[1] = fy_thread_devices.blas[1];
  return NULL;
}

// A handle takes memory of the device and time: a thread that multiplies nothing has none.
static void a_cublas_handle_is_made_for_products(void **state) {
  (void)state;
  skip_below_devices(2);
  void *handles[2];
  pthread_t thread;
  assert_int_equal(pthread_create(&thread, NULL, multiply_elsewhere, handles), 0);
  pthread_join(thread, NULL);
  assert_null(handles[0]);
  assert_non_null(handles[1]);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(an_op_of_one_kernel),
      cmocka_unit_test(a_product_is_a_kernel_of_a_library),
      cmocka_unit_test(a_fill_is_a_kernel),
      cmocka_unit_test(a_copy_within_a_device_is_a_kernel),
      cmocka_unit_test(an_op_of_several_kernels),
      cmocka_unit_test(nothing_is_started_for_nothing),
      cmocka_unit_test(a_cublas_handle_is_made_for_products),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
