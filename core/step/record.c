// SPDX-License-Identifier: MIT
// The state behind a step. For each thing that changes there is a list of its changes in the order of the steps, and a state is found by
// bisection: a variable of a warp at a depth, the positions of a warp's lanes, an element of an array.
#include "step/record_impl.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_THREADS = 1024, MOST_DEPTH = 1000, MOST_VARIABLES = 1 << 20, MOST_ACCESSES = UINT16_MAX, PAGE = 32 };

// A change in some lanes of a warp. `skip` leads to the last one before it that changed other lanes as well; -1: none did.
typedef struct Entry {
  int step, item;
  uint32_t mask;
  int skip;
} Entry;

typedef struct Track {
  int count;
  Entry *entries;
} Track;

// An access to an element: the step, the access in it, the lane, the element within a wide access, and the last entry that wrote.
typedef struct Use {
  int step, write;
  uint16_t access;
  uint8_t lane, part;
} Use;

// From keys to numbers from 0 in the order in which they were added.
typedef struct Map {
  uint64_t *keys;
  int *numbers;
  int count, room;
} Map;

struct StepIndex {
  Map names; // of tracks: of (warp, depth, variable), and of (warp, depth) where functions began
  Track *tracks, *warps;
  int *barriers, barrier_count;
  Map pages;     // of (array, element / PAGE)
  int *uses_end; // per element of the pages; its uses begin where those of the element before end
  Use *uses;
};

// ---- maps ------------------------------------------------------------------------------------------------------------------

static int map_slot(const Map *m, uint64_t key) {
  uint64_t h = (key ^ key >> 32) * 0x9E3779B97F4A7C15u;
  int slot = (int)(h >> 33 & (uint64_t)(m->room - 1));
  while (m->numbers[slot] >= 0 && m->keys[slot] != key)
    slot = (slot + 1) & (m->room - 1);
  return slot;
}

static void map_grow(Map *m) {
  const Map old = *m;
  m->room = old.room ? 2 * old.room : 64;
  m->keys = step_resize(NULL, (size_t)m->room * sizeof *m->keys);
  m->numbers = step_resize(NULL, (size_t)m->room * sizeof *m->numbers);
  memset(m->numbers, 0xff, (size_t)m->room * sizeof *m->numbers);
  for (int i = 0; i < old.room; i++)
    if (old.numbers[i] >= 0) {
      const int slot = map_slot(m, old.keys[i]);
      m->keys[slot] = old.keys[i];
      m->numbers[slot] = old.numbers[i];
    }
  free(old.keys);
  free(old.numbers);
}

static int map_find(const Map *m, uint64_t key) {
  return m->room ? m->numbers[map_slot(m, key)] : -1;
}

static int map_add(Map *m, uint64_t key) {
  if (2 * m->count >= m->room)
    map_grow(m);
  const int slot = map_slot(m, key);
  if (m->numbers[slot] < 0) {
    m->keys[slot] = key;
    m->numbers[slot] = m->count++;
  }
  return m->numbers[slot];
}

static void map_free(Map *m) {
  free(m->keys);
  free(m->numbers);
}

// ---- tracks ----------------------------------------------------------------------------------------------------------------

static void track_add(Track *t, int step, int item, uint32_t mask) {
  int skip = t->count - 1;
  while (skip >= 0 && !(t->entries[skip].mask & ~mask))
    skip = t->entries[skip].skip;
  t->entries = step_grown(t->entries, t->count, sizeof *t->entries);
  t->entries[t->count++] = (Entry){step, item, mask, skip};
}

// The last entry up to the step; -1: none.
static int track_last(const Track *t, int step) {
  int low = 0, high = t->count;
  while (low < high) {
    const int middle = low + (high - low) / 2;
    if (t->entries[middle].step <= step)
      low = middle + 1;
    else
      high = middle;
  }
  return low - 1;
}

// Of each lane the last entry up to the step. Returns the lanes that have one.
static uint32_t track_lanes(const Track *t, int step, const Entry *of[STEP_LANES]) {
  uint32_t found = 0;
  for (int i = track_last(t, step); i >= 0 && ~found; i = t->entries[i].skip) {
    for (uint32_t lanes = t->entries[i].mask & ~found; lanes; lanes &= lanes - 1)
      of[__builtin_ctz(lanes)] = &t->entries[i];
    found |= t->entries[i].mask;
  }
  return found;
}

// variable -1: the frame itself
static uint64_t track_key(int warp, int depth, int variable) {
  return ((uint64_t)warp << 12 | (uint64_t)depth) << 24 | (uint64_t)(variable + 1);
}

static Track *track_named(struct StepIndex *x, uint64_t key) {
  const int count = x->names.count, number = map_add(&x->names, key);
  if (number == count) {
    x->tracks = step_grown(x->tracks, count, sizeof *x->tracks);
    x->tracks[number] = (Track){0};
  }
  return &x->tracks[number];
}

