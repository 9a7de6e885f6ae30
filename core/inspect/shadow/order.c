// What orders accesses of different blocks, or of threads that take a lock: one thread writes, says __threadfence(), and changes
// something atomically, or writes something volatile; another changes the same thing atomically later, or reads it. Each such address
// keeps who released what there, each thread's block which of those it has come to know.
#include <stdlib.h>
#include <string.h>

#include "inspect/shadow/clock.h"
#include "inspect/shadow/order.h"
#include "inspect/shadow/race.h"

// "When this was released, everything of the run before phase `before` was published, and the thread's own up to phase `own`, in that
// phase before its epoch `own_epoch`."
struct release {
  uint64_t run;
  uint32_t before, own, own_epoch;
  uint32_t all_met; // in phase `own`: what the thread knew of its warp's other lanes then, as a meeting of all,
  const struct clock_row *row; // and of each
  uint16_t thread;
  bool of_block;           // by __threadfence_block(): to threads of the block alone
  struct history *history; // of the releasing block, as far as `known`
  uint32_t known;
};

struct sync {
  uint64_t address;
  struct release *releases;
  uint32_t count, room;
  uint32_t looked_at; // of them, by the question numbered `asked`
  uint64_t asked;
  struct sync *next;
};

// An atomic or a volatile read by this thread, after which the first `count` releases at the address are known to it.
struct acquire {
  struct sync *sync;
  uint32_t count, phase, epoch;
  uint16_t thread;
};

struct history {
  uint64_t run;
  struct acquire *acquires;
  uint32_t count, room;
  uint32_t looked_at; // as a sync's
  uint64_t asked;
  struct history *next;
};

static uint64_t question; // the number of what order_knows is asked

enum { TABLE = 4096 };

void order_begin_block(struct look *l) {
  l->history = NULL;
  if (l->any_fence)
    memset(l->fenced, 0, sizeof l->fenced);
  if (l->any_block_fence)
    memset(l->fenced_block, 0, sizeof l->fenced_block);
  l->any_fence = l->earlier_fence = 0;
  l->any_block_fence = false;
}

void order_fence(struct look *l, bool of_block) {
  clock_fence(l); // what comes behind it is not published by it
  const struct fence now = {l->phase, l->clock.epoch[l->thread]};
  if (of_block) {
    l->any_block_fence = true;
    l->fenced_block[l->thread] = now;
    return;
  }
  if (l->any_fence != l->phase)
    l->earlier_fence = l->any_fence;
  l->any_fence = l->phase;
  l->fenced[l->thread] = now;
}

