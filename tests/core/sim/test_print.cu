// SPDX-License-Identifier: MIT
// printf in kernels: what comes out and in which order, and that a kernel which ends in the middle of one keeps stdout from nobody.
// run check: FERRY_SIM_MODE=lazy
// run: FERRY_SIM_MODE=threads
// run: FERRY_SIM_MODE=threads FERRY_SIM_ORDER=descending
// run: FERRY_SIM_MODE=sync
// sim only: CUDA's printf comes out when the host synchronizes
#include <assert.h>
#include <cstdio>
#include <pthread.h>
#include <unistd.h>

#include <cuda_runtime.h>

#include "check.h"
#include "child.h"

// ---- what comes out ----

__global__ void say(const char *name, int rounds) {
  for (int round = 0; round < rounds; round++) {
    printf("%s %d", name, (int)threadIdx.x);
    printf("\n"); // g++ makes putchar of it, and puts of the next
    printf("end of a round\n");
    __syncthreads();
  }
}

static int print_between(void *unused) {
  (void)unused;
  char *name;
  if (cudaMallocHost(&name, 2) != cudaSuccess)
    return 1;
  strcpy(name, "t");
  printf("before\n");
  say<<<1, 1>>>(name, 2);
  if (cudaDeviceSynchronize() != cudaSuccess)
    return 2;
  std::printf("between %s\n", "kernels");
  say<<<1, 2>>>(name, 1);
  say<<<1, 1>>>(name, 1);
  if (cudaDeviceSynchronize() != cudaSuccess)
    return 3;
  puts("after");
  return 0;
}

static void text_comes_in_order(void **state) {
  (void)state;
  assert_int_equal(run_child(print_between, NULL), 0);
  const char *order = getenv("FERRY_SIM_ORDER");
  const bool descending = order && strcmp(order, "descending") == 0;
  char want[400];
  snprintf(want, sizeof want,
           "before\nt 0\nend of a round\nt 0\nend of a round\nbetween kernels\nt %d\nend of a round\nt %d\nend of a "
           "round\nt 0\nend of a round\nafter\n",
           descending, !descending);
  assert_string_equal(child_output, want);
}

__global__ void say_much(int width, int *lengths) {
  for (int i = 0; i < 3; i++)
    lengths[i] = printf("%*d|", width * i, i);
}

static int print_much(void *unused) {
  (void)unused;
  int lengths[3], *device;
  if (cudaMalloc(&device, sizeof lengths) != cudaSuccess)
    return 1;
  FILE *kept = fdopen(dup(STDOUT_FILENO), "w"), *file = tmpfile();
  if (kept == NULL || file == NULL || dup2(fileno(file), STDOUT_FILENO) < 0)
    return 2;
  say_much<<<1, 1>>>(100000, device);
  if (cudaMemcpy(lengths, device, sizeof lengths, cudaMemcpyDeviceToHost) != cudaSuccess)
    return 3;
  fflush(stdout);
  fprintf(kept, "%d %d %d: %ld", lengths[0], lengths[1], lengths[2], (long)lseek(fileno(file), 0, SEEK_END));
  fclose(kept);
  return 0;
}

static void text_may_be_long(void **state) {
  (void)state;
  assert_int_equal(run_child(print_much, NULL), 0);
  assert_string_equal(child_output, "2 100001 200001: 300004");
}

// ---- kernels that end within it ----

static void *print_a_line(void *unused) {
  (void)unused;
  printf("the host prints\n");
  fflush(stdout);
  return NULL;
}

// From another thread than any that has run the kernel. Where one of them kept the lock, the alarm ends the program.
static int print_from_elsewhere(void) {
  pthread_t thread;
  alarm(100);
  if (pthread_create(&thread, NULL, print_a_line, NULL) != 0)
    return 50;
  pthread_join(thread, NULL);
  alarm(0);
  return 0;
}

// The last thread comes to the string that is none, on a stack of its own.
__global__ void say_what_is_not_there(const char *text) {
  if (threadIdx.x == 0)
    printf("first\n");
  __syncthreads();
  if (threadIdx.x == blockDim.x - 1)
    printf("%s %d\n", text + 1, (int)threadIdx.x);
  __syncthreads();
}

static int print_wildly(void *unused) {
  (void)unused;
  say_what_is_not_there<<<1, 4>>>(nullptr);
  return cudaDeviceSynchronize() == cudaErrorIllegalAddress ? print_from_elsewhere() : 1;
}

static void a_string_that_is_not_there(void **state) {
  (void)state;
  assert_int_equal(run_child(print_wildly, NULL), 0);
  const char *first = strstr(child_output, "first\n"), *message = strstr(child_output, "null pointer");
  assert_non_null(first);
  assert_non_null(message);
  assert_true(first < message);
  expect_child_wrote("the host prints\n");
}

__global__ void check_and_say(int below) {
  printf("thread %d\n", (int)threadIdx.x);
  assert((int)threadIdx.x < below);
}

static int print_and_fail(void *unused) {
  (void)unused;
  check_and_say<<<1, 1>>>(0);
  return cudaDeviceSynchronize() == cudaErrorAssert ? 0 : 1;
}

static void text_comes_before_a_failed_assert(void **state) {
  (void)state;
  assert_int_equal(run_child(print_and_fail, NULL), 0);
  const char *text = strstr(child_output, "thread 0\n"), *message = strstr(child_output, "Assertion");
  assert_non_null(text);
  assert_non_null(message);
  assert_true(text < message);
}

#define SIXTEEN "again and again "
#define LONG_TEXT SIXTEEN SIXTEEN SIXTEEN SIXTEEN SIXTEEN SIXTEEN SIXTEEN SIXTEEN
__global__ void say_for_ever(const int *stop) {
  do
    printf(LONG_TEXT LONG_TEXT LONG_TEXT LONG_TEXT LONG_TEXT LONG_TEXT LONG_TEXT LONG_TEXT "\n");
  while (*(volatile const int *)stop == 0);
}

static int print_for_ever(void *unused) {
  (void)unused;
  int *stop;
  setenv("FERRY_SIM_WATCHDOG", "1", 1);
  setenv("FERRY_SIM_SECONDS", "1", 1);
  if (freopen("/dev/null", "w", stdout) == NULL || cudaMalloc(&stop, sizeof *stop) != cudaSuccess ||
      cudaMemset(stop, 0, sizeof *stop) != cudaSuccess)
    return 1;
  say_for_ever<<<1, 1>>>(stop);
  return cudaDeviceSynchronize() == cudaErrorLaunchTimeout ? print_from_elsewhere() : 2;
}

static void an_endless_loop_that_prints(void **state) {
  (void)state;
  assert_int_equal(run_child(print_for_ever, NULL), 0);
  expect_child_wrote("kernel say_for_ever <<<(1,1,1), (1,1,1)>>>, block (0,0,0)");
  expect_child_wrote("given up (FERRY_SIM_SECONDS)");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(text_comes_in_order),         cmocka_unit_test(text_may_be_long),
      cmocka_unit_test(a_string_that_is_not_there),  cmocka_unit_test(text_comes_before_a_failed_assert),
      cmocka_unit_test(an_endless_loop_that_prints),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
