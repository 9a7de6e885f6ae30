#include "sim/runtime/stamp.h"

#include <stdlib.h>
#include <string.h>

#include "sim/engine/inspector.h"
#include "sim/runtime/sim.h"

// Under sim.lock. Of each chain: its last node's number, and up to which one the host has waited for them.
static unsigned int *last, *host;
static unsigned int chains;
static unsigned long unfinished, submitted, waits;
// Asked for by who may hold sim.lock, or may not.
static atomic_ulong epoch;
static atomic_bool behind;

static void lengthen(struct sim_stamp *stamp, unsigned int count) {
  if (count <= stamp->chains)
    return;
  stamp->seen = sim_resize(stamp->seen, count * sizeof *stamp->seen);
  memset(stamp->seen + stamp->chains, 0, (count - stamp->chains) * sizeof *stamp->seen);
  stamp->chains = count;
}

static void merge(struct sim_stamp *stamp, const unsigned int *seen, unsigned int count) {
  lengthen(stamp, count);
  for (unsigned int i = 0; i < count; i++)
    if (seen[i] > stamp->seen[i])
      stamp->seen[i] = seen[i];
}

static struct sim_stamp *stamp_of(struct sim_node *node) {
  if (node->stamp == NULL) {
    node->stamp = sim_allocate(sizeof *node->stamp);
    *node->stamp = (struct sim_stamp){0};
  }
  return node->stamp;
}

void sim_stamp_after(struct sim_node *node, const struct sim_node *on) {
  if (sim_inspector == NULL)
    return;
  struct sim_stamp *stamp = stamp_of(node);
  if (on->stamp)
    merge(stamp, on->stamp->seen, on->stamp->chains);
  stamp->unknown |= on->held || (on->stamp && on->stamp->unknown);
}

// A chain whose last node is ordered before this one; else a new one.
static unsigned int choose_chain(const struct sim_stamp *stamp) {
  for (unsigned int i = 0; i < chains; i++)
    if ((i < stamp->chains ? stamp->seen[i] : 0) >= last[i])
      return i;
  last = sim_resize(last, (chains + 1) * sizeof *last);
  host = sim_resize(host, (chains + 1) * sizeof *host);
  last[chains] = host[chains] = 0;
  return chains++;
}

void sim_stamp_submitted(struct sim_node *node) {
  if (sim_inspector == NULL)
    return;
  struct sim_stamp *stamp = stamp_of(node);
  for (size_t i = 0; i < node->waits_for.count; i++)
    sim_stamp_after(node, node->waits_for.items[i]);
  merge(stamp, host, chains);
  stamp->chain = choose_chain(stamp);
  lengthen(stamp, stamp->chain + 1);
  stamp->number = stamp->seen[stamp->chain] = ++last[stamp->chain];
  stamp->submission = ++submitted;
  unfinished++;
  atomic_store(&behind, true);
}

void sim_stamp_completed(const struct sim_node *node) {
  unfinished -= node->stamp != NULL;
}

void sim_stamp_free(struct sim_node *node) {
  if (node->stamp)
    free(node->stamp->seen);
  free(node->stamp);
}

void sim_stamp_waited(const struct sim_node *node) {
  if (node == NULL || node->stamp == NULL)
    return;
  sim_lock();
  for (unsigned int i = 0; i < node->stamp->chains; i++)
    if (node->stamp->seen[i] > host[i])
      host[i] = node->stamp->seen[i];
  waits++;
  const bool knows_all = chains == 0 || memcmp(host, last, chains * sizeof *host) == 0;
  atomic_store(&behind, !knows_all);
  if (unfinished == 0 && knows_all)
    atomic_fetch_add(&epoch, 1);
  sim_unlock();
}

bool sim_stamp_host_is_behind(void) {
  return atomic_load(&behind);
}

unsigned long sim_stamp_of_host(struct sim_stamp *stamp) {
  sim_lock();
  merge(stamp, host, chains);
  stamp->submission = submitted;
  const unsigned long version = waits;
  sim_unlock();
  return version;
}

bool sim_stamp_host_knows(unsigned int chain, unsigned int number) {
  sim_lock();
  const bool knows = chain < chains && host[chain] >= number;
  sim_unlock();
  return knows;
}

unsigned long sim_stamp_epoch(void) {
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

const struct sim_stamp *sim_running_stamp(void) {
  const struct sim_node *node = sim_node_running();
  return node ? node->stamp : NULL;
}
