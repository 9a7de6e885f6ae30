// SPDX-License-Identifier: MIT
// Backward on streams: gradients are added up on the stream of who takes them, after all who made them.
//
// run: FERRY_SIM_DEVICES=2 FERRY_SIM_MODE=lazy -- cuda
// run check: FERRY_SIM_DEVICES=2 FERRY_SIM_MODE=threads -- cuda
// run: FERRY_SIM_DEVICES=1 FERRY_SIM_MODE=threads -- cuda
#include "check.h"

static FyStream *streams[3];

static FyStream *wait_for_default(FyStream *stream) {
  fy_stream_wait_stream(stream, fy_default_stream(device));
  return stream;
}

// Work that keeps a stream busy for a while, so that what does not wait for it comes too early.
static void delay(void) {
  FyTensor *a = fy_ones(fy_shape(256, 256), .device = device);
  for (int i = 0; i < 6; i++)
    a = fy_mul_scalar(fy_matmul(a, a), 1.0 / 256);
}

static void test_the_first_gradient_is_waited_for(void **state) {
  (void)state;
  FyTensor *x = leaf(fy_floats(1, 2, 3), 3);
  FyTensor *loss = fy_sum(fy_mul(x, x));
  wait_for_default(streams[0]);
  fy_stream_guard(streams[0]) {
    delay(); // the gradient, ones, is made behind it
    fy_backward(loss);
  }
  fy_synchronize(device);
  expect(fy_grad(x), fy_floats(2, 4, 6));
}

static void test_branches_on_two_streams(void **state) {
  (void)state;
  FyTensor *x = leaf(fy_floats(1, 2, 3), 3), *y = fy_mul_scalar(x, 2), *a = NULL, *b = NULL;
  fy_stream_guard(wait_for_default(streams[0])) {
    delay();
    a = fy_mul_scalar(y, 3);
  }
  fy_stream_guard(wait_for_default(streams[1])) {
    delay();
    b = fy_mul_scalar(y, 5);
  }
  fy_stream_wait_stream(fy_default_stream(device), streams[0]);
  fy_stream_wait_stream(fy_default_stream(device), streams[1]);
  fy_backward(fy_sum(fy_add(a, b)));
  expect(fy_grad(x), fy_floats(16, 16, 16)); // fy_copy_to_host waits for the default stream alone
}

static void test_one_leaf_used_on_three_streams(void **state) {
  (void)state;
  FyTensor *x = leaf(fy_floats(1, 2, 3), 3), *parts[3];
  for (int i = 0; i < 3; i++)
    fy_stream_guard(wait_for_default(streams[i])) {
      delay();
      parts[i] = fy_mul_scalar(fy_exp(x), i + 1);
    }
  for (int i = 0; i < 3; i++)
    fy_stream_wait_stream(fy_default_stream(device), streams[i]);
  fy_backward(fy_sum(fy_add(fy_add(parts[0], parts[1]), parts[2])));
  expect(fy_grad(x), fy_floats(6 * expf(1), 6 * expf(2), 6 * expf(3)));
}

static void test_a_captured_gradient(void **state) {
  (void)state;
  FyTensor *x = leaf(fy_floats(1, 2, 3), 3), *y = NULL, *grads[2];
  fy_stream_guard(wait_for_default(streams[2])) {
    delay();
    y = fy_mul(x, x);
  }
  fy_stream_wait_stream(fy_default_stream(device), streams[2]);
  fy_autograd_grad(fy_sum(fy_mul_scalar(y, 2)), fy_list(x, y), NULL, false, grads);
  expect(grads[0], fy_floats(4, 8, 12));
  expect(grads[1], fy_floats(2, 2, 2));
}

static void test_across_devices_and_streams(void **state) {
  (void)state;
  if (fy_cuda_device_count() < 2)
    skip(); // this run has one device
  FyDevice other = fy_cuda_device(1);
  FyStream *there = fy_stream_new(other, 0);
  FyTensor *x = leaf(fy_floats(1, 2, 3), 3), *y = NULL;
  fy_stream_guard(wait_for_default(streams[0])) {
    delay();
    FyTensor *moved = fy_to(fy_mul_scalar(x, 2), other);
    fy_stream_wait_stream(there, fy_default_stream(other));
    fy_stream_guard(there)
      y = fy_mul(moved, moved);
  }
  fy_stream_wait_stream(fy_default_stream(other), there);
  fy_backward(fy_sum(y));
  expect(fy_grad(x), fy_floats(8, 16, 24));
}

static int open_streams(void **state) {
  (void)state;
  for (int i = 0; i < 3; i++)
    streams[i] = fy_stream_new(device, 0);
  return 0;
}

int main(int argc, char **argv) {
  device = fy_device(argc > 1 ? argv[1] : "cpu");
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_the_first_gradient_is_waited_for), cmocka_unit_test(test_branches_on_two_streams),
      cmocka_unit_test(test_one_leaf_used_on_three_streams),   cmocka_unit_test(test_a_captured_gradient),
      cmocka_unit_test(test_across_devices_and_streams),
  };
  return cmocka_run_group_tests(tests, open_streams, NULL);
}
