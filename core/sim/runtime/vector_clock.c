// SPDX-License-Identifier: MIT
// Vector clocks of operations, for an inspector that asks whether one of two operations happens before the other: a
// plugin (base/plugin.h) that an inspector starts. (C. Fidge, "Timestamps in message-passing systems that preserve the
// partial ordering", 1988; F. Mattern, "Virtual time and global states of distributed systems", 1989.)
//
// A component stands for a chain of nodes of which each is ordered before the next: a stream is one, and so is a
// branch of a graph. The component's time is the number of its nodes so far. A node's clock has for each component the
// time of the last node that is ordered before it; `host` has the same for what the host has waited for.
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "sim/base/plugin.h"
#include "sim/base/sim.h"
#include "sim/runtime/node.h"

// Under sim.lock: for each component, the time of its last node, and up to which time the host has waited.
static unsigned int *last, *host;
static unsigned int components;
static unsigned long unfinished, submitted, waits;
// Read with or without sim.lock.
static atomic_ulong epoch;
static atomic_bool host_is_behind;

static void lengthen(struct sim_vector_clock *clock, unsigned int count) {
  if (count <= clock->components)
    return;
  clock->times = sim_resize(clock->times, count * sizeof *clock->times);
  memset(clock->times + clock->components, 0, (count - clock->components) * sizeof *clock->times);
  clock->components = count;
}

static void raise_to(struct sim_vector_clock *clock, const unsigned int *times, unsigned int count) {
  lengthen(clock, count);
  for (unsigned int i = 0; i < count; i++)
    if (times[i] > clock->times[i])
      clock->times[i] = times[i];
}

static struct sim_vector_clock *clock_of(struct sim_node *node) {
  if (node->vector_clock == NULL) {
    node->vector_clock = sim_allocate(sizeof *node->vector_clock);
    *node->vector_clock = (struct sim_vector_clock){0};
  }
  return node->vector_clock;
}

static void join(struct sim_node *node, const struct sim_node *on) {
  struct sim_vector_clock *clock = clock_of(node);
  if (on->vector_clock)
    raise_to(clock, on->vector_clock->times, on->vector_clock->components);
  clock->unknown |= on->held || (on->vector_clock && on->vector_clock->unknown);
}

// A component whose last node is ordered before this one, or else a new component.
static unsigned int choose_component(const struct sim_vector_clock *clock) {
  for (unsigned int i = 0; i < components; i++)
    if ((i < clock->components ? clock->times[i] : 0) >= last[i])
      return i;
  last = sim_resize(last, (components + 1) * sizeof *last);
  host = sim_resize(host, (components + 1) * sizeof *host);
  last[components] = host[components] = 0;
  return components++;
}

// Dependencies that are not done are joined when the node is submitted.
static void node_depends(struct sim_node *node, struct sim_node *on, bool done) {
  if (done)
    join(node, on);
}

static void node_submitted(struct sim_node *node) {
  struct sim_vector_clock *clock = clock_of(node);
  for (size_t i = 0; i < node->waits_for.count; i++)
    join(node, node->waits_for.items[i]);
  raise_to(clock, host, components);
  clock->component = choose_component(clock);
  lengthen(clock, clock->component + 1);
  clock->time = clock->times[clock->component] = ++last[clock->component];
  clock->submission = ++submitted;
  unfinished++;
  atomic_store(&host_is_behind, true);
}

static void node_completed(struct sim_node *node) {
  unfinished -= node->vector_clock != NULL;
}

static void node_destroyed(struct sim_node *node) {
  if (node->vector_clock)
    free(node->vector_clock->times);
  free(node->vector_clock);
}

static void host_joins(const struct sim_node *node) {
  if (node == NULL || node->vector_clock == NULL)
    return;
  sim_lock();
  for (unsigned int i = 0; i < node->vector_clock->components; i++)
    if (node->vector_clock->times[i] > host[i])
      host[i] = node->vector_clock->times[i];
  waits++;
  const bool knows_all = components == 0 || memcmp(host, last, components * sizeof *host) == 0;
  atomic_store(&host_is_behind, !knows_all);
  if (unfinished == 0 && knows_all)
    atomic_fetch_add(&epoch, 1);
  sim_unlock();
}

static void node_waited(struct sim_node *node) {
  host_joins(node);
}

static const struct sim_plugin plugin = {.node_depends = node_depends,
                                         .node_submitted = node_submitted,
                                         .node_completed = node_completed,
                                         .node_waited = node_waited,
                                         .host_function_begins = host_joins, // it may tell any other thread
                                         .node_destroyed = node_destroyed};

void sim_vector_clocks_start(void) {
  sim_plugin_register(&plugin);
}

// ---- what the inspector asks ----

bool sim_vector_clock_host_is_behind(void) {
  return atomic_load(&host_is_behind);
}

unsigned long sim_vector_clock_of_host(struct sim_vector_clock *clock) {
  sim_lock();
  raise_to(clock, host, components);
  clock->submission = submitted;
  const unsigned long version = waits;
  sim_unlock();
  return version;
}

bool sim_vector_clock_host_knows(unsigned int component, unsigned int time) {
  sim_lock();
  const bool knows = component < components && host[component] >= time;
  sim_unlock();
  return knows;
}

unsigned long sim_vector_clock_epoch(void) {
  return atomic_load(&epoch);
}

const void *sim_running_caller(void) {
  const struct sim_node *node = sim_node_running();
  return node && node->work ? node->work->caller : NULL;
}

const char *sim_running_library(void) {
  const struct sim_node *node = sim_node_running();
  struct cudasim_activity activity = {.kind = CUDASIM_COPY};
  if (node && node->work && node->work->describe)
    node->work->describe(node->work, &activity);
  return activity.kind == CUDASIM_KERNEL ? activity.name : NULL;
}

const struct sim_vector_clock *sim_running_vector_clock(void) {
  const struct sim_node *node = sim_node_running();
  return node ? node->vector_clock : NULL;
}
