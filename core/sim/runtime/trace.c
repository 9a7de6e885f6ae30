// SPDX-License-Identifier: MIT
// Reports what is queued and what has run (cudasim_trace) and what is counted (cudasim_observe).
#include "sim/runtime/trace.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "sim/base/cudasim.h"
#include "sim/base/plugin.h"
#include "sim/base/sim.h"
#include "sim/runtime/clock.h"
#include "sim/runtime/node.h"

// ---- activities ----

static void (*_Atomic report_queued)(const struct cudasim_activity *);
static void (*_Atomic report_ran)(const struct cudasim_activity *);

static void node_queuing(struct sim_node *node, unsigned long long stream, const struct sim_node *first) {
  static atomic_ullong last;
  if (atomic_load_explicit(&report_queued, memory_order_relaxed) == NULL || node->work == NULL || !node->work->describe)
    return;
  struct cudasim_activity *activity = node->activity = sim_allocate(sizeof *activity);
  const unsigned long long id = atomic_fetch_add_explicit(&last, 1, memory_order_relaxed) + 1;
  const bool follows = first && first != node && first->activity;
  *activity = (struct cudasim_activity){.id = id,
                                        .launch = follows ? first->activity->id : id,
                                        .device = node->device,
                                        .stream = stream,
                                        .begin = follows ? first->activity->begin : sim_now()};
  node->work->describe(node->work, activity);
  if (node->task)
    sim_clock_report_when_known(node, activity);
}

static void node_queued(struct sim_node *node, long long begin) {
  void (*report)(const struct cudasim_activity *) = atomic_load(&report_queued);
  if (node->activity == NULL || report == NULL)
    return;
  struct cudasim_activity activity = *node->activity; // the node may be running
  activity.begin = begin ? begin : activity.begin;
  activity.end = sim_now();
  report(&activity);
}

static void node_begins(struct sim_node *node) {
  if (node->activity)
    node->began = sim_now();
}

// If a GPU is modeled, the clock reports it, with modeled times.
static void node_ends(struct sim_node *node) {
  if (node->began == 0 || node->task)
    return;
  struct cudasim_activity activity = *node->activity;
  activity.begin = node->began;
  activity.end = sim_now();
  sim_trace_report_ran(&activity);
}

static void node_destroyed(struct sim_node *node) {
  free(node->activity);
}

void sim_trace_report_ran(const struct cudasim_activity *activity) {
  void (*report)(const struct cudasim_activity *) = atomic_load(&report_ran);
  if (report)
    report(activity);
}

void cudasim_trace(void (*queued)(const struct cudasim_activity *), void (*ran)(const struct cudasim_activity *)) {
  static const struct sim_plugin plugin = {.node_queuing = node_queuing,
                                           .node_queued = node_queued,
                                           .node_begins = node_begins,
                                           .node_ends = node_ends,
                                           .node_destroyed = node_destroyed};
  atomic_store(&report_ran, ran);
  atomic_store(&report_queued, queued);
  sim_plugin_register(&plugin);
}

// ---- counts ----

static void (*_Atomic observe_kernel)(void);
static void (*_Atomic observe_copy)(int kind, size_t bytes);

static void kernel_counted(void) {
  void (*observe)(void) = atomic_load(&observe_kernel);
  if (observe)
    observe();
}

static void copy_counted(int kind, size_t bytes) {
  void (*observe)(int, size_t) = atomic_load(&observe_copy);
  if (observe)
    observe(kind, bytes);
}

void cudasim_observe(void (*kernel)(void), void (*copy)(int kind, size_t bytes)) {
  static const struct sim_plugin plugin = {.kernel_counted = kernel_counted, .copy_counted = copy_counted};
  atomic_store(&observe_kernel, kernel);
  atomic_store(&observe_copy, copy);
  sim_plugin_register(&plugin);
}
