// SPDX-License-Identifier: MIT
// Operations and what they wait for.
//
// Work (base/work.h) is something to do: a launch, a copy, a fill. A node is one execution of a work, and waits for other
// nodes. A stream is its last node, an event is a node, and a graph is a list of works with edges. So all of CUDA's
// ordering rules become edges when a node is made. The modes differ only in which thread executes a node, and when.
#ifndef SIM_NODE_H
#define SIM_NODE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <time.h>

#include "cuda_runtime_api.h"
#include "sim/base/work.h"

struct cudasim_activity;
struct model_task;
struct sim_vector_clock;

struct sim_node_list {
  struct sim_node **items;
  size_t count, room;
};

// Adds to the end, without retaining the node.
void sim_node_list_add(struct sim_node_list *list, struct sim_node *node);

struct sim_node {
  atomic_int references;
  int device, priority;              // priority: of its stream, as CUDA counts
  struct sim_work *work;             // NULL: a point in a stream, without work
  struct sim_tsan_fiber *tsan_fiber; // thread sanitizer builds: the stream that it runs in; else NULL
  struct sim_node_list waits_for;    // retained
  size_t done_before;                // the first so many of waits_for are known to be done; under sim.lock
  struct sim_node_list successors;
  int pending;         // the number of unfinished nodes that it waits for, plus one while it is held
  bool held;           // not released yet (sim_node_unhold)
  bool running;        // in the lazy mode: some thread executes it
  atomic_int polls;    // in the lazy mode: how often it has been queried
  unsigned int search; // the last search that has visited it (sim_node_ready)
  unsigned int number; // how many nodes were made before it
  atomic_bool done;
  struct timespec finished;
  struct sim_node *next_ready;

  // Of plugins (base/plugin.h), each NULL where its plugin is not registered.
  struct cudasim_activity *activity;     // trace.c: what it is, if it is traced
  long long began;                       // trace.c: nanoseconds
  struct model_task *task;               // clock.c
  bool awaited;                          // clock.c: the call that queued it returns when it is done
  struct sim_vector_clock *vector_clock; // vector_clock.c: what is ordered before it
};

// Takes over the caller's reference to the work. The node waits for nothing yet, but is held.
struct sim_node *sim_node_new(int device, struct sim_work *work, struct sim_tsan_fiber *fiber);
struct sim_node *sim_node_retain(struct sim_node *node);
void sim_node_release(struct sim_node *node);

// `node`, which is still held, will wait for `on` (NULL or done: nothing to wait for). sim.lock is held.
void sim_node_after(struct sim_node *node, struct sim_node *on);

// Releases the node: its dependencies are complete, so it may run. sim.lock is held.
void sim_node_unhold(struct sim_node *node);

// Returns when the node is done.
void sim_node_wait(struct sim_node *node);

// The host knows that the node is done: it has waited for it, or asked.
void sim_node_waited(struct sim_node *node);

// Lazy mode: a stream or event was queried that waits for the node. Nothing would ever finish while the host polls, so after
// FERRY_SIM_POLLS queries of it (0: at once) the node runs.
void sim_node_queried(struct sim_node *node);

// Searches `root` and the nodes that it waits for. Returns one that could run now and is not `except`, or NULL. A search
// has a number other than 0, and visits each node once. sim.lock is held.
struct sim_node *sim_node_ready(struct sim_node *root, const struct sim_node *except, unsigned int search);

// In the synchronous mode, runs a node that was unheld; otherwise does nothing.
void sim_node_run_if_sync(struct sim_node *node);

// The node that the calling thread executes; NULL: none.
const struct sim_node *sim_node_running(void);

// Runs the node on the calling thread: everything it waits for is done.
void sim_node_execute(struct sim_node *node);

// Serializes the threads that execute nodes in the lazy and synchronous modes; nests.
void sim_execution_lock(void);
void sim_execution_unlock(void);
int sim_execution_pause(void); // all of the calling thread's locks; how many
void sim_execution_resume(int locks);

// Starts the workers when that has not been done, in the mode that has them. To be called without any lock before the
// first node is made ready: when no thread is to be had, the program ends with status 1.
void sim_worker_start(void);

// A ready node, in the mode with workers. sim.lock is held.
void sim_worker_push(struct sim_node *node);
// True: no worker has begun with the ready node, and none will: who waits for it may run it. sim.lock is held.
bool sim_worker_take(const struct sim_node *node);
// Waits for the next change to any node's `done`, or for a node to be released that could be waited for. sim.lock is held.
void sim_worker_wait_done(void);
void sim_worker_signal_done(void);
// The program ends: what has not run will not run. sim.lock is held.
bool sim_worker_has_stopped(void);
bool sim_worker_is_stopping(void);

// Around what another thread than the workers runs, with sim.lock held: the program's end waits for it as for theirs.
void sim_worker_begin(void);
void sim_worker_end(void);

#endif