// ---- elements of arrays ----------------------------------------------------------------------------------------------------

static uint64_t page_key(int array, int64_t word) {
  return (uint64_t)array << 40 ^ ((uint64_t)(word - (word & (PAGE - 1))) / PAGE & 0xffffffffffu);
}

// What is read of shared memory has been written by the block; of global memory a read is the first that tells a value.
static bool is_use(const Record *r, const StepAccess *a) {
  return a->kind != 'r' || !r->arrays[a->array].shared;
}

// The number of an element among those of all pages. A new page has no uses yet.
static int place_added(struct StepIndex *x, int array, int64_t word) {
  const int count = x->pages.count, page = map_add(&x->pages, page_key(array, word));
  if (page == count) {
    if (!(count & (count - 1)))
      x->uses_end = step_resize(x->uses_end, (size_t)(count ? 2 * count : 1) * PAGE * sizeof *x->uses_end);
    memset(x->uses_end + (size_t)page * PAGE, 0, PAGE * sizeof *x->uses_end);
  }
  return page * PAGE + (int)(word & (PAGE - 1));
}

static int place_found(const struct StepIndex *x, int array, int64_t word) {
  const int page = map_find(&x->pages, page_key(array, word));
  return page < 0 ? -1 : page * PAGE + (int)(word & (PAGE - 1));
}

static int uses_begin(const struct StepIndex *x, int place) {
  return place ? x->uses_end[place - 1] : 0;
}

static int64_t word_of(const StepArray *a, int64_t offset) {
  return (offset - (offset < 0 ? a->element - 1 : 0)) / a->element;
}

// An element of an access. In the second round uses_end is where the element's next use goes.
static void add_use(struct StepIndex *x, int array, int64_t word, Use use, bool writes) {
  const int place = x->uses ? place_found(x, array, word) : place_added(x, array, word), at = x->uses_end[place]++;
  if (!x->uses)
    return;
  use.write = writes ? at : -1;
  x->uses[at] = use;
}

// The lanes of a statement do all of it in turn.
static void add_uses(const Record *r, int step) {
  const Step *s = &r->steps[step];
  for (int lane = 0; lane < STEP_LANES && s->access_count; lane++)
    for (int i = 0; i < s->access_count; i++) {
      const StepAccess *a = &s->accesses[i];
      const StepArray *array = &r->arrays[a->array];
      if (!(a->offsets.mask >> lane & 1) || !is_use(r, a))
        continue;
      const int64_t first = word_of(array, step_value(&a->offsets, lane).integer);
      const int parts = a->bytes > array->element ? a->bytes / array->element : 1;
      for (int part = 0; part < parts && part <= UINT8_MAX; part++)
        add_use(r->index, a->array, first + part, (Use){step, -1, (uint16_t)i, (uint8_t)lane, (uint8_t)part},
                a->kind != 'r');
    }
}

static void index_uses(const Record *r) {
  struct StepIndex *x = r->index;
  int sum = 0;
  for (int i = 0; i < r->step_count; i++)
    add_uses(r, i);
  const int places = x->pages.count * PAGE;
  for (int i = 0; i < places; i++) {
    const int count = x->uses_end[i];
    x->uses_end[i] = sum;
    sum += count;
  }
  x->uses = step_resize(NULL, (size_t)sum * sizeof *x->uses);
  for (int i = 0; i < r->step_count; i++)
    add_uses(r, i);
  for (int place = 0; place < places; place++)
    for (int at = uses_begin(x, place) + 1; at < x->uses_end[place]; at++)
      if (x->uses[at].write < 0)
        x->uses[at].write = x->uses[at - 1].write;
}

// ---- building --------------------------------------------------------------------------------------------------------------

static bool is_in(int i, int count) {
  return i >= 0 && i < count;
}

static bool tables_fit(const Record *r) {
  bool good = true;
  for (int i = 0; i < r->function_count; i++)
    good &= is_in(r->functions[i].file, r->file_count);
  for (int i = 0; i < r->statement_count; i++)
    good &= is_in(r->statements[i].function, r->function_count);
  for (int i = 0; i < r->variable_count; i++)
    good &= is_in(r->variables[i].function, r->function_count);
  for (int i = 0; i < r->finding_count; i++) {
    const StepFinding *f = &r->findings[i];
    good &= f->step < r->step_count && f->other_step < r->step_count && f->array < r->array_count;
    good &= f->thread < r->threads && f->other < r->threads;
  }
  return good && r->variable_count < MOST_VARIABLES;
}

