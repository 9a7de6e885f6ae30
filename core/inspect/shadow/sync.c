// SPDX-License-Identifier: MIT
// Happens-before through memory: a thread writes data, executes __threadfence(), and then changes a flag atomically
// or by a volatile write (a release); another thread later changes the flag atomically or reads it as a volatile (an
// acquire). Each such address is a synchronization variable with a list of releases; each block has a log of its
// acquires. A question is answered by a search from the block's acquires through the releases they reached.
#include <stdlib.h>
#include <string.h>

#include "inspect/shadow/vector_clock.h"
#include "inspect/shadow/sync.h"
#include "inspect/shadow/race.h"

// A release orders everything that its block instance did before phase `before`, and what its thread did up to phase
// `own`, in that phase before warp clock `own_clock`.
struct release {
  uint64_t instance;
  uint32_t before, own, own_clock;
  // in phase `own`: what the thread knew of its warp's other lanes, as a synchronization of all lanes,
  uint32_t all_synced;
  const struct clock_vector *row; // and of each lane
  uint16_t thread;
  bool of_block;                   // by __threadfence_block(): for threads of the block only
  struct acquire_log *acquire_log; // of the releasing block: its first `known` acquires
  uint32_t known;
};

struct sync {
  uint64_t address;
  struct release *releases;
  uint32_t count, room;
  uint32_t visited; // releases already visited by the query numbered `query`
  uint64_t query;
  struct sync *next;
};

// An atomic or a volatile read by this thread. It acquires the first `count` releases of the variable.
struct acquire {
  struct sync *sync;
  uint32_t count, phase, warp_clock;
  uint16_t thread;
};

struct acquire_log {
  uint64_t instance;
  struct acquire *acquires;
  uint32_t count, room;
  uint32_t visited; // as in struct sync
  uint64_t query;
  struct acquire_log *next;
};

static uint64_t query_number; // the number of the current call of sync_happens_before

enum { TABLE = 4096 };

void sync_begin_block(struct block_state *bs) {
  bs->acquire_log = NULL;
  if (bs->any_fence)
    memset(bs->fenced, 0, sizeof bs->fenced);
  if (bs->any_block_fence)
    memset(bs->fenced_block, 0, sizeof bs->fenced_block);
  bs->any_fence = bs->earlier_fence = 0;
  bs->any_block_fence = false;
}

void sync_fence(struct block_state *bs, bool of_block) {
  vector_clock_fence(bs); // accesses after the fence are not ordered by it
  const struct fence now = {bs->phase, bs->clock.warp_clock[bs->thread]};
  if (of_block) {
    bs->any_block_fence = true;
    bs->fenced_block[bs->thread] = now;
    return;
  }
  if (bs->any_fence != bs->phase)
    bs->earlier_fence = bs->any_fence;
  bs->any_fence = bs->phase;
  bs->fenced[bs->thread] = now;
}

// The last phase before this one in which a thread of the block executed __threadfence().
static uint32_t fenced_before(const struct block_state *bs) {
  return bs->any_fence < bs->phase ? bs->any_fence : bs->earlier_fence;
}

static struct sync *find(struct launch *launch, uint64_t address, bool make) {
  if (launch->syncs == NULL && !make)
    return NULL;
  if (launch->syncs == NULL)
    launch->syncs = inspect_allocate(TABLE * sizeof *launch->syncs);
  struct sync **list = &launch->syncs[address / 4 * 2654435761u % TABLE];
  for (struct sync *sync = *list; sync; sync = sync->next)
    if (sync->address == address)
      return sync;
  if (!make)
    return NULL;
  struct sync *sync = inspect_allocate(sizeof *sync);
  sync->address = address;
  sync->next = *list;
  return *list = sync;
}

static struct acquire_log *own_acquire_log(struct block_state *bs) {
  if (bs->acquire_log == NULL) {
    bs->acquire_log = inspect_allocate(sizeof *bs->acquire_log);
    bs->acquire_log->instance = bs->instance;
    bs->acquire_log->next = bs->launch->acquire_logs;
    bs->launch->acquire_logs = bs->acquire_log;
  }
  return bs->acquire_log;
}

