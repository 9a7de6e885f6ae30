// SPDX-License-Identifier: MIT
// Bytes between host and devices arrive, and are counted.
// run: FERRY_SIM_DEVICES=2 FERRY_SIM_MODE=lazy
// run check: FERRY_SIM_DEVICES=2 FERRY_SIM_MODE=threads
#include "expect.h"

enum { BYTES = 300000 };

static unsigned char sent[BYTES], received[BYTES];

static void prepare(void) {
  for (int i = 0; i < BYTES; i++)
    sent[i] = (unsigned char)(i * 7 + i / 256);
  memset(received, 0, BYTES);
}

static void there_and_back(void **state) {
  (void)state;
  void *pointer;
  void *block;
  prepare();
  fy_cuda_alloc(0, BYTES, &pointer, &block);
  FyCounters before = fy_counters();
  fy_copy_bytes(pointer, 0, false, sent, -1, false, BYTES, false);
  fy_copy_bytes(received, -1, false, pointer, 0, false, BYTES, false);
  FyCounters after = fy_counters();
  assert_memory_equal(sent, received, BYTES);
  assert_int_equal(after.host_to_device - before.host_to_device, 1);
  assert_int_equal(after.device_to_host - before.device_to_host, 1);
  assert_int_equal(after.host_to_device_bytes - before.host_to_device_bytes, BYTES);
  assert_int_equal(after.device_to_host_bytes - before.device_to_host_bytes, BYTES);
  assert_int_equal(after.device_to_device, before.device_to_device);
  assert_int_equal(after.synchronizations - before.synchronizations, 2);
  fy_cuda_free(block);
}

static void within_a_device_nobody_waits(void **state) {
  (void)state;
  void *a;
  void *b;
  void *a_block;
  void *b_block;
  prepare();
  fy_cuda_alloc(0, BYTES, &a, &a_block);
  fy_cuda_alloc(0, BYTES, &b, &b_block);
  fy_copy_bytes(a, 0, false, sent, -1, false, BYTES, false);
  FyCounters before = fy_counters();
  fy_copy_bytes(b, 0, false, a, 0, false, BYTES, false);
  FyCounters after = fy_counters();
  assert_int_equal(after.device_to_device, before.device_to_device); // nothing left the device
  assert_int_equal(after.launches - before.launches, 1);
  assert_int_equal(after.synchronizations, before.synchronizations);
  fy_copy_bytes(received, -1, false, b, 0, false, BYTES, false);
  assert_memory_equal(sent, received, BYTES);
  fy_cuda_free(a_block);
  fy_cuda_free(b_block);
}

static void pageable_memory_is_synchronous_whatever_is_asked(void **state) {
  (void)state;
  void *pointer;
  void *block;
  prepare();
  fy_cuda_alloc(0, BYTES, &pointer, &block);
  fy_copy_bytes(pointer, 0, false, sent, -1, false, BYTES, true);
  memset(sent, 0, BYTES); // no harm: it has been read
  fy_copy_bytes(received, -1, false, pointer, 0, false, BYTES, true);
  prepare();
  fy_copy_bytes(received, -1, false, pointer, 0, false, BYTES, true);
  assert_memory_equal(sent, received, BYTES);
  fy_cuda_free(block);
}

static void pinned_memory_round_trip(void **state) {
  (void)state;
  void *pinned;
  void *pinned_block;
  void *device;
  void *device_block;
  prepare();
  fy_pinned_alloc(BYTES, &pinned, &pinned_block);
  fy_cuda_alloc(0, BYTES, &device, &device_block);
  memcpy(pinned, sent, BYTES);
  int64_t waits = fy_counters().synchronizations;
  fy_copy_bytes(device, 0, false, pinned, -1, true, BYTES, true);
  fy_copy_bytes(pinned, -1, true, device, 0, false, BYTES, true);
  assert_int_equal(fy_counters().synchronizations, waits);
  fy_synchronize(fy_cuda_device(0));
  assert_memory_equal(sent, pinned, BYTES);
  fy_pinned_free(pinned_block);
  fy_cuda_free(device_block);
}

static void between_devices(void **state) {
  (void)state;
  skip_below_devices(2);
  void *a;
  void *b;
  void *a_block;
  void *b_block;
  prepare();
  fy_cuda_alloc(0, BYTES, &a, &a_block);
  fy_cuda_alloc(1, BYTES, &b, &b_block);
  fy_copy_bytes(a, 0, false, sent, -1, false, BYTES, false);
  FyCounters before = fy_counters();
  fy_copy_bytes(b, 1, false, a, 0, false, BYTES, false);
  FyCounters after = fy_counters();
  assert_int_equal(after.device_to_device - before.device_to_device, 1);
  assert_int_equal(after.synchronizations, before.synchronizations);
  fy_copy_bytes(received, -1, false, b, 1, false, BYTES, false);
  assert_memory_equal(sent, received, BYTES);
  assert_int_equal(fy_cuda_current_device(), 0);
  fy_cuda_free(a_block);
  fy_cuda_free(b_block);
}

static void on_the_host_and_nothing_at_all(void **state) {
  (void)state;
  prepare();
  FyCounters before = fy_counters();
  fy_copy_bytes(received, -1, false, sent, -1, false, BYTES, false);
  fy_copy_bytes(NULL, 0, false, sent, -1, false, 0, false);
  assert_memory_equal(sent, received, BYTES);
  assert_int_equal(fy_counters().host_to_device, before.host_to_device);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(there_and_back),
      cmocka_unit_test(within_a_device_nobody_waits),
      cmocka_unit_test(pageable_memory_is_synchronous_whatever_is_asked),
      cmocka_unit_test(pinned_memory_round_trip),
      cmocka_unit_test(between_devices),
      cmocka_unit_test(on_the_host_and_nothing_at_all),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
