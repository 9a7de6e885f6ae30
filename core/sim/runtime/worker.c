// SPDX-License-Identifier: MIT
// The threads of the asynchronous mode: each takes the next ready node, or helps with the blocks of a big launch.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#ifdef _OPENMP
#include <omp.h>
#endif

#include "sim/engine/fault.h"
#include "sim/runtime/tsan_fiber.h"
#include "sim/runtime/memory.h"
#include "sim/runtime/node.h"
#include "sim/base/plugin.h"
#include "sim/base/sim.h"

static pthread_cond_t work_arrived = PTHREAD_COND_INITIALIZER;
static pthread_cond_t node_done = PTHREAD_COND_INITIALIZER;
static struct sim_node *first_ready, *last_ready;
static struct sim_helper offers[64];
static int offer_count;
static int idle, busy, waiting;
static bool stopping;

static void run_one_offer(void) {
  struct sim_helper helper = offers[--offer_count];
  sim_unlock();
  helper.help(helper.data);
  sim_lock();
}

// FERRY_SIM_DELAYS: half of the operations have no delay, the others up to two milliseconds, depending only on the seed. After
// the first hundred operations it is a tenth of that, still longer than a call takes, so that a program with a thousand
// operations ends within a second.
static void delay(const struct sim_node *node) {
  unsigned int mixed = (node->number + 1) * 2654435761u ^ sim.config.delays * 2246822519u;
  mixed = (mixed ^ mixed >> 15) * 3266489917u;
  mixed ^= mixed >> 13;
  if (mixed & 1)
    nanosleep(&(struct timespec){.tv_nsec = (mixed >> 1) % (node->number < 100 ? 2000000 : 200000)}, NULL);
}

static void run_one_node(void) {
  struct sim_node *node = first_ready;
  first_ready = node->next_ready;
  sim_unlock();
  if (sim.config.delays)
    delay(node);
  sim_node_execute(node);
  sim_lock();
}

void sim_worker_prepare_thread(void) {
#ifdef _OPENMP
  omp_set_num_threads(1); // a library called from here must not start a team of its own
#endif
  sim_fault_prepare_thread();
}

static void *worker(void *unused) {
  (void)unused;
  sim_worker_prepare_thread();
  sim_lock();
  for (;;) {
    while (stopping || (offer_count == 0 && first_ready == NULL)) {
      idle++;
      pthread_cond_wait(&work_arrived, &sim.lock);
      idle--;
    }
    sim_worker_begin();
    if (offer_count > 0)
      run_one_offer();
    else
      run_one_node();
    sim_worker_end();
    if (offer_count == 0 && first_ready == NULL) {
      sim_unlock();
      sim_access_settle();
      sim_lock();
    }
  }
  return NULL;
}

void sim_worker_begin(void) {
  busy++;
}

void sim_worker_end(void) {
  busy--;
  if (stopping)
    pthread_cond_broadcast(&node_done);
}

// At exit the workers finish the node they are at and begin no other, for at most a second: an endless kernel must not
// keep the program from ending, and libraries that a node uses must not be taken down under it.
static void stop(void) {
  if (sim.forked)
    return;
  struct timespec limit;
  clock_gettime(CLOCK_REALTIME, &limit);
  limit.tv_sec += 1;
  sim_lock();
  stopping = true;
  while (busy > 0)
    if (pthread_cond_timedwait(&node_done, &sim.lock, &limit) != 0)
      break;
  sim_unlock();
}

// atexit alone is too late: oneDNN makes kernels at its first products, so at exit it takes them down before what was
// registered when the workers started. The main thread's own destructors run before all of that, where the C library
// has them; the registration belongs to the main thread, on which constructors run.
extern int __cxa_thread_atexit_impl(void (*)(void *), void *, void *) __attribute__((weak));
extern void *__dso_handle;

static void stop_first(void *unused) {
  (void)unused;
  if (!sim.forked)
    SIM_NOTIFY(exits, ());
  stop();
}

__attribute__((constructor)) static void register_stop(void) {
  if (__cxa_thread_atexit_impl)
    __cxa_thread_atexit_impl(stop_first, NULL, &__dso_handle);
}

static void start_workers(void) {
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  for (int i = 0; i < sim.config.workers; i++) {
    pthread_t thread;
    if (pthread_create(&thread, &attributes, worker, NULL) != 0 && i == 0) {
      fprintf(stderr, "ferry: the simulated CUDA device cannot start a thread\n");
      exit(1);
    }
  }
  pthread_attr_destroy(&attributes);
  atexit(stop);
}

void sim_worker_start(void) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  if (sim.config.mode == SIM_THREADS && !SIM_TSAN_FIBERS)
    pthread_once(&once, start_workers);
}

void sim_worker_push(struct sim_node *node) {
  if (node->tsan_fiber) {
    sim_tsan_fiber_push(node);
    return;
  }
  node->next_ready = NULL;
  if (first_ready)
    last_ready->next_ready = node;
  else
    first_ready = node;
  last_ready = node;
  if (idle > 0)
    pthread_cond_signal(&work_arrived);
}

bool sim_worker_take(const struct sim_node *node) {
  if (first_ready != node || node->work == NULL || !node->work->on_any_thread || stopping)
    return false;
  first_ready = node->next_ready;
  return true;
}

int sim_worker_offer(struct sim_helper helper, int count) {
  sim_lock();
  int room = (int)(sizeof offers / sizeof *offers) - offer_count, accepted = 0;
  while (accepted < count && accepted < room && accepted < idle) {
    offers[offer_count++] = helper;
    accepted++;
  }
  if (accepted > 0)
    pthread_cond_broadcast(&work_arrived);
  sim_unlock();
  return accepted;
}

void sim_worker_wait_done(void) {
  waiting++;
  pthread_cond_wait(&node_done, &sim.lock);
  waiting--;
}

bool sim_worker_has_stopped(void) {
  return stopping && busy == 0;
}

bool sim_worker_is_stopping(void) {
  return stopping;
}

void sim_worker_signal_done(void) {
  if (waiting > 0)
    pthread_cond_broadcast(&node_done);
}
