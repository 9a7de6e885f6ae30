// SPDX-License-Identifier: MIT
// Device memory is kept from host code: from the program's own, from host functions in a stream, and not from what runs on the device.
// sim only: a GPU ends such a program by a signal
// run: FERRY_SIM_MODE=lazy
// run: FERRY_SIM_MODE=threads
// run: FERRY_SIM_MODE=threads FERRY_SIM_THREADS=1
// run check: FERRY_SIM_MODE=sync
#include <cuda_runtime.h>

#include "apart.h"
#include "check.h"

enum { COUNT = 100 };

__global__ void add_one(float *x) {
  x[threadIdx.x] += 1.0f;
}

static float *allocate(void) {
  float *x;
  expect(99, cudaMalloc((void **)&x, COUNT * sizeof *x) == cudaSuccess);
  expect(98, cudaMemset(x, 0, COUNT * sizeof *x) == cudaSuccess);
  return x;
}

static void read_at_once(void) {
  float *x;
  expect(99, cudaMalloc((void **)&x, COUNT * sizeof *x) == cudaSuccess);
  _exit(((volatile float *)x)[3] == 0.0f ? 3 : 4);
}

static void read_after_a_kernel(void) {
  float *x = allocate();
  for (int i = 0; i < 20; i++)
    add_one<<<1, COUNT>>>(x);
  expect(1, cudaDeviceSynchronize() == cudaSuccess);
  _exit(((volatile float *)x)[3] == 20.0f ? 3 : 4);
}

static void write_after_a_copy(void) {
  float *x = allocate(), host;
  expect(1, cudaMemcpy(&host, x, sizeof host, cudaMemcpyDeviceToHost) == cudaSuccess);
  ((volatile float *)x)[3] = host;
  _exit(3);
}

static void read_fourth(void *x) {
  _exit(((volatile float *)x)[3] == 0.0f ? 3 : 4);
}

static void read_in_a_host_function(void) {
  expect(1, cudaLaunchHostFunc(NULL, read_fourth, allocate()) == cudaSuccess);
  expect(2, cudaDeviceSynchronize() == cudaSuccess);
}

static void write_fourth(cudaStream_t stream, cudaError_t status, void *x) {
  (void)stream;
  (void)status;
  ((volatile float *)x)[3] = 1.0f;
}

static void write_in_a_callback(void) {
  expect(1, cudaStreamAddCallback(NULL, write_fourth, allocate(), 0) == cudaSuccess);
  expect(2, cudaDeviceSynchronize() == cudaSuccess);
}

static void host_code_is_kept_out(void **state) {
  (void)state;
  void (*const bugs[])(void) = {read_at_once, read_after_a_kernel, write_after_a_copy, read_in_a_host_function,
                                write_in_a_callback};
  for (size_t i = 0; i < sizeof bugs / sizeof *bugs; i++) {
    assert_int_equal(run_apart(bugs[i]), 139);
    expect_output("host code used a device pointer");
    expect_output("byte 12 of a 400-byte allocation");
  }
}

static void read_unguarded(void) {
  setenv("FERRY_SIM_GUARD", "0", 1);
  read_after_a_kernel();
}

static void unless_the_guard_is_off(void **state) {
  (void)state;
  assert_int_equal(run_apart(read_unguarded), 3);
}

static void count_call(void *calls) {
  ++*(int *)calls;
}

static void take_turns(void) {
  int calls = 0;
  float *x = allocate(), last;
  for (int i = 0; i < 50; i++) {
    add_one<<<1, COUNT>>>(x);
    expect(1, cudaLaunchHostFunc(NULL, count_call, &calls) == cudaSuccess);
  }
  expect(2, cudaMemcpy(&last, x + COUNT - 1, sizeof last, cudaMemcpyDeviceToHost) == cudaSuccess);
  expect(3, last == 50.0f && calls == 50);
}

static void host_functions_and_kernels_take_turns(void **state) {
  (void)state;
  assert_int_equal(run_apart(take_turns), 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(host_code_is_kept_out),
      cmocka_unit_test(unless_the_guard_is_off),
      cmocka_unit_test(host_functions_and_kernels_take_turns),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
