// SPDX-License-Identifier: MIT
// Asynchronous copies to shared memory. The simulator does them at once. For race detection they write when their
// thread waits for them, or ends: an earlier read races with that write.
#include "inspect/runtime/async.h"
#include "inspect/runtime/lane.h"
#include "inspect/program.h"
#include "inspect/shadow/race.h"

struct copy {
  uint64_t address;
  uint32_t bytes, event, group;
  uint32_t interval; // the first of the phase in which the copy began
  uint16_t thread;
};

struct async {
  struct copy *copies;
  uint32_t count, room;
  uint32_t group[MAX_THREADS]; // per thread, the group that is being filled
};

static void begin(struct block_state *bs) {
  if (bs->async == NULL)
    bs->async = inspect_allocate(sizeof *bs->async);
  if (!bs->has_async) {
    bs->async->count = 0;
    memset(bs->async->group, 0, sizeof bs->async->group);
  }
  bs->has_async = true;
}

void async_write(const void *to, size_t bytes, const void *caller) {
  struct block_state *bs = inspect_current;
  begin(bs);
  struct async *a = bs->async;
  if (a->count == a->room) {
    a->room = a->room ? 2 * a->room : 256;
    a->copies = inspect_resize(a->copies, a->room * sizeof *a->copies);
  }
  const uint32_t event = program_pc(caller) << KIND_BITS | (EVENT_WRITE + (uint32_t)__builtin_ctzl(bytes));
  a->copies[a->count++] = (struct copy){(uintptr_t)to,        (uint32_t)bytes,    event,
                                        a->group[bs->thread], bs->phase_interval, (uint16_t)bs->thread};
}

void async_commit(void) {
  begin(inspect_current);
  inspect_current->async->group[inspect_current->thread]++;
}

// Completes the running thread's groups below `end`.
static void arrive(struct block_state *bs, uint32_t end) {
  struct async *a = bs->async;
  uint32_t kept = 0;
  for (uint32_t i = 0; i < a->count; i++) {
    const struct copy *c = &a->copies[i];
    if (c->thread != bs->thread || c->group >= end) {
      a->copies[kept++] = *c;
      continue;
    }
    race_in_flight(bs, c->address, c->bytes, c->event, c->interval);
    lane_access(bs, c->address, c->bytes, c->event);
  }
  a->count = kept;
}

void async_wait(size_t prior) {
  struct block_state *bs = inspect_current;
  if (!bs->has_async)
    return;
  const uint32_t committed = bs->async->group[bs->thread];
  if (prior < committed)
    arrive(bs, committed - (uint32_t)prior);
}

void async_end_thread(void) {
  struct block_state *bs = inspect_current;
  if (bs->has_async && bs->async->count)
    arrive(bs, UINT32_MAX);
}
