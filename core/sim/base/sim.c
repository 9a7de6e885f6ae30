// SPDX-License-Identifier: MIT
// The simulator's state, its own memory and its time.
#include "sim/base/sim.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

struct sim_state sim = {.lock = PTHREAD_MUTEX_INITIALIZER};
__thread int sim_current_device;

void *sim_resize(void *memory, size_t bytes) {
  memory = realloc(memory, bytes ? bytes : 1);
  if (memory == NULL) {
    fprintf(stderr, "ferry: the simulated CUDA runtime has no host memory left (%zu bytes wanted)\n", bytes);
    abort();
  }
  return memory;
}

void *sim_allocate(size_t bytes) {
  return sim_resize(NULL, bytes);
}

long long sim_now(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1000000000ll + now.tv_nsec;
}