static void acquire(struct block_state *bs, struct sync *sync) {
  struct acquire_log *h = own_acquire_log(bs);
  struct acquire *last = h->count ? &h->acquires[h->count - 1] : NULL;
  if (last && last->sync == sync && last->thread == bs->thread && last->phase == bs->phase &&
      !vector_clock_orders(bs, last->thread, last->warp_clock)) { // it has not synchronized with a lane since
    last->count = sync->count;
    return;
  }
  if (h->count == h->room) {
    h->room = h->room ? 2 * h->room : 8;
    h->acquires = inspect_resize(h->acquires, h->room * sizeof *h->acquires);
  }
  h->acquires[h->count++] =
      (struct acquire){sync, sync->count, bs->phase, bs->clock.warp_clock[bs->thread], (uint16_t)bs->thread};
}

// By the running thread, of nothing yet. Releases are compared as bytes, so padding is zeroed.
static struct release new_release(const struct block_state *bs) {
  struct release r;
  memset(&r, 0, sizeof r);
  r.instance = bs->instance;
  r.thread = (uint16_t)bs->thread;
  r.acquire_log = bs->acquire_log;
  r.known = bs->acquire_log ? bs->acquire_log->count : 0;
  return r;
}

static void add_release(struct sync *sync, const struct release *r) {
  if (sync->count > 0 && memcmp(&sync->releases[sync->count - 1], r, sizeof *r) == 0)
    return;
  if (sync->count == sync->room) {
    sync->room = sync->room ? 2 * sync->room : 8;
    sync->releases = inspect_resize(sync->releases, sync->room * sizeof *sync->releases);
  }
  sync->releases[sync->count++] = *r;
}

// A fence orders the thread's own writes and those that barriers ordered before it. So does another thread's fence
// before a barrier.
static void release(struct block_state *bs, struct sync *sync, bool of_block) {
  const struct fence *fence = of_block ? &bs->fenced_block[bs->thread] : &bs->fenced[bs->thread];
  const uint32_t own = fence->phase, others = !of_block && fenced_before(bs) ? fenced_before(bs) + 1 : 0;
  struct release r = new_release(bs);
  r.before = own > others ? own : others;
  r.own = own;
  r.own_clock = fence->warp_clock;
  if (own == bs->phase) {
    r.all_synced = bs->clock.all_synced[bs->thread / WARP];
    r.row = clock_vector(bs);
  }
  r.of_block = of_block;
  add_release(sync, &r);
}

static void synchronize(struct block_state *bs, uint64_t address, bool acquires, bool releases) {
  const bool to_all = releases && (bs->fenced[bs->thread].phase || fenced_before(bs));
  const bool to_block = releases && bs->fenced_block[bs->thread].phase;
  struct sync *sync = find(bs->launch, address, to_all || to_block);
  if (sync && sync->count && acquires)
    acquire(bs, sync);
  if (to_block)
    release(bs, sync, true);
  if (to_all) {
    race_barrier_was_needed(bs); // other threads' accesses before it are released, too
    release(bs, sync, false);
  }
}

void sync_atomic(struct block_state *bs, uint64_t address) {
  synchronize(bs, address, true, true);
}

void sync_volatile(struct block_state *bs, uint64_t address, bool reads) {
  synchronize(bs, address, reads, !reads);
}

// A cuda::barrier or cuda::pipeline at this address: the thread releases what it has done so far, or it acquires.
void sync_object(struct block_state *bs, uint64_t address, bool releases) {
  struct sync *sync = find(bs->launch, address, true);
  if (!releases) {
    acquire(bs, sync);
    return;
  }
  sync_fence(bs, true);
  release(bs, sync, true);
}

// grid.sync() number `number` of the launch. One thread of each block calls this, between two barriers of the block.
// After it, all blocks know what all had done before it, but nothing of what faster blocks have done since: so each
// has a synchronization variable of its own, at an address where there is no memory.
void sync_grid_barrier(struct block_state *bs, unsigned number, bool arrives) {
  struct sync *sync = find(bs->launch, (uint64_t)number * 4, true);
  if (!arrives) {
    acquire(bs, sync);
    return;
  }
  struct release r = new_release(bs);
  r.before = bs->phase;
  race_barrier_was_needed(bs);
  add_release(sync, &r);
}

// The access that is asked about, and the block instance that asks.
static const struct access *queried;
static uint64_t querying_instance;

