// SPDX-License-Identifier: MIT
// Plugins of the simulator (core/sim/base/plugin.h): every registered plugin is notified of an event once, in the order of an
// operation's life.
// sim only: it registers plugins with the simulator
// run: FERRY_SIM_MODE=lazy
// run: FERRY_SIM_MODE=threads
// run: FERRY_SIM_MODE=sync
#include <pthread.h>
#include <string.h>

#include "check.h"
#include "sim/base/plugin.h"

enum { LONGEST = 64 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char first_log[LONGEST], second_log[LONGEST];

static void note(char *log, char event) {
  pthread_mutex_lock(&lock);
  const size_t length = strlen(log);
  if (length + 1 < LONGEST)
    log[length] = event;
  pthread_mutex_unlock(&lock);
}

static void created(struct sim_node *node) {
  (void)node;
  note(first_log, 'c');
}
static void submitted(struct sim_node *node) {
  (void)node;
  note(first_log, 's');
}
static void begins(struct sim_node *node) {
  (void)node;
  note(first_log, 'b');
}
static void ends(struct sim_node *node) {
  (void)node;
  note(first_log, 'e');
}
static void completed(struct sim_node *node) {
  (void)node;
  note(first_log, 'd');
}
static void waited(struct sim_node *node) {
  (void)node;
  note(first_log, 'w');
}
static void begins_too(struct sim_node *node) {
  (void)node;
  note(second_log, 'b');
}
static void allocated(void *address, size_t bytes, const void *caller) {
  (void)address;
  (void)caller;
  note(second_log, bytes == 64 ? 'a' : '?');
}
static void kernel_counted(void) {
  note(second_log, 'k');
}

static const struct sim_plugin first = {.node_created = created,
                                        .node_submitted = submitted,
                                        .node_begins = begins,
                                        .node_ends = ends,
                                        .node_completed = completed,
                                        .node_waited = waited};
static const struct sim_plugin second = {
    .node_begins = begins_too, .allocated = allocated, .kernel_counted = kernel_counted};

static void plugins_are_notified_of_what_they_ask_for(void **state) {
  (void)state;
  void *x;
  sim_plugin_register(&first);
  sim_plugin_register(&second);
  sim_plugin_register(&first); // once more: nothing
  check_cuda(cudaMalloc(&x, 64));
  check_cuda(cudaMemset(x, 0, 64));
  check_cuda(cudaDeviceSynchronize());
  assert_string_equal(first_log, "csbedw");
  assert_string_equal(second_log, "akb");
  assert_null(sim_inspector); // neither has launch_begin
  check_cuda(cudaFree(x));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(plugins_are_notified_of_what_they_ask_for),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
