// SPDX-License-Identifier: MIT
// Making work and counting references to it.
#include "sim/base/work.h"

#include <stdlib.h>
#include <string.h>

#include "sim/base/sim.h"
#include "sim/base/tsan.h"

__thread const void *sim_api_caller;

void *sim_work_new(size_t size, cudaError_t (*run)(struct sim_work *), void (*destroy)(struct sim_work *)) {
  struct sim_work *work = sim_allocate(size);
  memset(work, 0, sizeof *work);
  atomic_init(&work->references, 1);
  work->run = run;
  work->destroy = destroy;
  return work;
}

struct sim_work *sim_work_retain(struct sim_work *work) {
  if (work)
    atomic_fetch_add_explicit(&work->references, 1, memory_order_relaxed);
  return work;
}

void sim_work_release(struct sim_work *work) {
  if (work == NULL)
    return;
  SIM_TSAN_RELEASE(&work->references);
  if (atomic_fetch_sub_explicit(&work->references, 1, memory_order_acq_rel) > 1)
    return;
  SIM_TSAN_ACQUIRE(&work->references);
  if (work->destroy)
    work->destroy(work);
  free(work->price);
  free(work);
}
