// SPDX-License-Identifier: MIT
// What the tests of the simulated NCCL share: checks, and a process for each rank.
#ifndef TESTS_CORE_SIM_NCCL_CHECK_H
#define TESTS_CORE_SIM_NCCL_CHECK_H

#include "../../support/child.h"
#include "check.h"
#include <nccl.h>
#include <sys/wait.h>
#include <unistd.h>

#define check_nccl(call)                                                                                               \
  do {                                                                                                                 \
    ncclResult_t check_result = (call);                                                                                \
    if (check_result != ncclSuccess) {                                                                                 \
      fprintf(stderr, "%s:%d: %s: %s (%s)\n", __FILE__, __LINE__, #call, ncclGetErrorString(check_result),             \
              ncclGetLastError(NULL));                                                                                 \
      abort();                                                                                                         \
    }                                                                                                                  \
  } while (0)

#define must(condition)                                                                                                \
  do {                                                                                                                 \
    if (!(condition)) {                                                                                                \
      fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition);                                          \
      abort();                                                                                                         \
    }                                                                                                                  \
  } while (0)

typedef struct Task {
  ncclUniqueId id;
  int rank, ranks;
} Task;

// Forks, so it goes before the simulator is used in this process: the tests that call it run first.
static inline int start(int n, pid_t *pids, void *(*body)(void *)) {
  Task task = {.ranks = n};
  check_nccl(ncclGetUniqueId(&task.id));
  for (task.rank = 0; task.rank < n; task.rank++) {
    pids[task.rank] = fork();
    if (pids[task.rank] == 0) {
      body(&task);
      _exit(0);
    }
  }
  return n;
}

// The devices that the lines "run:" ask for, also where a program is started by hand.
static inline void four_devices(void) {
  setenv("FERRY_SIM_DEVICES", "4", 0);
}

#endif
