// SPDX-License-Identifier: MIT
// Device strings, the current device, guards and properties.
// run: FERRY_SIM_DEVICES=2 FERRY_SIM_MODE=lazy
// run check: FERRY_SIM_DEVICES=1 FERRY_SIM_MODE=threads
#include "expect.h"
#include <stdio.h>

static void device_strings_are_parsed(void **state) {
  (void)state;
  assert_true(fy_device_equal(fy_device("cpu"), FY_CPU_DEVICE));
  assert_true(fy_device_equal(fy_device("cpu:0"), FY_CPU_DEVICE));
  assert_true(fy_device_equal(fy_device("cuda"), fy_cuda_device(-1)));
  assert_true(fy_device_equal(fy_device("cuda:0"), fy_cuda_device(0)));
  assert_true(fy_device_equal(fy_device("cuda:12"), fy_cuda_device(12)));
  assert_int_equal(fy_device("mps").type, FY_MPS);
  assert_false(fy_device_equal(fy_device("cuda:0"), fy_device("cuda:1")));
  assert_false(fy_device_equal(fy_device("cuda"), fy_device("cuda:0")));
}

static void expect_malformed(const char *name) {
  char text[64];
  snprintf(text, sizeof text, "Invalid device string: '%s'", name);
  expect_error(FY_RUNTIME_ERROR, text, fy_device(name));
}

static void bad_device_strings_are_named(void **state) {
  (void)state;
  static const char *const malformed[] = {"cuda:",  "cuda:x",  "cuda:-1",  "cuda:01", "cuda:1x",  "cuda1",
                                          ":0",     "cuda::1", "cuda:1:1", " cuda",   "cuda:128", "cuda:99999999999",
                                          "cuda :0"};
  for (size_t i = 0; i < sizeof malformed / sizeof malformed[0]; i++)
    expect_malformed(malformed[i]);
  expect_error(FY_RUNTIME_ERROR, "Expected one of cpu, cuda, mps device type at start of device string: foo",
               fy_device("foo"));
  expect_error(FY_RUNTIME_ERROR, "device type at start of device string: CUDA", fy_device("CUDA:0"));
  expect_error(FY_RUNTIME_ERROR, "Device string must not be empty", fy_device(""));
  expect_error(FY_RUNTIME_ERROR, "Device string must not be empty", fy_device(NULL));
  expect_error(FY_RUNTIME_ERROR, "cpu device index must be -1 or zero, got 1", fy_device("cpu:1"));
  expect_error(FY_RUNTIME_ERROR, "got -2", fy_cuda_device(-2));
  expect_error(FY_RUNTIME_ERROR, "got 128", fy_cuda_device(128));
}

static void names_are_pytorchs(void **state) {
  (void)state;
  assert_string_equal(fy_device_name_of(FY_CPU_DEVICE), "cpu");
  assert_string_equal(fy_device_name_of(fy_device("mps")), "mps");
  assert_string_equal(fy_device_name_of(fy_device("cuda")), "cuda");
  const char *first = fy_device_name_of(fy_device("cuda:0"));
  assert_string_equal(fy_device_name_of(fy_device("cuda:127")), "cuda:127");
  assert_string_equal(first, "cuda:0");
}

static void mps_is_understood_but_not_available(void **state) {
  (void)state;
  assert_false(fy_mps_is_available());
  expect_error(FY_NOT_IMPLEMENTED_ERROR, "mps", fy_synchronize(fy_device("mps")));
}

static void a_device_that_is_not_there_is_an_error(void **state) {
  (void)state;
  const volatile int count = fy_cuda_device_count(); // read after traps
  expect_error(FY_RUNTIME_ERROR, "CUDA error: invalid device ordinal", fy_cuda_set_device(count));
  expect_error(FY_RUNTIME_ERROR, "CUDA error: invalid device ordinal", fy_cuda_set_device(-1));
  expect_error(FY_RUNTIME_ERROR, "cuda:100 was asked for", fy_synchronize(fy_cuda_device(100)));
  expect_error(FY_RUNTIME_ERROR, "invalid device ordinal", fy_cuda_get_device_name(count));
  expect_error(FY_RUNTIME_ERROR, "invalid device ordinal", fy_cuda_can_device_access_peer(0, count));
  expect_error(FY_RUNTIME_ERROR, "invalid device ordinal", fy_memory_allocated(fy_cuda_device(count)));
  expect_error(FY_RUNTIME_ERROR, "invalid device ordinal", fy_stream_new(fy_cuda_device(count), 0));
  assert_int_equal(fy_cuda_current_device(), 0);
}

