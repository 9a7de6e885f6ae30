// SPDX-License-Identifier: MIT
// Happens-before through memory: a thread writes data, executes __threadfence(), and then changes a flag atomically
// or by a volatile write (a release); another thread later changes the flag atomically or reads it as a volatile (an
// acquire). Each such address is a synchronization variable with a list of releases; each block has a log of its
// acquires. A question is answered by a search from the block's acquires through the releases they reached.
//
// Who takes a lock by atomicCAS executes a fence before it uses what the lock protects: until then, the acquire orders
// nothing. Other acquires need none (docs/inspector.md).
//
// The same search says whether a thread has seen a write to the flag itself: a write that another thread reads gets an
// entry in the variable's list that releases nothing, and so does each later one.
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
  bool is_write;                   // a write of the flag in phase `own` at `own_clock`, which releases nothing:
  uint32_t number;                 // the variable's so many-th entry
  struct acquire_log *acquire_log; // of the releasing block: its first `known` acquires
  uint32_t known;
};

struct sync {
  uint64_t address;
  struct release *releases;
  uint32_t count, room, acquired; // acquired: the most that an acquire has reached
  uint32_t visited;               // releases already visited by the query numbered `query`
  uint64_t query;
  struct sync *next;
};

// An atomic or a volatile read by this thread. It acquires the first `count` releases of the variable.
struct acquire {
  struct sync *sync;
  uint32_t count, phase, warp_clock;
  uint16_t thread;
  bool takes_lock; // an atomicCAS that changed the variable
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

static void acquire(struct block_state *bs, struct sync *sync, bool takes_lock) {
  struct acquire_log *h = own_acquire_log(bs);
  struct acquire *last = h->count ? &h->acquires[h->count - 1] : NULL;
  const uint32_t now = bs->clock.warp_clock[bs->thread];
  sync->acquired = sync->count;
  if (last && last->sync == sync && last->thread == bs->thread && last->phase == bs->phase &&
      !vector_clock_orders(bs, last->thread, last->warp_clock) && // it has not synchronized with a lane since
      (now == last->warp_clock || (!takes_lock && !last->takes_lock))) {
    last->count = sync->count;
    last->takes_lock |= takes_lock;
    return;
  }
  if (h->count == h->room) {
    h->room = h->room ? 2 * h->room : 8;
    h->acquires = inspect_resize(h->acquires, h->room * sizeof *h->acquires);
  }
  h->acquires[h->count++] = (struct acquire){sync, sync->count, bs->phase, now, (uint16_t)bs->thread, takes_lock};
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

static bool is_of_write(const struct release *r, const struct access *write) {
  return r->is_write && r->instance == write->instance && r->thread == write->thread && r->own == write->phase &&
         r->own_clock == write->warp_clock;
}

// The entry of this write, if it is the last one; NULL: it has none.
static const struct release *entry_of(const struct sync *sync, const struct access *write) {
  for (uint32_t i = sync->count; i-- > 0;)
    if (sync->releases[i].is_write)
      return is_of_write(&sync->releases[i], write) ? &sync->releases[i] : NULL;
  return NULL;
}

static void add_write(struct sync *sync, const struct access *write) {
  struct release r;
  memset(&r, 0, sizeof r);
  r.instance = write->instance;
  r.own = write->phase;
  r.own_clock = write->warp_clock;
  r.thread = write->thread;
  r.is_write = true;
  r.number = sync->count;
  add_release(sync, &r);
}

// A write that nobody has read needs no entry, unless an earlier one of this thread has one, from which it could not be told.
static void wrote(struct block_state *bs, struct sync *sync) {
  const struct access write = {.instance = bs->instance,
                               .phase = bs->phase,
                               .warp_clock = bs->clock.warp_clock[bs->thread],
                               .thread = (uint16_t)bs->thread};
  const struct release *entry = entry_of(sync, &write);
  if (entry && entry->number < sync->acquired)
    add_write(sync, &write);
}

void sync_access(struct block_state *bs, uint64_t address, struct sync_access access) {
  const bool to_all = access.releases && (bs->fenced[bs->thread].phase || fenced_before(bs));
  const bool to_block = access.releases && bs->fenced_block[bs->thread].phase;
  struct sync *sync = find(bs->launch, address, to_all || to_block || access.seen);
  if (access.seen && !entry_of(sync, access.seen))
    add_write(sync, access.seen);
  if (sync && sync->count && access.acquires)
    acquire(bs, sync, access.takes_lock);
  if (sync && access.writes)
    wrote(bs, sync);
  bs->launch->any_block_release |= to_block;
  if (to_block)
    release(bs, sync, true);
  if (to_all) {
    race_barrier_was_needed(bs); // other threads' accesses before it are released, too
    release(bs, sync, false);
  }
}

// A cuda::barrier or cuda::pipeline at this address: the thread releases what it has done so far, or it acquires.
void sync_object(struct block_state *bs, uint64_t address, bool releases) {
  struct sync *sync = find(bs->launch, address, true);
  if (!releases) {
    acquire(bs, sync, false);
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
    acquire(bs, sync, false);
    return;
  }
  struct release r = new_release(bs);
  r.before = bs->phase;
  race_barrier_was_needed(bs);
  add_release(sync, &r);
}

// What is asked: about an access (else whether the first `wanted_count` entries of the variable `wanted` are known), and the
// block instance that asks. `any_scope`: would it be ordered if all fences were __threadfence()? `any_lock`: if a fence
// followed each lock that was taken?
static const struct access *queried;
static uint64_t querying_instance;
static const struct sync *wanted;
static uint32_t wanted_count;
static bool any_scope, any_lock;

static bool may_know(const struct release *r) {
  return !r->of_block || any_scope || r->instance == querying_instance;
}

// Is the access by another lane of the releasing thread's warp, in the phase of its fence, and did that thread know
// of it?
static bool knew_lane_of_warp(const struct release *r, const struct access *access) {
  if (r->thread / WARP != access->thread / WARP || access->phase != r->own)
    return false;
  return access->warp_clock < r->all_synced || (r->row && access->warp_clock < r->row->known[access->thread % WARP]);
}

static bool release_covers(const struct release *r) {
  const struct access *access = queried;
  if (r->is_write || access == NULL || r->instance != access->instance || !may_know(r))
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
  if (sync == wanted && count >= wanted_count)
    return true;
  if (count <= first)
    return false;
  sync->query = query_number;
  sync->visited = count;
  for (uint32_t i = count; i-- > first;)
    if (release_covers(&sync->releases[i]))
      return true;
  for (uint32_t i = first; i < count; i++)
    if (sync->releases[i].acquire_log && may_know(&sync->releases[i]))
      visit_acquired(sync->releases[i].acquire_log, sync->releases[i].known);
  return false;
}

// If another thread acquired it, a barrier passed it on, and that barrier is needed.
static bool ordered_by(struct block_state *bs, bool by_barrier) {
  if (by_barrier)
    race_barrier_was_needed(bs);
  return true;
}

static bool is_since(struct fence fence, const struct acquire *a) {
  return fence.phase > a->phase || (fence.phase == a->phase && fence.warp_clock > a->warp_clock);
}

// Has the running thread taken a lock, and neither reached a barrier nor executed a fence since?
static bool lacks_fence(const struct block_state *bs, const struct acquire *a) {
  return a->takes_lock && !any_lock && a->thread == bs->thread && a->phase == bs->phase &&
         !is_since(bs->fenced[bs->thread], a);
}

// After __threadfence_block(), a lock orders what threads of this block released.
static bool orders_in_block(const struct block_state *bs, const struct acquire *a) {
  if (queried == NULL || !is_since(bs->fenced_block[bs->thread], a))
    return false;
  for (uint32_t i = a->count; i-- > 0;)
    if (a->sync->releases[i].instance == bs->instance && release_covers(&a->sync->releases[i]))
      return true;
  return false;
}

static bool search(struct block_state *bs) {
  const struct acquire_log *h = bs->acquire_log;
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
    if (queried && lacks_fence(bs, a)) {
      if (orders_in_block(bs, a))
        return true;
      continue;
    }
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

// Is the earlier access ordered before the running thread by what it, or its block before a barrier, has acquired?
bool sync_happens_before(struct block_state *bs, const struct access *before) {
  queried = before;
  wanted = NULL;
  any_scope = any_lock = false;
  return search(bs);
}

// Which fence would order the earlier access before the running thread, if it is unordered?
enum sync_lack sync_lacks(struct block_state *bs, const struct access *before) {
  queried = before;
  wanted = NULL;
  any_scope = bs->launch->any_block_release;
  any_lock = false;
  if (any_scope && search(bs))
    return LACKS_SCOPE;
  any_lock = true;
  return bs->acquire_log && search(bs) ? LACKS_FENCE_OF_LOCK : LACKS_ORDER;
}

// Has the running thread seen this write to the address?
bool sync_has_seen(struct block_state *bs, uint64_t address, const struct access *write) {
  const struct sync *sync = find(bs->launch, address, false);
  for (uint32_t i = sync ? sync->count : 0; i-- > 0;) {
    if (!is_of_write(&sync->releases[i], write))
      continue;
    queried = NULL;
    wanted = sync;
    wanted_count = i + 1;
    any_scope = any_lock = true; // a value that has been read is known, with or without a fence
    return search(bs);
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
