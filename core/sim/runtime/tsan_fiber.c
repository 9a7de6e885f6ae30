// SPDX-License-Identifier: MIT
// Streams as the thread sanitizer's fibers, each on a thread of its own.
#include "sim/runtime/tsan_fiber.h"

#ifdef CUDASIM_TSAN

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "sim/base/sim.h"
#include "sim/base/tsan.h"

void *__tsan_get_current_fiber(void);
void *__tsan_create_fiber(unsigned flags);
void __tsan_switch_to_fiber(void *handle, unsigned flags);
void __tsan_set_fiber_name(void *handle, const char *name);

enum { WITH_ORDER = 0, WITHOUT_ORDER = 1 }; // whether a switch synchronizes the two fibers

struct sim_tsan_fiber {
  void *handle;
  bool started; // its thread runs, and the handle knows that thread's stack
  struct sim_node *first, *last;
  pthread_cond_t arrived;
  struct sim_tsan_fiber *next_free;
};

static struct sim_tsan_fiber *free_fibers; // under sim.lock

// Two addresses in a node that the sanitizer knows its orderings by.
static void *submission(struct sim_node *node) {
  return &node->pending;
}
static void *completion(struct sim_node *node) {
  return &node->done;
}

static void *run_fiber(void *data) {
  struct sim_tsan_fiber *fiber = data;
  void *self = __tsan_get_current_fiber();
  __tsan_switch_to_fiber(fiber->handle, WITH_ORDER); // the handle uses this thread's stack, which is set up by now
  __tsan_switch_to_fiber(self, WITHOUT_ORDER);
  sim_worker_prepare_thread();
  sim_lock();
  fiber->started = true;
  pthread_cond_signal(&fiber->arrived);
  for (;;) {
    while (fiber->first == NULL || sim_worker_is_stopping())
      pthread_cond_wait(&fiber->arrived, &sim.lock);
    struct sim_node *node = fiber->first;
    fiber->first = node->next_ready;
    sim_worker_begin();
    sim_unlock();
    sim_node_execute(node);
    sim_lock();
    sim_worker_end();
  }
  return NULL;
}

// The thread begins with the stream, not with its first operation: what the host does in between is not before it.
static void start_thread(struct sim_tsan_fiber *fiber) {
  pthread_t thread;
  if (pthread_create(&thread, NULL, run_fiber, fiber) != 0) {
    fprintf(stderr, "ferry: the simulated CUDA device cannot start a thread\n");
    abort();
  }
  pthread_detach(thread);
  sim_lock();
  while (!fiber->started)
    pthread_cond_wait(&fiber->arrived, &sim.lock);
  sim_unlock();
}

struct sim_tsan_fiber *sim_tsan_fiber_new(void) {
  sim_lock();
  struct sim_tsan_fiber *fiber = free_fibers;
  if (fiber)
    free_fibers = fiber->next_free;
  sim_unlock();
  if (fiber)
    return fiber;
  fiber = sim_allocate(sizeof *fiber);
  *fiber = (struct sim_tsan_fiber){.arrived = PTHREAD_COND_INITIALIZER, .handle = __tsan_create_fiber(0)};
  __tsan_set_fiber_name(fiber->handle, "CUDA stream");
  start_thread(fiber);
  return fiber;
}

void sim_tsan_fiber_free(struct sim_tsan_fiber *fiber) {
  sim_lock();
  fiber->next_free = free_fibers;
  free_fibers = fiber;
  sim_unlock();
}

void sim_tsan_fiber_submitted(struct sim_node *node) {
  SIM_TSAN_RELEASE(submission(node));
}

void sim_tsan_fiber_waited(struct sim_node *node) {
  SIM_TSAN_ACQUIRE(completion(node));
}

void sim_tsan_fiber_run(struct sim_node *node, void (*run)(struct sim_node *)) {
  void *self = __tsan_get_current_fiber();
  __tsan_switch_to_fiber(node->tsan_fiber->handle, WITHOUT_ORDER);
  SIM_TSAN_ACQUIRE(submission(node));
  for (size_t i = 0; i < node->waits_for.count; i++)
    SIM_TSAN_ACQUIRE(completion(node->waits_for.items[i]));
  run(node);
  SIM_TSAN_RELEASE(completion(node));
  __tsan_switch_to_fiber(self, WITHOUT_ORDER);
}

void sim_tsan_fiber_push(struct sim_node *node) {
  struct sim_tsan_fiber *fiber = node->tsan_fiber;
  node->next_ready = NULL;
  if (fiber->first)
    fiber->last->next_ready = node;
  else
    fiber->first = node;
  fiber->last = node;
  pthread_cond_signal(&fiber->arrived);
}

#else
// ISO C wants a declaration in every source.
struct sim_tsan_fiber;
#endif
