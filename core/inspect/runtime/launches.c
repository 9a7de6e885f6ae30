// SPDX-License-Identifier: MIT
// Launches, and which of their blocks are instrumented: all, a number from the middle of the grid (--blocks N), or the first ones in
// the order in which blocks run (a sampled run).
//
// A run without --blocks stops early after FERRY_INSPECT_STOP events (accesses and basic blocks): it writes its record and exits with
// INSPECT_STOPPED. ./ferry inspect then runs a program that also has an uninstrumented version of each kernel. Such a run is sampled: of its
// FERRY_INSPECT_EVENTS events each kernel gets a share. Once they are used up, only uninstrumented blocks follow in this launch, so the
// instrumented ones see all that happened before them. Limits are numbers of events, so that the result does not depend on the machine.
#include "inspect/runtime/launches.h"

#include <limits.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "inspect/runtime/kernels.h"
#include "inspect/shadow/launch_history.h"
#include "inspect/shadow/memory.h"
#include "inspect/shadow/race.h"
#include "inspect/shadow/sync.h"
#include "inspect/simt/counts.h"
#include "inspect/step/exit_status.h"
#include "inspect/step/step.h"

#include "cudasim_launch.h"

enum { SHARES = 16 };                    // of a sampled run's events: a kernel gets one
static unsigned long blocks;             // FERRY_INSPECT_BLOCKS: how many of each launch; 0: all
static uint64_t most_events, stop_after; // 0: no limit
static uint64_t events;                  // of instrumented blocks that have ended
static __thread uint64_t begun_at;       // inspect_calls when the block began
bool inspect_scored, inspect_counts;

static uint64_t number(const char *name) {
  const char *text = getenv(name);
  return text ? strtoull(text, NULL, 10) : 0;
}

void launches_read_limits(void) {
  blocks = number("FERRY_INSPECT_BLOCKS");
  most_events = number("FERRY_INSPECT_EVENTS");
  stop_after = number("FERRY_INSPECT_STOP");
}

// How many events a launch of the kernel may have in a sampled run. The first launch of each kernel has at least one block.
static uint64_t events_for(const struct kernel *k) {
  const uint64_t share = most_events / SHARES;
  if (events < most_events && k->events < share)
    return share - k->events;
  return k->launches == 0 ? 1 : 0;
}

static struct launch *new_launch(const struct cudasim_launch_request *request, struct kernel *k, unsigned int count) {
  struct launch *launch = inspect_allocate(sizeof *launch);
  *launch = (struct launch){.kernel = k, .first_instance = race_new_instances(count), .end = count};
  launch->end_instance = launch->first_instance + count;
  launch->threads = request->block.x * request->block.y * request->block.z;
  launch->dynamic_bytes = request->shared_bytes;
  launch->most_events = UINT64_MAX;
  return launch;
}

static void count_launch(struct launch *launch, const struct cudasim_launch_request *request, unsigned int count) {
  struct kernel *k = launch->kernel;
  k->shapes_differ |= memcmp(k->grid, &request->grid, sizeof k->grid) != 0 ||
                      memcmp(k->block, &request->block, sizeof k->block) != 0 ||
                      k->dynamic_bytes != request->shared_bytes;
  kernel_count_launch(launch, request);
  k->blocks += count;
}

static struct launch *begin(const struct cudasim_launch_request *request, unsigned int count) {
  const bool instruments =
      request->inspected && kernel_is_wanted(request) && (!step_mode || step_wants_launch(request));
  // the blocks of a cooperative launch wait for each other
  const bool chooses = instruments && blocks && blocks < count && !request->cooperative;
  if (!instruments || chooses || step_mode)
    memory_assume_written();
  if (!instruments)
    return NULL;
  struct kernel *k = kernel_of(request);
  struct launch *launch = new_launch(request, k, count);
  if (most_events && !request->cooperative)
    launch->most_events = events_for(k);
  if (chooses) {
    launch->first = (unsigned)(count - blocks) / 2;
    launch->end = launch->first + (unsigned)blocks;
  }
  if (step_mode) {
    launch->first = step_wanted_block();
    launch->end = launch->first + 1;
  }
  count_launch(launch, request, count);
  if (launch->most_events == 0) {
    memory_assume_written();
    free(launch);
    return NULL;
  }
  if (launch->most_events == UINT64_MAX)
    k->instrumented += launch->end - launch->first;
  history_begin_launch(launch);
  counts_begin_launch(launch);
  launch->calls = inspect_calls; // until the launch ends: the events before it
  launch->closure = (uintptr_t)request->closure;
  launch->closure_bytes = request->closure_bytes;
  return launch;
}

void *launch_begins(const struct cudasim_launch_request *request, unsigned int count) {
  inspect_hold();
  struct launch *launch = begin(request, count);
  inspect_release();
  return launch;
}

void launch_ends(void *data) {
  struct launch *launch = data;
  inspect_hold();
  launch->calls = inspect_calls - launch->calls;
  inspect_events += launch->calls;
  memory_resolve_late(launch);
  history_end_launch();
  sync_end_launch(launch);
  counts_end_launch(launch);
  free(launch->late);
  free(launch);
  inspect_release();
}

bool launch_wants(const struct launch *launch, unsigned int index) {
  return index >= launch->first && index < launch->end && !atomic_load_explicit(&launch->over, memory_order_relaxed);
}

unsigned int launch_blocks_left(void *data, unsigned int index, unsigned int most) {
  const struct launch *launch = data;
  const bool over = atomic_load_explicit(&launch->over, memory_order_relaxed);
  const unsigned int until = over                    ? UINT_MAX
                             : index < launch->first ? launch->first
                             : index < launch->end   ? index
                                                     : UINT_MAX;
  return until - index < most ? until - index : most;
}

static _Noreturn void stop(void) {
  inspect_died = true; // what it has not freed yet is no leak
  inspect_write_record();
  _exit(INSPECT_STOPPED);
}

bool launch_begins_block(struct launch *launch) {
  if (stop_after && events > stop_after)
    stop();
  if (launch->over || launch->events >= launch->most_events) {
    if (!launch->over)
      memory_assume_written();
    launch->over = true;
    return false;
  }
  launch->kernel->instrumented += launch->most_events != UINT64_MAX;
  launch->instrumented_calls -= inspect_calls;
  begun_at = inspect_calls;
  return true;
}

void launch_ends_block(struct launch *launch) {
  const uint64_t more = inspect_calls - begun_at;
  launch->instrumented_calls += inspect_calls;
  launch->events += more;
  launch->kernel->events += more;
  events += more;
}