static bool step_fits(const Record *r, const Step *s) {
  bool good = s->warp < r->warps && (s->warp >= 0 || !strchr("sre", s->kind)) && s->call_count < MOST_DEPTH &&
              s->access_count <= MOST_ACCESSES && s->function < r->function_count;
  for (int i = 0; i < s->change_count; i++)
    good &= s->warp >= 0 && is_in(s->changes[i].variable, r->variable_count) && s->changes[i].depth < MOST_DEPTH;
  for (int i = 0; i < s->access_count; i++) {
    const StepAccess *a = &s->accesses[i];
    good &= s->warp >= 0 && is_in(a->array, r->array_count) && a->kind && strchr("rwa", a->kind);
    for (uint32_t lanes = a->offsets.mask; lanes && good; lanes &= lanes - 1)
      good = step_value(&a->offsets, __builtin_ctz(lanes)).kind == STEP_INTEGER;
  }
  return good;
}

bool step_check(const Record *r, char *why, size_t why_bytes) {
  Record *changed = (Record *)(uintptr_t)r;
  int64_t threads = 1;
  for (int i = 0; i < 3; i++)
    threads = threads > MOST_THREADS ? threads : threads * r->block[i];
  if (threads < 1 || threads > MOST_THREADS)
    snprintf(why, why_bytes, "a block of %d x %d x %d threads is none", r->block[0], r->block[1], r->block[2]);
  if (threads < 1 || threads > MOST_THREADS)
    return false;
  changed->threads = (int)threads;
  changed->warps = (int)(threads + STEP_LANES - 1) / STEP_LANES;
  if (r->step_count == 0) {
    snprintf(why, why_bytes, "the record has no steps: the block did not run");
    return false;
  }
  if (!tables_fit(r)) {
    snprintf(why, why_bytes, "a table refers to a file, function, step or array that the record does not have");
    return false;
  }
  for (int i = 0; i < r->step_count; i++)
    if (!step_fits(r, &r->steps[i])) {
      snprintf(why, why_bytes, "step %d refers to a warp, variable or array that the record does not have", i);
      return false;
    }
  return true;
}

// Of each step the findings of the table.
static void index_findings(Record *r) {
  for (int i = 0; i < r->finding_count; i++)
    if (r->findings[i].step >= 0)
      r->steps[r->findings[i].step].finding_count++;
  for (int i = 0; i < r->finding_count; i++) {
    Step *s = r->findings[i].step >= 0 ? &r->steps[r->findings[i].step] : NULL;
    if (!s || s->findings)
      continue;
    int *of = step_allocate(r, (size_t)s->finding_count * sizeof *of), count = 0;
    for (int n = i; n < r->finding_count; n++)
      if (r->findings[n].step == r->findings[i].step)
        of[count++] = n;
    s->findings = of;
  }
}

void step_index(Record *r) {
  struct StepIndex *x = r->index = step_resize(NULL, sizeof *x);
  *x = (struct StepIndex){.warps = step_resize(NULL, (size_t)r->warps * sizeof(Track))};
  memset(x->warps, 0, (size_t)r->warps * sizeof *x->warps);
  for (int i = 0; i < r->step_count; i++) {
    Step *s = &r->steps[i];
    s->previous = s->next = -1;
    if (s->kind == 'b') {
      x->barriers = step_grown(x->barriers, x->barrier_count, sizeof *x->barriers);
      x->barriers[x->barrier_count++] = i;
    }
    if (s->warp < 0)
      continue;
    Track *warp = &x->warps[s->warp];
    if (warp->count) {
      s->previous = warp->entries[warp->count - 1].step;
      r->steps[s->previous].next = i;
    }
    track_add(warp, i, 0, s->mask);
    if (s->statement < 0 && s->function >= 0)
      track_add(track_named(x, track_key(s->warp, s->call_count, -1)), i, 0, s->mask);
    for (int c = 0; c < s->change_count; c++)
      track_add(track_named(x, track_key(s->warp, s->changes[c].depth, s->changes[c].variable)), i, c,
                s->changes[c].values.mask);
  }
  index_uses(r);
  index_findings(r);
}

void step_index_free(Record *r) {
  struct StepIndex *x = r->index;
  if (!x)
    return;
  for (int i = 0; i < x->names.count; i++)
    free(x->tracks[i].entries);
  for (int i = 0; i < r->warps; i++)
    free(x->warps[i].entries);
  map_free(&x->names);
  map_free(&x->pages);
  free(x->tracks);
  free(x->warps);
  free(x->barriers);
  free(x->uses_end);
  free(x->uses);
  free(x);
}

// ---- states ----------------------------------------------------------------------------------------------------------------