// The last phase before this one in which a thread of the block said __threadfence().
static uint32_t fenced_before(const struct look *l) {
  return l->any_fence < l->phase ? l->any_fence : l->earlier_fence;
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

static struct history *own_history(struct look *l) {
  if (l->history == NULL) {
    l->history = inspect_allocate(sizeof *l->history);
    l->history->run = l->run;
    l->history->next = l->launch->histories;
    l->launch->histories = l->history;
  }
  return l->history;
}

static void acquire(struct look *l, struct sync *sync) {
  struct history *h = own_history(l);
  struct acquire *last = h->count ? &h->acquires[h->count - 1] : NULL;
  if (last && last->sync == sync && last->thread == l->thread && last->phase == l->phase &&
      !clock_orders(l, last->thread, last->epoch)) { // it has met no lane since
    last->count = sync->count;
    return;
  }
  if (h->count == h->room) {
    h->room = h->room ? 2 * h->room : 8;
    h->acquires = inspect_resize(h->acquires, h->room * sizeof *h->acquires);
  }
  h->acquires[h->count++] =
      (struct acquire){sync, sync->count, l->phase, l->clock.epoch[l->thread], (uint16_t)l->thread};
}

// By the running thread, of nothing yet. Releases are compared byte by byte.
static struct release new_release(const struct look *l) {
  struct release r;
  memset(&r, 0, sizeof r);
  r.run = l->run;
  r.thread = (uint16_t)l->thread;
  r.history = l->history;
  r.known = l->history ? l->history->count : 0;
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

// A fence publishes the thread's own writes and what barriers had ordered before them; so does another thread's fence before a
// barrier.
static void release(struct look *l, struct sync *sync, bool of_block) {
  const struct fence *fence = of_block ? &l->fenced_block[l->thread] : &l->fenced[l->thread];
  const uint32_t own = fence->phase, others = !of_block && fenced_before(l) ? fenced_before(l) + 1 : 0;
  struct release r = new_release(l);
  r.before = own > others ? own : others;
  r.own = own;
  r.own_epoch = fence->epoch;
  if (own == l->phase) {
    r.all_met = l->clock.all_met[l->thread / WARP];
    r.row = clock_row(l);
  }
  r.of_block = of_block;
  add_release(sync, &r);
}

static void synchronize(struct look *l, uint64_t address, bool acquires, bool releases) {
  const bool to_all = releases && (l->fenced[l->thread].phase || fenced_before(l));
  const bool to_block = releases && l->fenced_block[l->thread].phase;
  struct sync *sync = find(l->launch, address, to_all || to_block);
  if (sync && sync->count && acquires)
    acquire(l, sync);
  if (to_block)
    release(l, sync, true);
  if (to_all) {
    race_barrier_was_needed(l); // others' accesses before it are published with this thread's
    release(l, sync, false);
  }
}

void order_atomic(struct look *l, uint64_t address) {
  synchronize(l, address, true, true);
}

void order_volatile(struct look *l, uint64_t address, bool reads) {
  synchronize(l, address, reads, !reads);
}

// A barrier or pipeline of namespace cuda at this address: what a thread has done up to here is released, or it acquires.
void order_object(struct look *l, uint64_t address, bool releases) {
  struct sync *sync = find(l->launch, address, true);
  if (!releases) {
    acquire(l, sync);
    return;
  }
  order_fence(l, true);
  release(l, sync, true);
}

// grid.sync() number `number` of the launch, which one thread of each block passes between two barriers of the block. Behind it all
// know what all had done before, and nothing of what those that went on faster have done since: each has a place of its own, at
// which no memory is.
void order_grid_barrier(struct look *l, unsigned number, bool arrives) {
  struct sync *sync = find(l->launch, (uint64_t)number * 4, true);
  if (!arrives) {
    acquire(l, sync);
    return;
  }
  struct release r = new_release(l);
  r.before = l->phase;
  race_barrier_was_needed(l);
  add_release(sync, &r);
}

// The access of which is asked, and by which run.
static const struct note *asked;
static uint64_t asking_run;

// Of another lane of the releasing thread's warp, in the phase of its fence.
static bool knew_mate(const struct release *r, const struct note *note) {
  if (r->thread / WARP != note->thread / WARP || note->phase != r->own)
    return false;
  return note->epoch < r->all_met || (r->row && note->epoch < r->row->known[note->thread % WARP]);
}

static bool covers(const struct release *r) {
  const struct note *note = asked;
  if (r->run != note->run || (r->of_block && r->run != asking_run))
    return false;
  if (r->thread == note->thread)
    return note->phase < r->before || note->phase < r->own || (note->phase == r->own && note->epoch < r->own_epoch);
  return note->phase < r->before || knew_mate(r, note);
}

// What a question has come to so far: some of the releases at an address, of which each is looked at once, however many ways lead there.
struct known {
  struct sync *sync;
  uint32_t count;
};
static struct known *to_look_at; // one question is answered at a time
static size_t to_look_at_count, to_look_at_room;

static void look_at(struct sync *sync, uint32_t count) {
  if (sync->asked == question && count <= sync->looked_at)
    return;
  if (to_look_at_count == to_look_at_room) {
    to_look_at_room = to_look_at_room ? 2 * to_look_at_room : 64;
    to_look_at = inspect_resize(to_look_at, to_look_at_room * sizeof *to_look_at);
  }
  to_look_at[to_look_at_count++] = (struct known){sync, count};
}

// Who released it knew what he or his block had acquired.
static void look_at_acquired(struct history *h, uint32_t count) {
  uint32_t i = h->asked == question ? h->looked_at : 0;
  for (; i < count; i++)
    look_at(h->acquires[i].sync, h->acquires[i].count);
  h->asked = question;
  h->looked_at = i;
}

// True: one of the releases covers the access.
static bool look_at_releases(struct sync *sync, uint32_t count) {
  const uint32_t first = sync->asked == question ? sync->looked_at : 0;
  if (count <= first)
    return false;
  sync->asked = question;
  sync->looked_at = count;
  for (uint32_t i = count; i-- > first;)
    if (covers(&sync->releases[i]))
      return true;
  for (uint32_t i = first; i < count; i++)
    if (sync->releases[i].history && (!sync->releases[i].of_block || sync->releases[i].run == asking_run))
      look_at_acquired(sync->releases[i].history, sync->releases[i].known);
  return false;
}

// By what another thread has acquired, if there is a barrier between: that one has its reason.
static bool knows(struct look *l, bool by_barrier) {
  if (by_barrier)
    race_barrier_was_needed(l);
  return true;
}

// Does the running thread know of this earlier access, by what it, or its block before a barrier, has acquired?
bool order_knows(struct look *l, const struct note *before) {
  const struct history *h = l->history;
  asked = before;
  asking_run = l->run;
  bool by_barrier = false;
  question++;
  to_look_at_count = 0;
  for (uint32_t i = h ? h->count : 0; i-- > 0;) { // what was learnt last is most likely what is asked
    const struct acquire *a = &h->acquires[i];
    const bool own = a->thread == l->thread || (a->phase == l->phase && clock_orders(l, a->thread, a->epoch));
    if (!own && a->phase >= l->phase)
      continue;
    by_barrier |= !own;
    if (look_at_releases(a->sync, a->count))
      return knows(l, !own);
  }
  while (to_look_at_count > 0) {
    const struct known k = to_look_at[--to_look_at_count];
    if (look_at_releases(k.sync, k.count))
      return knows(l, by_barrier);
  }
  return false;
}

void order_end_launch(struct launch *launch) {
  for (size_t i = 0; launch->syncs && i < TABLE; i++)
    for (struct sync *sync = launch->syncs[i], *next; sync; sync = next) {
      next = sync->next;
      free(sync->releases);
      free(sync);
    }
  free(launch->syncs);
  clock_end_launch(launch);
  for (struct history *h = launch->histories, *next; h; h = next) {
    next = h->next;
    free(h->acquires);
    free(h);
  }
}
