// SPDX-License-Identifier: MIT
// Work: something to do, such as a launch, a copy or a fill; and how a work that is spread over several worker threads
// asks for them (runtime/worker.c).
#ifndef SIM_WORK_H
#define SIM_WORK_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#include "cuda_runtime_api.h"

struct cudasim_activity;
struct sim_cost;

struct sim_work {
  atomic_int references;
  void (*describe)(const struct sim_work *work,
                   struct cudasim_activity *activity); // kind, name, sizes; NULL: it is not traced
  cudaError_t (*run)(struct sim_work *work);
  bool on_any_thread;                         // a host thread that waits for it may run it itself
  const void *caller;                         // the caller of the API function that made it; NULL: unknown
  void (*destroy)(struct sim_work *work);     // frees what it owns, not the work itself; may be NULL
  void (*count)(const struct sim_work *work); // adds it to the statistics when it is queued; may be NULL
  void (*cost)(const struct sim_work *work, struct sim_cost *cost); // on a modeled GPU; NULL: it takes no time there
  struct sim_cost *price;                                           // its result
};

// The caller of the CUDA, cuBLAS or cuFFT function that runs on this thread. Each such function begins with SIM_CALLED().
extern __thread const void *sim_api_caller;
#define SIM_CALLED() (sim_api_caller = __builtin_return_address(0))

// `size` bytes that begin with a struct sim_work; the caller holds the only reference.
void *sim_work_new(size_t size, cudaError_t (*run)(struct sim_work *), void (*destroy)(struct sim_work *));
struct sim_work *sim_work_retain(struct sim_work *work);
void sim_work_release(struct sim_work *work);

// Has up to `count` idle workers call `help(data)` later. Returns how many will.
struct sim_helper {
  void (*help)(void *data);
  void *data;
};
int sim_worker_offer(struct sim_helper helper, int count);

// To be called first on a thread that will execute nodes and is not the program's own.
void sim_worker_prepare_thread(void);

#endif
