// SPDX-License-Identifier: MIT
// Happens-before among the lanes of one warp between two barriers, with vector clocks (Flanagan and Freund,
// "FastTrack", PLDI 2009).
//
// Each synchronization of lanes in a warp function has the warp's next clock. A lane's warp clock is that of the last
// synchronization that it took part in; a fence of its own also advances it. A lane's vector has a component for each
// lane of the warp: the last synchronization of that lane before which this lane knows everything it did, directly or
// through other lanes. What lane b did at clock c happens before what lane a does next if a's vector has a component
// greater than c for b.
//
// Most synchronizations are of all lanes. Then all vectors are equal, and only the clock is kept (all_synced). After
// a synchronization of some lanes the warp has a table of up to 32 vectors, which synchronized lanes share; a greater
// all_synced still counts.
#include "inspect/shadow/vector_clock.h"

#include <stdlib.h>

#include "inspect/shadow/race.h"

void vector_clock_begin_phase(struct block_state *bs) {
  struct warp_clocks *c = &bs->clock;
  const size_t warps = (bs->launch->threads + WARP - 1) / WARP;
  c->begin = 0;
  memset(c->last, 0, warps * sizeof *c->last);
  memset(c->all_synced, 0, warps * sizeof *c->all_synced);
  memset(c->diverged, 0, warps * sizeof *c->diverged);
  memset(c->warp_clock, 0, warps * WARP * sizeof *c->warp_clock);
}

// One warp has used up the clocks of this interval: every warp continues with the first clock of the next one.
static void begin_interval(struct block_state *bs) {
  struct warp_clocks *c = &bs->clock;
  if (c->begin > UINT32_MAX - 2 * WARP_CLOCKS)
    inspect_give_up(
        "the lanes of a warp synchronize more than 4,294,836,224 times between two barriers: inspect a smaller input");
  c->begin += WARP_CLOCKS;
  for (unsigned i = 0; i < MAX_WARPS; i++)
    c->last[i] = c->begin;
  for (unsigned i = 0; i < MAX_THREADS; i++)
    c->warp_clock[i] = c->begin;
  race_begin_interval(bs);
}

static uint32_t next_number(struct block_state *bs, unsigned warp) {
  struct warp_clocks *c = &bs->clock;
  if (c->last[warp] - c->begin == WARP_CLOCKS - 1)
    begin_interval(bs);
  return ++c->last[warp];
}

static uint32_t all_lanes(const struct block_state *bs, unsigned warp) {
  const unsigned threads = bs->launch->threads - warp * WARP;
  return threads < WARP ? (1u << threads) - 1 : ~0u;
}

// Starts the table of vectors: all lanes have the same vector, which adds nothing to all_synced.
static void start_vectors(struct warp_clocks *c, unsigned warp) {
  c->diverged[warp] = true;
  memset(c->row[warp], 0, sizeof c->row[warp]);
  memset(c->holders[warp], 0, sizeof c->holders[warp]);
  memset(c->known[warp][0], 0, sizeof c->known[warp][0]);
  c->holders[warp][0] = ~0u;
}

// Gives these lanes a vector of their own: the maximum of theirs in each component.
static unsigned join(struct warp_clocks *c, unsigned warp, uint32_t lanes) {
  uint32_t joined[WARP] = {0}, *holders = c->holders[warp];
  unsigned own = WARP;
  for (unsigned r = 0; r < WARP; r++) {
    const uint32_t *known = c->known[warp][r];
    for (unsigned i = 0; holders[r] & lanes && i < WARP; i++)
      joined[i] = known[i] > joined[i] ? known[i] : joined[i];
    holders[r] &= ~lanes;
    own = holders[r] ? own : r; // there is a free one: the other lanes have at most 31
  }
  for (uint32_t rest = lanes; rest; rest &= rest - 1)
    c->row[warp][__builtin_ctz(rest)] = (uint8_t)own;
  holders[own] = lanes;
  memcpy(c->known[warp][own], joined, sizeof joined);
  return own;
}

// From here on each of the lanes knows what any of them knew, and what all of them did.
static void sync_lanes(struct warp_clocks *c, unsigned warp, uint32_t lanes, uint32_t number) {
  if (!c->diverged[warp])
    start_vectors(c, warp);
  unsigned row = c->row[warp][__builtin_ctz(lanes)];
  if (c->holders[warp][row] != lanes)
    row = join(c, warp, lanes);
  for (; lanes; lanes &= lanes - 1) {
    const unsigned lane = (unsigned)__builtin_ctz(lanes);
    c->known[warp][row][lane] = c->warp_clock[warp * WARP + lane] = number;
  }
}

// The running thread's vector; valid while its warp's vectors have diverged.
static const uint32_t *vector(const struct block_state *bs) {
  const unsigned warp = (unsigned)bs->thread / WARP;
  return bs->clock.known[warp][bs->clock.row[warp][bs->thread % WARP]];
}

void vector_clock_sync(struct block_state *bs, unsigned warp, uint32_t lanes) {
  struct warp_clocks *c = &bs->clock;
  const uint32_t number = next_number(bs, warp);
  if (lanes != all_lanes(bs, warp)) {
    sync_lanes(c, warp, lanes, number);
    return;
  }
  c->all_synced[warp] = number;
  c->diverged[warp] = false;
  for (unsigned i = 0; i < WARP; i++)
    c->warp_clock[warp * WARP + i] = number;
}

void vector_clock_fence(struct block_state *bs) {
  bs->clock.warp_clock[bs->thread] = next_number(bs, (unsigned)bs->thread / WARP);
  race_thread_runs(bs);
}

bool vector_clock_orders(const struct block_state *bs, unsigned thread, uint32_t warp_clock) {
  const struct warp_clocks *c = &bs->clock;
  const unsigned warp = thread / WARP;
  if ((unsigned)bs->thread / WARP != warp)
    return false;
  return c->all_synced[warp] > warp_clock || (c->diverged[warp] && vector(bs)[thread % WARP] > warp_clock);
}

// Usually the same as for the previous call.
const struct clock_vector *clock_vector(const struct block_state *bs) {
  const uint32_t *known = vector(bs);
  struct clock_vector *last = bs->launch->rows;
  if (!bs->clock.diverged[bs->thread / WARP])
    return NULL;
  if (last && memcmp(last->known, known, sizeof last->known) == 0)
    return last;
  struct clock_vector *row = inspect_allocate(sizeof *row);
  memcpy(row->known, known, sizeof row->known);
  row->next = last;
  return bs->launch->rows = row;
}

void vector_clock_end_launch(struct launch *launch) {
  for (struct clock_vector *row = launch->rows, *next; row; row = next) {
    next = row->next;
    free(row);
  }
}
