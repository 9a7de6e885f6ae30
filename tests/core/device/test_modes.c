// SPDX-License-Identifier: MIT
// FERRY_CUDA: real, sim, off and unset, each in a process of its own, since the choice is made once.
// run check: FERRY_SIM_DEVICES=3
// timeout: 300
#include "child.h"
#include "expect.h"
#include <stdio.h>
#include <stdlib.h>

typedef struct Start {
  const char *mode, *plugin;
  void (*body)(void);
} Start;

static int start_body(void *context) {
  const Start *start = context;
  unsetenv("FERRY_CUDA");
  if (start->mode)
    setenv("FERRY_CUDA", start->mode, 1);
  if (start->plugin)
    setenv("FERRY_CUDA_PLUGIN", start->plugin, 1);
  start->body();
  return 0;
}

// Runs `body` in a child with this environment. Returns its exit status.
static int in_child(const char *mode, const char *plugin, void (*body)(void)) {
  return run_child(start_body, &(Start){mode, plugin, body});
}

static void describe(void) {
  FyError error;
  printf("available=%d count=%d simulated=%d\n", fy_cuda_is_available(), fy_cuda_device_count(),
         fy_cuda_is_simulated());
  printf("%s\n", fy_cuda_description());
  fy_trap(error) {
    fy_cuda_set_device(0);
    printf("device set\n");
  }
  if (error.kind)
    printf("%s: %s\n", fy_error_name(error.kind), error.message);
}

static void off_has_no_devices(void **state) {
  (void)state;
  assert_int_equal(in_child("off", NULL, describe), 0);
  expect_child_wrote("available=0 count=0 simulated=0\n");
  expect_child_wrote("no CUDA: CUDA is switched off by FERRY_CUDA=off\n");
  expect_child_wrote("RuntimeError: No CUDA GPUs are available: CUDA is switched off by FERRY_CUDA=off\n");
}

static void use_everything_without_cuda(void) {
  FyError error;
  size_t free_bytes;
  size_t total;
  void *pointer;
  void *block;
  fy_synchronize(FY_CPU_DEVICE);
  fy_empty_cache();
  fy_mem_get_info(FY_CPU_DEVICE, &free_bytes, &total);
  printf("memory %d\n", total > 0 && free_bytes <= total);
  printf("versions %d %d %d\n", fy_cuda_runtime_version(), fy_cuda_driver_version(), fy_cublas_version());
  FyEvent *event = fy_event_new(true);
  fy_event_record(event, NULL);
  fy_event_wait(event, NULL);
  printf("event %d\n", fy_event_query(event));
  fy_memory_summary(stdout, FY_CPU_DEVICE);
  fy_trap(error) {
    fy_pinned_alloc(100, &pointer, &block);
  }
  printf("pinned: %s\n", error.message);
  fy_trap(error) {
    fy_memory_allocated(fy_device("cuda"));
  }
  printf("allocated: %s\n", error.message);
}

static void off_leaves_the_cpu_whole(void **state) {
  (void)state;
  assert_int_equal(in_child("off", NULL, use_everything_without_cuda), 0);
  expect_child_wrote("memory 1\n");
  expect_child_wrote("versions 0 0 0\n");
  expect_child_wrote("event 1\n");
  expect_child_wrote("Memory of cpu\n");
  expect_child_wrote("pinned: No CUDA GPUs are available");
  expect_child_wrote("allocated: No CUDA GPUs are available");
}

static void sim_has_the_devices_asked_for(void **state) {
  (void)state;
  assert_int_equal(in_child("sim", NULL, describe), 0);
  expect_child_wrote("available=1 count=3 simulated=1\n");
  expect_child_wrote("simulated CUDA on the CPU with 3 devices (FERRY_CUDA=sim)\n");
  expect_child_wrote("device set\n");
}

static void a_wrong_value_ends_the_program(void **state) {
  (void)state;
  assert_int_equal(in_child("gpu", NULL, describe), 2);
  expect_child_wrote("ferry: FERRY_CUDA=gpu is not one of real, sim, off");
}

static void allocate_on_the_host(void) {
  void *pointer;
  void *block;
  setenv("FERRY_HOST_CACHE_MB", "lots", 1);
  fy_host_alloc(1, &pointer, &block);
}

static void a_wrong_cache_size_ends_the_program(void **state) {
  (void)state;
  assert_int_equal(in_child("off", NULL, allocate_on_the_host), 2);
  expect_child_wrote("ferry: FERRY_HOST_CACHE_MB=lots is not a number of MiB");
}

static void real_without_the_plugin_says_so(void **state) {
  (void)state;
  assert_int_equal(in_child("real", "/nonexistent/libferry-cuda.so", describe), 0);
  expect_child_wrote("available=0 count=0 simulated=0\n");
  expect_child_wrote(
      "No CUDA GPUs are available: FERRY_CUDA=real, but the CUDA backend libferry-cuda.so was not built (looked "
      "for /nonexistent/libferry-cuda.so); install NVIDIA's CUDA toolkit and run `make`, or use FERRY_CUDA=sim\n");
}

static void unset_falls_back_to_the_simulator(void **state) {
  (void)state;
  assert_int_equal(in_child(NULL, "/nonexistent/libferry-cuda.so", describe), 0);
  expect_child_wrote("available=1 count=3 simulated=1\n");
  expect_child_wrote("no real GPU: the CUDA backend libferry-cuda.so was not built");
}

static void empty_counts_as_unset(void **state) {
  (void)state;
  assert_int_equal(in_child("", "/nonexistent/libferry-cuda.so", describe), 0);
  expect_child_wrote("available=1 count=3 simulated=1\n");
}

// Whatever this machine has, the answer is whole: either a GPU, or what is missing for one.
static void real_is_a_gpu_or_a_reason(void **state) {
  (void)state;
  assert_int_equal(in_child("real", NULL, describe), 0);
  if (strstr(child_output, "available=1")) {
    expect_child_wrote("simulated=0\n");
    expect_child_wrote("NVIDIA's CUDA with ");
    expect_child_wrote("device set\n");
  } else {
    expect_child_wrote("available=0 count=0 simulated=0\n");
    expect_child_wrote("RuntimeError: No CUDA GPUs are available: FERRY_CUDA=real, but ");
    expect_child_wrote(", or use FERRY_CUDA=sim\n");
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(off_has_no_devices),
      cmocka_unit_test(off_leaves_the_cpu_whole),
      cmocka_unit_test(sim_has_the_devices_asked_for),
      cmocka_unit_test(a_wrong_value_ends_the_program),
      cmocka_unit_test(a_wrong_cache_size_ends_the_program),
      cmocka_unit_test(real_without_the_plugin_says_so),
      cmocka_unit_test(unset_falls_back_to_the_simulator),
      cmocka_unit_test(empty_counts_as_unset),
      cmocka_unit_test(real_is_a_gpu_or_a_reason),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
