// Telling somebody what is queued and what has run.
#include <time.h>

#include "sim/runtime/cudasim.h"
#include "sim/runtime/node.h"
#include "sim/runtime/trace.h"

static void (*_Atomic tell_queued)(const struct cudasim_activity *);
static void (*_Atomic tell_ran)(const struct cudasim_activity *);

void cudasim_trace(void (*queued)(const struct cudasim_activity *), void (*ran)(const struct cudasim_activity *)) {
  atomic_store(&tell_ran, ran);
  atomic_store(&tell_queued, queued);
}

long long sim_now(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1000000000ll + now.tv_nsec;
}

bool sim_is_traced(void) {
  return atomic_load_explicit(&tell_queued, memory_order_relaxed) != NULL;
}

void sim_trace_name(struct sim_node *node, unsigned long long stream) {
  static atomic_ullong last;
  node->traced = atomic_fetch_add_explicit(&last, 1, memory_order_relaxed) + 1;
  node->launch = node->traced;
  node->stream = stream;
}

struct cudasim_activity sim_trace_describe(const struct sim_node *node) {
  struct cudasim_activity activity = {
      .id = node->traced, .launch = node->launch, .device = node->device, .stream = node->stream};
  node->work->describe(node->work, &activity);
  return activity;
}

void sim_trace_queued(struct cudasim_activity *activity, long long begin) {
  void (*tell)(const struct cudasim_activity *) = atomic_load(&tell_queued);
  activity->begin = begin;
  activity->end = sim_now();
  if (tell)
    tell(activity);
}

void sim_trace_ran(struct cudasim_activity *activity, long long begin) {
  activity->begin = begin;
  activity->end = sim_now();
  sim_trace_tell_ran(activity);
}

void sim_trace_tell_ran(const struct cudasim_activity *activity) {
  void (*tell)(const struct cudasim_activity *) = atomic_load(&tell_ran);
  if (tell)
    tell(activity);
}
