// Asynchronous copies to shared memory. The simulator does them at once; here they have written when their thread has waited for them, or
// at its end: who reads before meets them as he would any write that nothing orders.
#include "inspect/shadow/async.h"
#include "inspect/simt/lane.h"
#include "inspect/runtime/program.h"
#include "inspect/shadow/race.h"

struct copy {
  uint64_t address;
  uint32_t bytes, key, group;
  uint32_t era; // in whose phase it was asked for: the phase's first
  uint16_t thread;
};

struct async {
  struct copy *copies;
  uint32_t count, room;
  uint32_t group[MAX_THREADS]; // each thread's, that is being filled
};

static void begin(struct look *l) {
  if (l->async == NULL)
    l->async = inspect_allocate(sizeof *l->async);
  if (!l->has_async) {
    l->async->count = 0;
    memset(l->async->group, 0, sizeof l->async->group);
  }
  l->has_async = true;
}

void async_write(const void *to, size_t bytes, const void *caller) {
  struct look *l = inspect_now;
  begin(l);
  struct async *a = l->async;
  if (a->count == a->room) {
    a->room = a->room ? 2 * a->room : 256;
    a->copies = inspect_resize(a->copies, a->room * sizeof *a->copies);
  }
  const uint32_t key = program_place(caller) << KIND_BITS | (EVENT_WRITE + (uint32_t)__builtin_ctzl(bytes));
  a->copies[a->count++] =
      (struct copy){(uintptr_t)to, (uint32_t)bytes, key, a->group[l->thread], l->phase_era, (uint16_t)l->thread};
}

void async_commit(void) {
  begin(inspect_now);
  inspect_now->async->group[inspect_now->thread]++;
}

// Groups of the running thread below `end` have arrived.
static void arrive(struct look *l, uint32_t end) {
  struct async *a = l->async;
  uint32_t kept = 0;
  for (uint32_t i = 0; i < a->count; i++) {
    const struct copy *c = &a->copies[i];
    if (c->thread != l->thread || c->group >= end) {
      a->copies[kept++] = *c;
      continue;
    }
    race_in_flight(l, c->address, c->bytes, c->key, c->era);
    lane_access(l, c->address, c->bytes, c->key);
  }
  a->count = kept;
}

void async_wait(size_t prior) {
  struct look *l = inspect_now;
  if (!l->has_async)
    return;
  const uint32_t committed = l->async->group[l->thread];
  if (prior < committed)
    arrive(l, committed - (uint32_t)prior);
}

void async_end_thread(void) {
  struct look *l = inspect_now;
  if (l->has_async && l->async->count)
    arrive(l, UINT32_MAX);
}
