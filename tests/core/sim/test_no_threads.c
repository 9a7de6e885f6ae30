// SPDX-License-Identifier: MIT
// A system that gives no thread to the simulator: the program ends with a message, and does not hang in its exit handlers.
// sim only: it takes pthread_create away from the simulator
// run check: FERRY_SIM_MODE=threads
#include <errno.h>
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"

// In the place of the C library's.
int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*run)(void *), void *argument) {
  (void)thread;
  (void)attributes;
  (void)run;
  (void)argument;
  return EAGAIN;
}

static void launch_something(void) {
  void *x;
  cudaMalloc(&x, 64);
  cudaMemset(x, 0, 64);
  cudaDeviceSynchronize();
}

static void capture_and_launch(void) {
  cudaStream_t stream;
  cudaGraph_t graph;
  cudaGraphExec_t exec;
  cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
  cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal);
  cudaStreamEndCapture(stream, &graph);
  cudaGraphInstantiate(&exec, graph, 0);
  cudaGraphLaunch(exec, stream);
  cudaStreamSynchronize(stream);
}

static void ends_with_a_message(void (*body)(void)) {
  char output[512] = "";
  size_t length = 0;
  ssize_t n;
  int ends[2], status;
  assert_int_equal(pipe(ends), 0);
  fflush(stdout);
  pid_t child = fork();
  if (child == 0) {
    alarm(20);
    dup2(ends[1], 2);
    body();
    _exit(0);
  }
  close(ends[1]);
  while ((n = read(ends[0], output + length, sizeof output - 1 - length)) > 0)
    length += (size_t)n;
  close(ends[0]);
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_true(WIFEXITED(status));
  assert_int_equal(WEXITSTATUS(status), 1);
  assert_non_null(strstr(output, "ferry: the simulated CUDA device cannot start a thread"));
}

static void a_fill_without_threads(void **state) {
  (void)state;
  ends_with_a_message(launch_something);
}

static void a_graph_without_threads(void **state) {
  (void)state;
  ends_with_a_message(capture_and_launch);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_fill_without_threads),
      cmocka_unit_test(a_graph_without_threads),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
