// SPDX-License-Identifier: MIT
// Warp functions, which are collectives: each lane of a mask brings a value and waits until every lane of the mask
// that has not returned has called the function. Then all go on.
#include "sim/engine/block_internal.h"

#include <stdio.h>

#include "sim/base/plugin.h"
#include "sim/base/sim.h"
#include "sim/engine/store_buffer.h"

static unsigned int lanes_beyond(unsigned int threads, unsigned int first) {
  unsigned int lanes = threads - first;
  return lanes >= SIM_WARP_THREADS ? 0u : ~0u << lanes;
}

static void use_warps(struct sim_executor *e) {
  e->warps_used = true;
  for (unsigned int first = 0; first < e->threads; first += SIM_WARP_THREADS) {
    struct sim_warp *warp = &e->warp[first / SIM_WARP_THREADS];
    warp->groups = 0;
    warp->exited = lanes_beyond(e->threads, first);
    for (unsigned int lane = 0; lane < SIM_WARP_THREADS && first + lane < e->threads; lane++)
      if (e->state[first + lane] == SIM_DONE)
        warp->exited |= 1u << lane;
  }
}

// All lanes of a group have called the function: wakes those that wait.
static void complete_collective(struct sim_executor *e, int warp, struct sim_warp_group *group) {
  group->lanes[group->buffer] = group->arrived;
  if (e->inspected)
    sim_inspector->warp_met(warp, group->arrived);
  uint8_t *thread_state = &e->state[warp * SIM_WARP_THREADS];
  for (unsigned int lanes = group->arrived; lanes; lanes &= lanes - 1) {
    int lane = __builtin_ctz(lanes);
    if (thread_state[lane] == SIM_AT_WARP) {
      thread_state[lane] = SIM_READY;
      e->at_warp--;
      group->unread++;
    }
  }
  group->arrived = 0;
  group->buffer ^= 1;
  if (e->warp_place[warp] < e->cursor)
    e->cursor = e->warp_place[warp];
}

// A thread has returned: groups that waited only for it can go on.
void sim_warp_thread_done(struct sim_executor *e, int thread) {
  if (!e->warps_used)
    return;
  int index = thread / SIM_WARP_THREADS;
  struct sim_warp *warp = &e->warp[index];
  warp->exited |= 1u << (thread % SIM_WARP_THREADS);
  for (int i = 0; i < warp->groups; i++) {
    struct sim_warp_group *group = &warp->group[i];
    if (group->arrived && group->arrived == (group->mask & ~warp->exited))
      complete_collective(e, index, group);
  }
}

static struct sim_warp_group *find_group(struct sim_executor *e, struct sim_warp *warp, unsigned int mask) {
  for (int i = 0; i < warp->groups; i++)
    if (warp->group[i].mask == mask)
      return &warp->group[i];
  struct sim_warp_group *group = NULL;
  if (warp->groups < SIM_WARP_GROUPS)
    group = &warp->group[warp->groups++];
  for (int i = 0; group == NULL && i < SIM_WARP_GROUPS; i++)
    if (warp->group[i].arrived == 0 && warp->group[i].unread == 0)
      group = &warp->group[i];
  if (group == NULL) {
    sim_report(e, "a warp has more than 32 collectives with different masks at once");
    sim_give_up(e, cudaErrorIllegalAddress);
  }
  group->mask = mask;
  group->arrived = 0;
  group->buffer = group->unread = 0;
  return group;
}

const uint64_t *cudasim_warp(unsigned int mask, uint64_t value, unsigned int *lanes, const char *file, int line) {
  struct sim_executor *e = sim_executor;
  sim_track(e);
  if (__builtin_expect(e->observed, 0) && e->launch->judged)
    sim_store_buffer_publish(false);
  if (!e->warps_used)
    use_warps(e);
  int thread = e->current, lane = thread % SIM_WARP_THREADS;
  struct sim_warp *warp = &e->warp[thread / SIM_WARP_THREADS];
  e->waiter[thread].file = file;
  e->waiter[thread].line = line;
  if (!(mask >> lane & 1u)) {
    sim_report(e, "a lane called a warp function without being in its mask");
    fprintf(stderr, "    thread (%u,%u,%u), mask %08x, at %s:%d\n", cudasim_thread->x, cudasim_thread->y,
            cudasim_thread->z, mask, file, line);
    sim_give_up(e, cudaErrorIllegalAddress);
  }
  struct sim_warp_group *group = find_group(e, warp, mask);
  int buffer = group->buffer;
  group->values[buffer][lane] = value;
  group->arrived |= 1u << lane;
  if (group->arrived == (mask & ~warp->exited)) {
    complete_collective(e, thread / SIM_WARP_THREADS, group);
  } else {
    e->state[thread] = SIM_AT_WARP;
    e->at_warp++;
    sim_suspend(e);
    group->unread--;
  }
  *lanes = group->lanes[buffer];
  return group->values[buffer];
}