void step_variable(const Record *r, int step, int warp, int depth, int variable, StepLanes *lanes) {
  const struct StepIndex *x = r->index;
  const Entry *change[STEP_LANES], *entered[STEP_LANES];
  const int track = depth < MOST_DEPTH ? map_find(&x->names, track_key(warp, depth, variable)) : -1;
  const int frame = depth < MOST_DEPTH ? map_find(&x->names, track_key(warp, depth, -1)) : -1;
  lanes->known = lanes->changed = 0;
  if (track < 0)
    return;
  const uint32_t found = track_lanes(&x->tracks[track], step, change);
  const uint32_t in_frame = frame >= 0 ? track_lanes(&x->tracks[frame], step, entered) : 0;
  for (uint32_t left = found; left; left &= left - 1) {
    const int lane = __builtin_ctz(left), at = change[lane]->step;
    if (in_frame >> lane & 1 && entered[lane]->step > at)
      continue;
    lanes->known |= UINT32_C(1) << lane;
    lanes->since[lane] = at;
    lanes->values[lane] = step_value(&r->steps[at].changes[change[lane]->item].values, lane);
    lanes->changed |= (uint32_t)(at == step) << lane;
  }
}

// The last use up to the step; -1: none.
static int use_up_to(const struct StepIndex *x, int place, int step) {
  int low = uses_begin(x, place), high = x->uses_end[place];
  const int first = low;
  while (low < high) {
    const int middle = low + (high - low) / 2;
    if (x->uses[middle].step <= step)
      low = middle + 1;
    else
      high = middle;
  }
  return low > first ? low - 1 : -1;
}

StepWord step_word(const Record *r, int step, int array, int64_t word) {
  const struct StepIndex *x = r->index;
  StepWord w = {.writer = -1, .thread = -1};
  const int place = place_found(x, array, word), at = place < 0 ? -1 : use_up_to(x, place, step);
  if (at < 0)
    return w;
  const Use *use = &x->uses[at];
  w.known = true;
  w.value = step_value(&r->steps[use->step].accesses[use->access].values, use->lane);
  if (w.value.kind == STEP_LIST)
    w.value = use->part < w.value.count ? w.value.list[use->part] : (StepValue){.kind = STEP_NONE};
  if (use->write >= 0) {
    w.writer = x->uses[use->write].step;
    w.thread = r->steps[w.writer].warp * STEP_LANES + x->uses[use->write].lane;
  }
  return w;
}

int step_next_write(const Record *r, int step, int array, int64_t word, int direction) {
  const struct StepIndex *x = r->index;
  const int place = place_found(x, array, word);
  if (place < 0)
    return -1;
  const int begin = uses_begin(x, place), end = x->uses_end[place];
  if (direction < 0) {
    const int at = use_up_to(x, place, step - 1);
    return at < 0 || x->uses[at].write < 0 ? -1 : x->uses[x->uses[at].write].step;
  }
  int at = use_up_to(x, place, step);
  for (at = at < 0 ? begin : at + 1; at < end; at++)
    if (x->uses[at].write == at)
      return x->uses[at].step;
  return -1;
}

int step_of_warp(const Record *r, int step, int warp) {
  const Track *t = &r->index->warps[warp];
  const int at = track_last(t, step);
  return at < 0 ? -1 : t->entries[at].step;
}

static int last_barrier(const Record *r, int step) {
  const struct StepIndex *x = r->index;
  int low = 0, high = x->barrier_count;
  while (low < high) {
    const int middle = low + (high - low) / 2;
    if (x->barriers[middle] <= step)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

int step_barriers(const Record *r, int step) {
  return last_barrier(r, step);
}

void step_signs(const Record *r, int step, int warp, char signs[STEP_LANES + 1]) {
  const Entry *last[STEP_LANES];
  const uint32_t found = track_lanes(&r->index->warps[warp], step, last);
  const int barriers = last_barrier(r, step), opened = barriers ? r->index->barriers[barriers - 1] : -1;
  for (int lane = 0; lane < STEP_LANES; lane++) {
    signs[lane] = ' ';
    if (!(found >> lane & 1))
      continue;
    const Step *s = &r->steps[last[lane]->step];
    const bool at_barrier = s->statement >= 0 && strcmp(r->statements[s->statement].kind, "barrier") == 0;
    signs[lane] = s->kind == 'e'                            ? '-'
                  : last[lane]->step == step                ? '#'
                  : at_barrier && last[lane]->step > opened ? '|'
                                                            : '.';
  }
  signs[STEP_LANES] = '\0';
}

int step_frame_function(const Record *r, int step, int depth) {
  const Step *s = &r->steps[step];
  if (depth < s->call_count)
    return r->statements[s->calls[depth]].function;
  return s->statement >= 0 ? r->statements[s->statement].function : s->function;
}

int step_frame_line(const Record *r, int step, int depth) {
  const Step *s = &r->steps[step];
  if (depth < s->call_count)
    return r->statements[s->calls[depth]].line;
  return s->statement >= 0 ? r->statements[s->statement].line : s->function >= 0 ? r->functions[s->function].line : 0;
}

int step_line(const Record *r, int step) {
  return step_frame_line(r, step, r->steps[step].call_count);
}
