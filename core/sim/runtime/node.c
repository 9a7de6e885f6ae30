// SPDX-License-Identifier: MIT
// Nodes: counting references, drawing edges, and running a node when its mode has it run.
#include "sim/runtime/node.h"

#include <stdlib.h>
#include <string.h>

#include "sim/base/plugin.h"
#include "sim/runtime/tsan_fiber.h"
#include "sim/runtime/memory.h"
#include "sim/base/sim.h"
#include "sim/base/tsan.h"
#include "sim/runtime/stream.h"

// ---- nodes ----

void sim_node_list_add(struct sim_node_list *list, struct sim_node *node) {
  if (list->count == list->room) {
    list->room = list->room ? 2 * list->room : 4;
    list->items = sim_resize(list->items, list->room * sizeof(struct sim_node *));
  }
  list->items[list->count++] = node;
}

struct sim_node *sim_node_new(int device, struct sim_work *work, struct sim_tsan_fiber *fiber) {
  struct sim_node *node = sim_allocate(sizeof *node);
  memset(node, 0, sizeof *node);
  atomic_init(&node->references, 2); // the caller's, and the node's own until it is done
  node->device = device;
  node->work = work;
  node->tsan_fiber = fiber;
  node->pending = 1;
  node->held = true;
  static atomic_uint made;
  node->number = atomic_fetch_add_explicit(&made, 1, memory_order_relaxed);
  SIM_COUNT(live_nodes, 1);
  SIM_NOTIFY(node_created, (node));
  return node;
}

struct sim_node *sim_node_retain(struct sim_node *node) {
  if (node)
    atomic_fetch_add_explicit(&node->references, 1, memory_order_relaxed);
  return node;
}

void sim_node_release(struct sim_node *node) {
  if (node == NULL)
    return;
  SIM_TSAN_RELEASE(&node->references);
  if (atomic_fetch_sub_explicit(&node->references, 1, memory_order_acq_rel) > 1)
    return;
  SIM_TSAN_ACQUIRE(&node->references);
  sim_work_release(node->work);
  SIM_NOTIFY(node_destroyed, (node));
  free(node->waits_for.items);
  free(node->successors.items);
  free(node);
  SIM_COUNT(live_nodes, -1);
}

void sim_node_after(struct sim_node *node, struct sim_node *on) {
  if (on == NULL)
    return;
  const bool done = atomic_load(&on->done);
  SIM_NOTIFY(node_depends, (node, on, done));
#ifndef CUDASIM_TSAN // the sanitizer must be told of finished ones too
  if (done)
    return;
#endif
  sim_node_list_add(&node->waits_for, sim_node_retain(on));
  if (done)
    return;
  sim_node_list_add(&on->successors, node);
  node->pending++;
}

static void make_ready(struct sim_node *node) {
  if (sim.config.mode == SIM_THREADS)
    sim_worker_push(node);
}

void sim_node_unhold(struct sim_node *node) {
  sim_tsan_fiber_submitted(node);
  SIM_NOTIFY(node_submitted, (node));
  node->held = false;
  if (--node->pending == 0)
    make_ready(node);
}

// Marks the node done and lets its successors go.
static void complete(struct sim_node *node) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  node->finished = now;
  sim_lock();
  struct sim_node_list before = node->waits_for;
  node->waits_for = (struct sim_node_list){0};
  atomic_store(&node->done, true);
  for (size_t i = 0; i < node->successors.count; i++)
    if (--node->successors.items[i]->pending == 0)
      make_ready(node->successors.items[i]);
  node->successors.count = 0;
  SIM_NOTIFY(node_completed, (node));
  sim_worker_signal_done();
  sim_unlock();
  for (size_t i = 0; i < before.count; i++)
    sim_node_release(before.items[i]);
  free(before.items);
  sim_node_release(node);
}

static __thread const struct sim_node *running;

const struct sim_node *sim_node_running(void) {
  return running;
}

// Runs the work and releases it, on the thread that has used it.
static void run(struct sim_node *node) {
  const struct sim_node *const outer = running; // its host function waits for this node
  running = node;
  if (node->work && sim_sticky(node->device) == cudaSuccess) {
    SIM_NOTIFY(node_begins, (node));
    sim_access_begin();
    cudaError_t error = node->work->run(node->work);
    sim_access_end();
    if (error != cudaSuccess)
      sim_set_sticky(node->device, error);
  }
  SIM_NOTIFY(node_ends, (node));
  sim_work_release(node->work);
  node->work = NULL;
  running = outer;
}

void sim_node_execute(struct sim_node *node) {
  if (node->tsan_fiber)
    sim_tsan_fiber_run(node, run);
  else
    run(node);
  complete(node);
}

// ---- who executes, and when ----

static pthread_mutex_t execution;
static pthread_once_t execution_once = PTHREAD_ONCE_INIT;

static void make_execution_lock(void) {
  pthread_mutexattr_t attributes;
  pthread_mutexattr_init(&attributes);
  pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_RECURSIVE);
  pthread_mutex_init(&execution, &attributes);
  pthread_mutexattr_destroy(&attributes);
}

static __thread int execution_locks;