// Not in the header: an inspected kernel's instructions are counted, and this loop is none of them.
unsigned int cudasim_ballot(unsigned int mask, int predicate, const char *file, int line) {
  unsigned int lanes, votes = 0;
  const uint64_t *values = cudasim_warp(mask, predicate != 0, &lanes, file, line);
  for (int lane = 0; lane < SIM_WARP_THREADS; lane++)
    if ((lanes >> lane & 1u) && values[lane])
      votes |= 1u << lane;
  return votes;
}

// On a GPU, those lanes that run together. Here lanes run one after another, so that the first to come waits until every other
// thread of the block has come, too, has returned, or waits for something else: then those of its warp at the same place are it.
unsigned int cudasim_active_lanes(const char *file, int line, const void *function) {
  struct sim_executor *e = sim_executor;
  sim_track(e);
  if (__builtin_expect(e->observed, 0) && e->launch->judged)
    sim_store_buffer_publish(false);
  const int thread = e->current;
  e->waiter[thread].file = file;
  e->waiter[thread].line = line;
  e->site[thread] = (struct sim_site){__builtin_return_address(0), function};
  if (!e->converging || e->running == SIM_NATIVE)
    e->native_thread = e->running == SIM_NATIVE ? thread : -1;
  e->state[thread] = SIM_CONVERGING;
  e->converging = true;
  sim_suspend(e);
  return e->converged[thread];
}

static bool same_line(const struct sim_executor *e, unsigned int t, unsigned int u) {
  return e->state[u] == SIM_CONVERGING && e->waiter[u].line == e->waiter[t].line &&
         e->waiter[u].file == e->waiter[t].file;
}

static bool same_site(const struct sim_site *a, const struct sim_site *b) {
  return a->call == b->call && a->function == b->function;
}

// The thread that has no fiber is called from elsewhere than the others, and may run another copy of the kernel. It
// belongs to those of its line that are at one site; if they are at several, its site is unknown and it is alone, as
// on a GPU it may be.
static void place_native_thread(struct sim_executor *e) {
  const unsigned int own = (unsigned int)e->native_thread, first = own / SIM_WARP_THREADS * SIM_WARP_THREADS;
  const struct sim_site *site[2] = {NULL, NULL}; // of others; of others with the same call
  bool several[2] = {false, false};
  for (unsigned int u = first; u < e->threads && u < first + SIM_WARP_THREADS; u++)
    for (int k = 0; u != own && same_line(e, own, u) && k <= (e->site[u].call == e->site[own].call); k++) {
      several[k] |= site[k] && !same_site(site[k], &e->site[u]);
      site[k] = &e->site[u];
    }
  const int k = site[1] != NULL;
  if (site[k] && !several[k])
    e->site[own] = *site[k];
}

void sim_converge(struct sim_executor *e) {
  e->converging = false;
  if (e->native_thread >= 0)
    place_native_thread(e);
  for (unsigned int t = 0; t < e->threads; t++) {
    if (e->state[t] != SIM_CONVERGING)
      continue;
    const unsigned int first = t / SIM_WARP_THREADS * SIM_WARP_THREADS;
    unsigned int together = 0;
    for (unsigned int u = t; u < e->threads && u < first + SIM_WARP_THREADS; u++)
      if (same_line(e, t, u) && same_site(&e->site[t], &e->site[u]))
        together |= 1u << (u - first);
    for (unsigned int rest = together; rest; rest &= rest - 1) {
      const unsigned int u = first + (unsigned int)__builtin_ctz(rest);
      e->converged[u] = together;
      e->state[u] = SIM_READY;
    }
  }
  e->cursor = 0;
}

static bool is_inspected(void) {
  return sim_executor && sim_executor->inspected;
}

// Out of line: the thread sanitizer, which kernels may be built with, does not know fences.
void cudasim_fence(void) {
  atomic_thread_fence(memory_order_seq_cst);
  sim_store_buffer_publish(true);
  if (is_inspected())
    sim_inspector->fence(false);
}

void cudasim_fence_block(void) {
  atomic_thread_fence(memory_order_seq_cst);
  sim_store_buffer_publish(false);
  if (is_inspected())
    sim_inspector->fence(true);
}

void cudasim_release(const void *object) {
  if (is_inspected())
    sim_inspector->synchronizes(object, true);
}

void cudasim_acquire(const void *object) {
  if (is_inspected())
    sim_inspector->synchronizes(object, false);
}

void cudasim_async_write(const void *to, size_t bytes) {
  if (is_inspected())
    sim_inspector->async_write(to, bytes, __builtin_return_address(0));
}

void cudasim_async_commit(void) {
  if (is_inspected())
    sim_inspector->async_commit();
}

void cudasim_async_wait(size_t prior) {
  if (is_inspected())
    sim_inspector->async_wait(prior);
}
