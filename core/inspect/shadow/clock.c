// Happens-before among the lanes of one warp between two barriers, with vector clocks (FastTrack: Flanagan and Freund,
// PLDI 2009).
//
// Each meeting of lanes in a warp function gets the warp's next number. A lane's epoch is the number of the last meeting
// that it took part in; a fence of its own begins an epoch, too. A lane's vector has a number for each lane of the warp:
// the last meeting of that lane before which this lane knows all that it did, because both took part or because other
// lanes have passed it on. What lane b did in epoch e is ordered before what lane a does next if a's vector has a higher
// number than e for b.
//
// In most meetings all lanes take part. Then their vectors are all the same, and only the meeting's number is kept
// (all_met). After a meeting of some lanes the warp has a table of up to 32 vectors, which lanes that met share; a higher
// number of all_met still counts.
#include "inspect/shadow/clock.h"

#include <stdlib.h>

#include "inspect/shadow/race.h"

void clock_begin_phase(struct look *l) {
  struct clock *c = &l->clock;
  const size_t warps = (l->launch->threads + WARP - 1) / WARP;
  c->begin = 0;
  memset(c->last, 0, warps * sizeof *c->last);
  memset(c->all_met, 0, warps * sizeof *c->all_met);
  memset(c->apart, 0, warps * sizeof *c->apart);
  memset(c->epoch, 0, warps * WARP * sizeof *c->epoch);
}

// All numbers of this era are taken in one warp: every warp goes on from the first number of the next.
static void begin_era(struct look *l) {
  struct clock *c = &l->clock;
  if (c->begin > UINT32_MAX - 2 * EPOCHS)
    inspect_give_up(
        "the lanes of a warp meet more than 4,294,836,224 times between two barriers: inspect a smaller input");
  c->begin += EPOCHS;
  for (unsigned i = 0; i < MAX_WARPS; i++)
    c->last[i] = c->begin;
  for (unsigned i = 0; i < MAX_THREADS; i++)
    c->epoch[i] = c->begin;
  race_begin_era(l);
}

static uint32_t next_number(struct look *l, unsigned warp) {
  struct clock *c = &l->clock;
  if (c->last[warp] - c->begin == EPOCHS - 1)
    begin_era(l);
  return ++c->last[warp];
}

static uint32_t all_lanes(const struct look *l, unsigned warp) {
  const unsigned threads = l->launch->threads - warp * WARP;
  return threads < WARP ? (1u << threads) - 1 : ~0u;
}

// All lanes have the same vector, which says no more than all_met.
static void part(struct clock *c, unsigned warp) {
  c->apart[warp] = true;
  memset(c->row[warp], 0, sizeof c->row[warp]);
  memset(c->holders[warp], 0, sizeof c->holders[warp]);
  memset(c->known[warp][0], 0, sizeof c->known[warp][0]);
  c->holders[warp][0] = ~0u;
}

// A vector of the warp's for these lanes alone, with the highest number that any of theirs has for each lane.
static unsigned join(struct clock *c, unsigned warp, uint32_t lanes) {
  uint32_t joined[WARP] = {0}, *holders = c->holders[warp];
  unsigned own = WARP;
  for (unsigned r = 0; r < WARP; r++) {
    const uint32_t *known = c->known[warp][r];
    for (unsigned i = 0; holders[r] & lanes && i < WARP; i++)
      joined[i] = known[i] > joined[i] ? known[i] : joined[i];
    holders[r] &= ~lanes;
    own = holders[r] ? own : r; // there is one: the others have at most 31
  }
  for (uint32_t rest = lanes; rest; rest &= rest - 1)
    c->row[warp][__builtin_ctz(rest)] = (uint8_t)own;
  holders[own] = lanes;
  memcpy(c->known[warp][own], joined, sizeof joined);
  return own;
}

// Each of the lanes knows from here on what any of them knew, and what all of them did before.
static void meet(struct clock *c, unsigned warp, uint32_t lanes, uint32_t number) {
  if (!c->apart[warp])
    part(c, warp);
  unsigned row = c->row[warp][__builtin_ctz(lanes)];
  if (c->holders[warp][row] != lanes)
    row = join(c, warp, lanes);
  for (; lanes; lanes &= lanes - 1) {
    const unsigned lane = (unsigned)__builtin_ctz(lanes);
    c->known[warp][row][lane] = c->epoch[warp * WARP + lane] = number;
  }
}

// What the running thread's vector is where it holds.
static const uint32_t *vector(const struct look *l) {
  const unsigned warp = (unsigned)l->thread / WARP;
  return l->clock.known[warp][l->clock.row[warp][l->thread % WARP]];
}

void clock_meet(struct look *l, unsigned warp, uint32_t lanes) {
  struct clock *c = &l->clock;
  const uint32_t number = next_number(l, warp);
  if (lanes != all_lanes(l, warp)) {
    meet(c, warp, lanes, number);
    return;
  }
  c->all_met[warp] = number;
  c->apart[warp] = false;
  for (unsigned i = 0; i < WARP; i++)
    c->epoch[warp * WARP + i] = number;
}

void clock_fence(struct look *l) {
  l->clock.epoch[l->thread] = next_number(l, (unsigned)l->thread / WARP);
  race_thread_runs(l);
}

bool clock_orders(const struct look *l, unsigned thread, uint32_t epoch) {
  const struct clock *c = &l->clock;
  const unsigned warp = thread / WARP;
  if ((unsigned)l->thread / WARP != warp)
    return false;
  return c->all_met[warp] > epoch || (c->apart[warp] && vector(l)[thread % WARP] > epoch);
}

// Most often it is the same as the one that was asked for before.
const struct clock_row *clock_row(const struct look *l) {
  const uint32_t *known = vector(l);
  struct clock_row *last = l->launch->rows;
  if (!l->clock.apart[l->thread / WARP])
    return NULL;
  if (last && memcmp(last->known, known, sizeof last->known) == 0)
    return last;
  struct clock_row *row = inspect_allocate(sizeof *row);
  memcpy(row->known, known, sizeof row->known);
  row->next = last;
  return l->launch->rows = row;
}

void clock_end_launch(struct launch *launch) {
  for (struct clock_row *row = launch->rows, *next; row; row = next) {
    next = row->next;
    free(row);
  }
}