static void guards_nest_and_put_the_device_back(void **state) {
  (void)state;
  skip_below_devices(2);
  assert_int_equal(fy_cuda_current_device(), 0);
  fy_cuda_device_guard(1) {
    assert_int_equal(fy_cuda_current_device(), 1);
    fy_cuda_device_guard(0) {
      assert_int_equal(fy_cuda_current_device(), 0);
      fy_cuda_set_device(1);
    }
    assert_int_equal(fy_cuda_current_device(), 1);
  }
  assert_int_equal(fy_cuda_current_device(), 0);
}

static void an_error_puts_the_device_back(void **state) {
  (void)state;
  skip_below_devices(2);
  FyError error;
  fy_trap(error) {
    fy_cuda_device_guard(1) {
      fy_cuda_set_device(0);
      fy_cuda_device_guard(1) {
        fy_raise(FY_VALUE_ERROR, "inside two guards");
      }
    }
  }
  assert_int_equal(error.kind, FY_VALUE_ERROR);
  assert_int_equal(fy_cuda_current_device(), 0);
  fy_cuda_device_guard(1) {
    assert_int_equal(fy_cuda_current_device(), 1);
  }
  assert_int_equal(fy_cuda_current_device(), 0);
}

static void properties_are_plausible(void **state) {
  (void)state;
  FyDeviceProperties p = fy_cuda_get_device_properties(0);
  assert_string_equal(p.name, fy_cuda_get_device_name(0));
  assert_string_equal(p.name, fy_cuda_get_device_name(-1));
  assert_int_equal(p.warp_size, 32);
  assert_true(p.major > 0 && p.multi_processor_count > 0 && p.max_threads_per_block >= 512);
  assert_int_equal(fy_multi_processors(0), p.multi_processor_count);
  assert_true(p.shared_memory_per_block >= 48 * KIB);
  assert_int_equal(p.simulated, fy_cuda_is_simulated());
  if (p.simulated) { // no number that somebody could take for a GPU's
    assert_int_equal(p.cuda_cores, 0);
    assert_true(p.memory_bandwidth == 0 && p.clock_rate == 0);
  }
  size_t free_bytes;
  size_t total;
  fy_mem_get_info(fy_cuda_device(0), &free_bytes, &total);
  assert_true(free_bytes <= total && total <= p.total_memory);
  assert_true(fy_cuda_has_capability(0, p.major, p.minor));
  assert_true(fy_cuda_has_capability(0, p.major - 1, 9));
  assert_false(fy_cuda_has_capability(0, p.major, p.minor + 1));
  assert_false(fy_cuda_has_capability(0, p.major + 1, 0));
}

static void versions_are_cudas(void **state) {
  (void)state;
  assert_in_range(fy_cuda_runtime_version(), 12000, 99990);
  assert_in_range(fy_cuda_driver_version(), 12000, 99990);
  assert_in_range(fy_cublas_version(), 12000, 99990);
  assert_string_equal(fy_version(), "0.1.0");
}

static void a_device_is_no_peer_of_itself(void **state) {
  (void)state;
  assert_false(fy_cuda_can_device_access_peer(0, 0));
}

static void synchronize_counts(void **state) {
  (void)state;
  int64_t before = fy_counters().synchronizations;
  fy_synchronize(FY_CPU_DEVICE);
  assert_int_equal(fy_counters().synchronizations, before);
  fy_synchronize(fy_device("cuda"));
  fy_synchronize(fy_device("cuda:0"));
  assert_int_equal(fy_counters().synchronizations, before + 2);
}

static void errors_read_as_pytorchs(void **state) {
  (void)state;
  expect_error(FY_RUNTIME_ERROR, "CUDA error: an illegal memory access was encountered\nCUDA kernel errors might be",
               fy_cuda_check(700));
  expect_error(FY_RUNTIME_ERROR, "For debugging consider passing CUDA_LAUNCH_BLOCKING=1", fy_cuda_check(719));
  expect_error(FY_OUT_OF_MEMORY_ERROR, "out of memory", fy_cuda_check(2));
  expect_error(FY_OUT_OF_MEMORY_ERROR, "workspace", fy_cuda_check(FY_LAUNCH_NO_MEMORY));
  expect_error(FY_RUNTIME_ERROR, "CUBLAS_STATUS_ALLOC_FAILED", fy_cuda_check(FY_LAUNCH_BLAS - 3));
  fy_cuda_check(0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(device_strings_are_parsed),
      cmocka_unit_test(bad_device_strings_are_named),
      cmocka_unit_test(names_are_pytorchs),
      cmocka_unit_test(mps_is_understood_but_not_available),
      cmocka_unit_test(a_device_that_is_not_there_is_an_error),
      cmocka_unit_test(guards_nest_and_put_the_device_back),
      cmocka_unit_test(an_error_puts_the_device_back),
      cmocka_unit_test(properties_are_plausible),
      cmocka_unit_test(versions_are_cudas),
      cmocka_unit_test(a_device_is_no_peer_of_itself),
      cmocka_unit_test(synchronize_counts),
      cmocka_unit_test(errors_read_as_pytorchs),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
