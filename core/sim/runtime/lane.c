// Streams as the thread sanitizer's fibers, each on a thread of its own.
#include "sim/runtime/lane.h"

#ifdef CUDASIM_TSAN

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "sim/runtime/sim.h"

void *__tsan_get_current_fiber(void);
void *__tsan_create_fiber(unsigned flags);
void __tsan_switch_to_fiber(void *fiber, unsigned flags);
void __tsan_set_fiber_name(void *fiber, const char *name);
void __tsan_acquire(void *address);
void __tsan_release(void *address);

enum { WITH_ORDER = 0, WITHOUT_ORDER = 1 }; // whether a switch synchronises the two fibers

struct sim_lane {
  void *fiber;
  bool started; // its thread runs, and the fiber knows that thread's stack
  struct sim_node *first, *last;
  pthread_cond_t arrived;
  struct sim_lane *next_free;
};

static struct sim_lane *free_lanes; // under sim.lock

// Two addresses in a node that the sanitizer knows its orderings by.
static void *submission(struct sim_node *node) {
  return &node->pending;
}
static void *completion(struct sim_node *node) {
  return &node->done;
}

static void *run_lane(void *data) {
  struct sim_lane *lane = data;
  void *self = __tsan_get_current_fiber();
  __tsan_switch_to_fiber(lane->fiber, WITH_ORDER); // the fiber uses this thread's stack, which is set up by now
  __tsan_switch_to_fiber(self, WITHOUT_ORDER);
  sim_worker_prepare_thread();
  sim_lock();
  lane->started = true;
  pthread_cond_signal(&lane->arrived);
  for (;;) {
    while (lane->first == NULL || sim_worker_is_stopping())
      pthread_cond_wait(&lane->arrived, &sim.lock);
    struct sim_node *node = lane->first;
    lane->first = node->next_ready;
    sim_worker_begin();
    sim_unlock();
    sim_node_execute(node);
    sim_lock();
    sim_worker_end();
  }
  return NULL;
}

// The thread begins with the stream, not with its first operation: what the host does in between is not before it.
static void start(struct sim_lane *lane) {
  pthread_t thread;
  if (pthread_create(&thread, NULL, run_lane, lane) != 0) {
    fprintf(stderr, "ferry: the simulated CUDA device cannot start a thread\n");
    abort();
  }
  pthread_detach(thread);
  sim_lock();
  while (!lane->started)
    pthread_cond_wait(&lane->arrived, &sim.lock);
  sim_unlock();
}

struct sim_lane *sim_lane_new(void) {
  sim_lock();
  struct sim_lane *lane = free_lanes;
  if (lane)
    free_lanes = lane->next_free;
  sim_unlock();
  if (lane)
    return lane;
  lane = sim_allocate(sizeof *lane);
  *lane = (struct sim_lane){.arrived = PTHREAD_COND_INITIALIZER, .fiber = __tsan_create_fiber(0)};
  __tsan_set_fiber_name(lane->fiber, "CUDA stream");
  start(lane);
  return lane;
}

void sim_lane_free(struct sim_lane *lane) {
  sim_lock();
  lane->next_free = free_lanes;
  free_lanes = lane;
  sim_unlock();
}

void sim_lane_submitted(struct sim_node *node) {
  __tsan_release(submission(node));
}

void sim_lane_waited(struct sim_node *node) {
  __tsan_acquire(completion(node));
}

void sim_lane_releasing(atomic_int *references) {
  __tsan_release(references);
}

void sim_lane_freeing(atomic_int *references) {
  __tsan_acquire(references);
}

void sim_lane_run(struct sim_node *node, void (*run)(struct sim_node *)) {
  void *self = __tsan_get_current_fiber();
  __tsan_switch_to_fiber(node->lane->fiber, WITHOUT_ORDER);
  __tsan_acquire(submission(node));
  for (size_t i = 0; i < node->waits_for.count; i++)
    __tsan_acquire(completion(node->waits_for.items[i]));
  run(node);
  __tsan_release(completion(node));
  __tsan_switch_to_fiber(self, WITHOUT_ORDER);
}

void sim_lane_push(struct sim_node *node) {
  struct sim_lane *lane = node->lane;
  node->next_ready = NULL;
  if (lane->first)
    lane->last->next_ready = node;
  else
    lane->first = node;
  lane->last = node;
  pthread_cond_signal(&lane->arrived);
}

#else
// ISO C wants a declaration in every source.
struct sim_lane;
#endif
