// SPDX-License-Identifier: MIT
// What starting a program costs, and what it leaves behind: a program that stays on the CPU opens no CUDA library, starts
// no thread of a simulated device, is small and quick; at exit everything has been given back.
//
// Each test runs this program again, as one of the children below, which reports on itself.
//
// run check: OMP_NUM_THREADS=1
#include "base/sanitized.h"
#include "child.h"
#include "core/nn/check.h"
#include <stdio.h>
#include <time.h>
#include <unistd.h>

// ---- the children ----------------------------------------------------------------------------------------------------------

// What of CUDA is mapped into the process, one "mapped NAME" per library; and "threads N", "peak N kB".
static void report(const char *when) {
  static const char *const names[] = {"libcuda.", "libcudart", "libcublas", "libferry-cuda", "libnvidia"};
  char line[4352];
  FILE *maps = fopen("/proc/self/maps", "r"), *status = fopen("/proc/self/status", "r");
  if (!maps || !status)
    exit(90);
  while (fgets(line, sizeof line, maps))
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
      if (strstr(line, names[i]))
        printf("%s: mapped %s\n", when, names[i]);
  while (fgets(line, sizeof line, status))
    if (strncmp(line, "VmHWM:", 6) == 0)
      printf("%s: peak %ld kB\n", when, strtol(line + 6, NULL, 10));
    else if (strncmp(line, "Threads:", 8) == 0)
      printf("%s: threads %ld\n", when, strtol(line + 8, NULL, 10));
  fclose(maps);
  fclose(status);
}

// Registered before Ferry's own, so called after it.
static void report_leaks(void) {
  FyMemoryStats stats = fy_memory_stats(FY_CPU_DEVICE);
  printf("exit: %lld blocks, %zu bytes\n", (long long)stats.active_blocks, stats.requested);
}

static void start(void) {
  float values[4];
  FyTensor *x = fy_tensor(fy_floats(1, 2, 3, 4), fy_shape(2, 2), .requires_grad = true);
  fy_backward(fy_sum(fy_mul(x, x)));
  fy_copy_to_host(fy_grad(x), values);
  report("started");
}

static void work(void) {
  FyModule *model = fy_nn_sequential(fy_nn_conv2d(1, 4, 3), fy_nn_batch_norm2d(4), fy_nn_relu(), fy_nn_max_pool2d(2),
                                     fy_nn_flatten(), fy_nn_linear(36, 10), fy_nn_dropout(0.5));
  FyOptimizer *optimizer = fy_adam(fy_parameters(model));
  for (int i = 0; i < 3; i++)
    fy_scope {
      FyTensor *loss =
          fy_cross_entropy(fy_forward(model, fy_randn(fy_shape(8, 1, 8, 8))), fy_randint(0, 10, fy_shape(8)));
      fy_zero_grad(optimizer);
      fy_backward(loss);
      fy_step(optimizer);
    }
  fy_eval(model);
  free(fy_repr(fy_to(fy_matmul(fy_rand(fy_shape(50, 50)), fy_rand(fy_shape(50, 50))), FY_CPU_DEVICE)));
  fy_module_to(model, FY_CPU_DEVICE);
  fy_load_state_dict(model, fy_state_dict(model));
  fy_synchronize(FY_CPU_DEVICE);
  fy_reset_peak_memory_stats(FY_CPU_DEVICE);
  fy_empty_cache();
  report("worked");
}

// Objects of all kinds left to the outermost scope, retained ones dropped, errors on the way.
static void leave_things_behind(void) {
  FyError error;
  work();
  FyTensor *kept = fy_retain(fy_ones(fy_shape(100)));
  fy_trap(error) {
    fy_matmul(fy_ones(fy_shape(2, 3)), fy_ones(fy_shape(4, 5)));
  }
  fy_release(kept);
  fy_scope_open(); // never closed
  fy_exp(fy_ones(fy_shape(1000), .requires_grad = true));
}

static void look_for_devices(void) {
  printf("available %d\n", fy_cuda_is_available());
  if (fy_cuda_is_available())
    printf("sum %g\n", fy_item(fy_sum(fy_ones(fy_shape(5), .device = fy_device("cuda")))));
  report("looked");
}