void sim_execution_lock(void) {
  pthread_once(&execution_once, make_execution_lock);
  pthread_mutex_lock(&execution);
  execution_locks++;
}

void sim_execution_unlock(void) {
  execution_locks--;
  pthread_mutex_unlock(&execution);
}

int sim_execution_pause(void) {
  const int locks = execution_locks;
  while (execution_locks > 0)
    sim_execution_unlock();
  return locks;
}

void sim_execution_resume(int locks) {
  for (int i = 0; i < locks; i++)
    sim_execution_lock();
}

// On its sanitizer fiber's thread, if it has one, unless the program is about to end: those threads start nothing then.
static void execute(struct sim_node *node) {
  bool by_fiber = node->tsan_fiber != NULL;
  if (by_fiber) {
    sim_lock();
    by_fiber = !sim_worker_is_stopping();
    if (by_fiber)
      sim_tsan_fiber_push(node);
    while (by_fiber && !atomic_load(&node->done) && !sim_worker_has_stopped())
      sim_worker_wait_done();
    sim_unlock();
  }
  if (!by_fiber)
    sim_node_execute(node);
}

// A node that `node` waits for and that is not done, retained; NULL when it can run.
static struct sim_node *unfinished_before(struct sim_node *node) {
  sim_lock();
  const struct sim_node_list *list = &node->waits_for;
  while (node->done_before < list->count && atomic_load(&list->items[node->done_before]->done))
    node->done_before++;
  struct sim_node *found = node->done_before < list->count ? list->items[node->done_before] : NULL;
  sim_node_retain(found);
  sim_unlock();
  return found;
}

// True if this thread must not run the node, after waiting for a change: another thread has yet to release it, or runs it
// while it lets others continue (both only in NCCL's operations).
static bool wait_for_others(struct sim_node *node) {
  sim_lock();
  const bool others = node->held || node->running;
  node->running |= !others;
  sim_unlock();
  if (!others)
    return false;
  const int locks = sim_execution_pause();
  sim_lock();
  while (!atomic_load(&node->done) && (node->held || node->running))
    sim_worker_wait_done();
  sim_unlock();
  sim_execution_resume(locks);
  return true;
}

struct sim_node *sim_node_ready(struct sim_node *root, const struct sim_node *except, unsigned int search) {
  if (root == NULL || root->search == search || atomic_load(&root->done))
    return NULL;
  root->search = search;
  bool can_run = !root->held && !root->running && root != except;
  for (size_t i = 0; i < root->waits_for.count; i++) {
    struct sim_node *before = root->waits_for.items[i];
    if (atomic_load(&before->done))
      continue;
    can_run = false;
    struct sim_node *ready = sim_node_ready(before, except, search);
    if (ready)
      return ready;
  }
  return can_run ? root : NULL;
}

// FERRY_SIM_AHEAD: everything that can run before `node` does, of all streams.
static void run_others(const struct sim_node *node) {
  struct sim_node *other;
  do {
    sim_lock();
    other = sim_node_retain(sim_streams_ready(node));
    if (other)
      other->running = true;
    sim_unlock();
    if (other)
      execute(other);
    sim_node_release(other);
  } while (other);
}

// Lazy mode: runs the nodes that `root` needs, and no others. An explicit stack instead of recursion: chains may be long.
static void demand(struct sim_node *root) {
  struct sim_node_list path = {0};
  sim_execution_lock();
  sim_access_begin();
  sim_node_list_add(&path, sim_node_retain(root)); // another thread may finish those that wait for them meanwhile
  while (path.count > 0) {
    struct sim_node *node = path.items[path.count - 1];
    struct sim_node *before = atomic_load(&node->done) ? NULL : unfinished_before(node);
    if (before) {
      sim_node_list_add(&path, before);
      continue;
    }
    if (!atomic_load(&node->done) && wait_for_others(node))
      continue;
    path.count--;
    if (sim.config.ahead && !atomic_load(&node->done))
      run_others(node);
    if (!atomic_load(&node->done))
      execute(node);
    sim_node_release(node);
  }
  sim_access_end();
  sim_execution_unlock();
  free(path.items);
}

void sim_node_waited(struct sim_node *node) {
  sim_tsan_fiber_waited(node);
  SIM_NOTIFY(node_waited, (node));
}

void sim_node_wait(struct sim_node *node) {
  if (node == NULL)
    return;
  if (!atomic_load(&node->done)) {
    if (sim.config.mode == SIM_LAZY) {
      demand(node);
    } else {
      sim_lock();
      if (sim_worker_take(node)) { // quicker than a worker that has to wake up
        sim_unlock();
        sim_node_execute(node);
        sim_lock();
      }
      while (!atomic_load(&node->done) && !sim_worker_has_stopped())
        sim_worker_wait_done();
      sim_unlock();
    }
  }
  sim_access_settle();
  sim_node_waited(node);
}

void sim_node_queried(struct sim_node *node) {
  if (node && sim.config.mode == SIM_LAZY && atomic_fetch_add(&node->polls, 1) >= sim.config.polls)
    sim_node_wait(node);
}

void sim_node_run_if_sync(struct sim_node *node) {
  if (sim.config.mode != SIM_SYNC)
    return;
  execute(node);
  sim_tsan_fiber_waited(node);
}