// Is the access by another lane of the releasing thread's warp, in the phase of its fence, and did that thread know
// of it?
static bool knew_lane_of_warp(const struct release *r, const struct access *access) {
  if (r->thread / WARP != access->thread / WARP || access->phase != r->own)
    return false;
  return access->warp_clock < r->all_synced || (r->row && access->warp_clock < r->row->known[access->thread % WARP]);
}

static bool release_covers(const struct release *r) {
  const struct access *access = queried;
  if (r->instance != access->instance || (r->of_block && r->instance != querying_instance))
    return false;
  if (r->thread == access->thread)
    return access->phase < r->before || access->phase < r->own ||
           (access->phase == r->own && access->warp_clock < r->own_clock);
  return access->phase < r->before || knew_lane_of_warp(r, access);
}

// The first `count` releases of a variable, still to be visited. Each release is visited once per query.
struct known {
  struct sync *sync;
  uint32_t count;
};
static struct known *to_visit; // one query at a time
static size_t to_visit_count, to_visit_room;

static void visit(struct sync *sync, uint32_t count) {
  if (sync->query == query_number && count <= sync->visited)
    return;
  if (to_visit_count == to_visit_room) {
    to_visit_room = to_visit_room ? 2 * to_visit_room : 64;
    to_visit = inspect_resize(to_visit, to_visit_room * sizeof *to_visit);
  }
  to_visit[to_visit_count++] = (struct known){sync, count};
}

// The releasing thread knew what it, or its block, had acquired.
static void visit_acquired(struct acquire_log *h, uint32_t count) {
  uint32_t i = h->query == query_number ? h->visited : 0;
  for (; i < count; i++)
    visit(h->acquires[i].sync, h->acquires[i].count);
  h->query = query_number;
  h->visited = i;
}

// True: one of the releases orders the access.
static bool visit_releases(struct sync *sync, uint32_t count) {
  const uint32_t first = sync->query == query_number ? sync->visited : 0;
  if (count <= first)
    return false;
  sync->query = query_number;
  sync->visited = count;
  for (uint32_t i = count; i-- > first;)
    if (release_covers(&sync->releases[i]))
      return true;
  for (uint32_t i = first; i < count; i++)
    if (sync->releases[i].acquire_log &&
        (!sync->releases[i].of_block || sync->releases[i].instance == querying_instance))
      visit_acquired(sync->releases[i].acquire_log, sync->releases[i].known);
  return false;
}

// If another thread acquired it, a barrier passed it on, and that barrier is needed.
static bool ordered_by(struct block_state *bs, bool by_barrier) {
  if (by_barrier)
    race_barrier_was_needed(bs);
  return true;
}

// Is the earlier access ordered before the running thread by what it, or its block before a barrier, has acquired?
bool sync_happens_before(struct block_state *bs, const struct access *before) {
  const struct acquire_log *h = bs->acquire_log;
  queried = before;
  querying_instance = bs->instance;
  bool by_barrier = false;
  query_number++;
  to_visit_count = 0;
  for (uint32_t i = h ? h->count : 0; i-- > 0;) { // the most recent acquire is the most likely
    const struct acquire *a = &h->acquires[i];
    const bool own =
        a->thread == bs->thread || (a->phase == bs->phase && vector_clock_orders(bs, a->thread, a->warp_clock));
    if (!own && a->phase >= bs->phase)
      continue;
    by_barrier |= !own;
    if (visit_releases(a->sync, a->count))
      return ordered_by(bs, !own);
  }
  while (to_visit_count > 0) {
    const struct known k = to_visit[--to_visit_count];
    if (visit_releases(k.sync, k.count))
      return ordered_by(bs, by_barrier);
  }
  return false;
}

void sync_end_launch(struct launch *launch) {
  for (size_t i = 0; launch->syncs && i < TABLE; i++)
    for (struct sync *sync = launch->syncs[i], *next; sync; sync = next) {
      next = sync->next;
      free(sync->releases);
      free(sync);
    }
  free(launch->syncs);
  vector_clock_end_launch(launch);
  for (struct acquire_log *h = launch->acquire_logs, *next; h; h = next) {
    next = h->next;
    free(h->acquires);
    free(h);
  }
}