static void be_child(const char *what) {
  atexit(report_leaks);
  if (strcmp(what, "start") == 0)
    start();
  else if (strcmp(what, "work") == 0)
    work();
  else if (strcmp(what, "leave") == 0)
    leave_things_behind();
  else
    look_for_devices();
  fflush(stdout);
}

// ---- running them ------------------------------------------------------------------------------------------------------------

typedef struct Start {
  const char *what, *cuda;
} Start;

static int start_again(void *context) {
  const Start *start = context;
  unsetenv("FERRY_CUDA");
  if (start->cuda)
    setenv("FERRY_CUDA", start->cuda, 1);
  execl("/proc/self/exe", "test_start_up", "--child", start->what, (char *)NULL);
  return 99;
}

// Runs a child with FERRY_CUDA set so (NULL: unset). Returns the seconds it took.
static double in_child(const char *what, const char *cuda) {
  struct timespec begin, end;
  clock_gettime(CLOCK_MONOTONIC, &begin);
  int status = run_child(start_again, &(Start){what, cuda});
  clock_gettime(CLOCK_MONOTONIC, &end);
  if (status != 0)
    fail_msg("the child ended with status %d and said: %s", status, child_output);
  return (double)(end.tv_sec - begin.tv_sec) + 1e-9 * (double)(end.tv_nsec - begin.tv_nsec);
}

static void expect_no_cuda(void) {
  if (strstr(child_output, ": mapped"))
    fail_msg("CUDA is in the process: %s", child_output);
}

static long number_after(const char *text) {
  const char *at = strstr(child_output, text);
  assert_non_null(at);
  return strtol(at + strlen(text), NULL, 10);
}

// ---- the tests -----------------------------------------------------------------------------------------------------------------

static void the_cpu_needs_no_cuda(void **state) {
  (void)state;
  const char *const modes[] = {NULL, "off", "sim", "real"};
  for (int i = 0; i < 4; i++) {
    in_child("start", modes[i]);
    expect_no_cuda();
    in_child("work", modes[i]);
    expect_no_cuda();
#ifndef FY_SANITIZED // which has a thread of its own
    expect_child_wrote("worked: threads 1\n");
#endif
  }
}

static void switched_off_or_simulated_it_stays_away(void **state) {
  (void)state;
  in_child("look", "off");
  expect_child_wrote("available 0\n");
  expect_no_cuda();
  in_child("look", "sim");
  expect_child_wrote("available 1\nsum 5\n");
  expect_no_cuda();
}

// Without a driver the toolkit's libraries are of no use, whether they are installed or not.
static void without_a_driver_nothing_is_opened(void **state) {
  (void)state;
  in_child("look", "real");
  if (strstr(child_output, "available 1")) {
    print_message("there is a real GPU here\n");
    skip();
  }
  expect_no_cuda();
}

static void it_is_small_and_quick(void **state) {
  (void)state;
  double best = 1e9;
  for (int i = 0; i < 10; i++)
    best = fmin(best, in_child("start", NULL));
  long kilobytes = number_after("started: peak ");
  print_message("starting and ending: %.1f ms, peak %.1f MiB\n", best * 1e3, (double)kilobytes / 1024);
#ifdef FY_SANITIZED
  print_message("an instrumented build is larger and slower than the bounds here\n");
  skip();
#endif
  assert_true(kilobytes < 16 * 1024);
  assert_true(best < 0.05);
}

static void nothing_is_left_at_exit(void **state) {
  (void)state;
  const char *const children[] = {"start", "work", "leave"};
  for (int i = 0; i < 3; i++) {
    in_child(children[i], NULL);
    expect_child_wrote("exit: 0 blocks, 0 bytes\n");
  }
}

int main(int argc, char **argv) {
  if (argc == 3 && strcmp(argv[1], "--child") == 0) {
    be_child(argv[2]);
    return 0;
  }
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_cpu_needs_no_cuda),
      cmocka_unit_test(switched_off_or_simulated_it_stays_away),
      cmocka_unit_test(without_a_driver_nothing_is_opened),
      cmocka_unit_test(it_is_small_and_quick),
      cmocka_unit_test(nothing_is_left_at_exit),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
