#include "inspect/shadow/past.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "inspect/runtime/look.h"
#include "inspect/shadow/memory.h"
#include "inspect/runtime/program.h"
#include "inspect/shadow/race.h"
#include "inspect/shadow/word.h"

struct past {
  struct kernel *kernel; // NULL: a copy or fill
  uint64_t first_run;
  uint32_t first_era;
  unsigned int chain, number; // its stamp; number 0: all that comes is ordered behind it
  struct transferred what;    // of a copy
  uint32_t *constants;        // of a launch: the first key that has read each word of them; NULL: it has read none
  unsigned long submission; // not 0: the host itself did it, and what was submitted after this one is ordered behind it
};

static struct past *past; // by their runs
static size_t count, room;
static unsigned long epoch;
static unsigned launches_running;
static bool copies;           // there are some among them
static unsigned int *highest; // number in each chain
static unsigned int chains;
static unsigned long host_came; // the last submission after which the host itself is among them; 0: it is not
static size_t host_count;       // accesses of the host's and of its functions

static const struct sim_vector_clock *running_stamp(void) {
  const struct sim_vector_clock *stamp = sim_running_vector_clock();
  return stamp && !stamp->unknown ? stamp : NULL;
}

static bool is_before(const struct past *p, const struct sim_vector_clock *stamp) {
  if (p->submission)
    return stamp == NULL || stamp->submission > p->submission;
  return p->number == 0 || stamp == NULL || (p->chain < stamp->components && stamp->times[p->chain] >= p->number);
}

// While nothing runs: no block asks about what is forgotten. So much is kept at most.
static void forget(void) {
  enum { MOST_ERAS = 1 << 22, MOST = 1 << 16 };
  const unsigned long now = sim_vector_clock_epoch();
  const bool full = count >= MOST || race_now() - race_eras_begin >= MOST_ERAS;
  if (launches_running || (now == epoch && !full))
    return;
  epoch = now;
  while (count > 0)
    free(past[--count].constants);
  copies = false;
  chains = 0;
  host_came = 0;
  host_count = 0;
  race_forget();
}

static struct past *add(uint64_t run, const struct sim_vector_clock *stamp) {
  if (count == room) {
    room = room ? 2 * room : 64;
    past = inspect_resize(past, room * sizeof *past);
  }
  past[count] = (struct past){.first_run = run, .first_era = race_now()};
  past[count].chain = stamp ? stamp->component : 0;
  past[count].number = stamp ? stamp->time : 0;
  if (stamp && stamp->component >= chains) {
    highest = inspect_resize(highest, (stamp->component + 1) * sizeof *highest);
    while (chains <= stamp->component)
      highest[chains++] = 0;
  }
  if (stamp)
    highest[stamp->component] = stamp->time;
  return &past[count++];
}

static struct past *past_of(uint64_t run) {
  size_t begin = 0, end = count;
  while (end - begin > 1) {
    const size_t middle = begin + (end - begin) / 2;
    if (past[middle].first_run <= run)
      begin = middle;
    else
      end = middle;
  }
  return &past[begin];
}

// Is everything ordered before `stamp`, as it is while a program uses one stream?
static bool is_behind_all(const struct sim_vector_clock *stamp) {
  if (stamp && host_came && stamp->submission <= host_came)
    return false;
  for (unsigned int c = 0; stamp && c < chains; c++)
    if (highest[c] > (c < stamp->components ? stamp->times[c] : 0))
      return false;
  return true;
}

// The first era of all that is not ordered before `stamp`.
static uint32_t first_unordered_era(const struct sim_vector_clock *stamp) {
  uint32_t era = race_now();
  for (size_t i = is_behind_all(stamp) ? 0 : count; i-- > 0;)
    if (!is_before(&past[i], stamp))
      era = past[i].first_era;
  return era;
}

// ---- launches ----------------------------------------------------------------------------------------------------------------

typedef void visit_cell(struct cell *cell, uint64_t address, void *data);

// A word's cells, or its bytes', one after another.
static void each_cell_of_row(uint64_t address, size_t bytes, visit_cell *visit, void *data) {
  for (size_t at = 0; at < bytes;) {
    unsigned cells = 0;
    const unsigned step = (address + at) % MEMORY_WORD || bytes - at < MEMORY_WORD ? 1 : MEMORY_WORD;
    struct cell *cell = memory_cells_at(address + at, step, &cells);
    for (unsigned i = 0; i < cells; i++)
      visit(&cell[i], address + at, data);
    at += step;
  }
}

static uint64_t row_of(const struct sim_region *region, size_t row) {
  return (uint64_t)(uintptr_t)region->address + row * region->pitch;
}

static void each_cell(const struct sim_region *region, visit_cell *visit, void *data) {
  for (size_t row = 0; row < region->rows; row++)
    each_cell_of_row(row_of(region, row), region->bytes, visit, data);
}

static void remember_copy(struct cell *cell, uint64_t address, void *data) {
  const struct past *p = data;
  const struct mark mark = {p->first_era, (p->what.writes ? EVENT_WRITE : EVENT_READ) + 2, 0};
  struct record *r = race_open_record(cell);
  (void)address;
  if (p->what.writes && r->write.era < mark.era)
    r->write = mark;
  else if (!p->what.writes && r->other.era < mark.era)
    r->other = mark;
  cell->last.era = 0;
}

void past_begin_launch(struct launch *launch) {
  launch->stamp = running_stamp();
  forget();
  launches_running++;
  launch->first_era = first_unordered_era(launch->stamp);
  for (size_t i = 0; copies && launch->first_era < race_now() && i < count; i++)
    if (past[i].kernel == NULL && !is_before(&past[i], launch->stamp))
      each_cell(&past[i].what.region, remember_copy, &past[i]);
  add(launch->first_run, launch->stamp)->kernel = launch->kernel;
}

void past_end_launch(void) {
  launches_running--;
}

bool past_is_ordered(const struct launch *launch, const struct note *before) {
  return is_before(past_of(before->run), launch->stamp);
}

static const char *does(const struct transferred *what) {
  return what->frees ? "frees" : what->writes ? "writes" : "reads";
}

static const char *who(const struct transferred *what) {
  return what->library ? what->library : "a copy or fill";
}

static void past_describe(const struct note *before, char *text, size_t bytes) {
  const struct past *p = past_of(before->run);
  if (p->kernel)
    snprintf(text, bytes, "thread %d of block %u of %s %s", before->thread, (unsigned int)(before->run - p->first_run),
             p->kernel->name, race_verb(before->key));
  else
    snprintf(text, bytes, "%s %s it", who(&p->what), does(&p->what));
}

// A thread of the kernel (`by`), and the host, in whichever order they came.
static void conflict_with_host(struct kernel *kernel, uint32_t key, uint32_t allocated, const char *what,
                               const char *by, const struct transferred *host) {
  finding_add(FIND_RACE_HOST, kernel,
              (struct place){.first = host->place, .second = key_place(key), .third = allocated},
              "%s: %s, the host %s it, and has not waited for the kernel", what, by, does(host));
}

void past_conflict(const struct launch *launch, const struct note *before, uint32_t key, uint32_t allocated,
                   const char *what, const char *by) {
  char other[200];
  const struct past *const p = past_of(before->run);
  struct kernel *const kernel = p->kernel;
  const uint32_t here = key_place(key), there = kernel ? key_place(before->key) : p->what.place;
  const struct place both = {.first = there, .second = here, .third = allocated};
  if (p->submission) {
    conflict_with_host(launch->kernel, key, allocated, what, by, &p->what);
    return;
  }
  past_describe(before, other, sizeof other);
  // Which of the two ran first means nothing: it is one finding of one kernel.
  const bool turned = kernel == NULL || here < there;
  finding_add(FIND_RACE_STREAM, turned ? launch->kernel : kernel,
              kernel ? both : (struct place){.first = here, .second = there, .third = allocated}, "%s: %s, %s", what,
              turned ? by : other, turned ? other : by);
}

// ---- copies ------------------------------------------------------------------------------------------------------------------

struct transfer {
  const struct sim_vector_clock *stamp;
  uint32_t first_era;
  struct transferred what;
  bool of_host;
};

static uint32_t describe_memory(uint64_t address, char *text, size_t bytes) {
  const struct allocation *a = memory_allocation(address);
  snprintf(text, bytes, "a variable");
  if (a)
    memory_describe(a, address, text, bytes);
  return a ? a->place : 0;
}

static void meet(const struct transfer *t, const struct mark *mark, uint64_t address) {
  char what[200], by[200];
  if (mark->era < t->first_era || mark->era < race_eras_begin)
    return;
  const struct note before = race_note_of(mark);
  const struct past *p = past_of(before.run);
  if (p->kernel == NULL || is_before(p, t->stamp) || memory_is_newer(address, mark->era))
    return;
  const uint32_t allocated = describe_memory(address, what, sizeof what);
  past_describe(&before, by, sizeof by);
  if (t->of_host) {
    conflict_with_host(p->kernel, before.key, allocated, what, by, &t->what);
    return;
  }
  finding_add(FIND_RACE_STREAM, p->kernel,
              (struct place){.first = key_place(before.key), .second = t->what.place, .third = allocated},
              "%s: %s, %s %s it", what, by, who(&t->what), does(&t->what));
}

static void meet_cell(struct cell *cell, uint64_t address, void *data) {
  const struct transfer *t = data;
  const struct record *r = cell->more ? record_at(cell->more) : NULL;
  const struct mark *last = &cell->last;
  if (r) {
    meet(t, &r->write, address);
    if (t->what.writes) {
      meet(t, &r->read, address);
      meet(t, &r->other, address);
    }
  } else if (t->what.writes || !is_read(last->key)) {
    meet(t, last, address);
  }
}

// Rows that lie side by side, or over each other, are one row here.
static struct sim_region joined(struct sim_region region) {
  if (region.rows > 1 && region.pitch <= region.bytes)
    region = sim_bytes(region.address, (region.rows - 1) * region.pitch + region.bytes);
  return region;
}

// The first address that both have; 0: none.
static uint64_t shared_address(const struct sim_region *one, const struct sim_region *other) {
  const struct sim_region a = joined(*one), b = joined(*other), *few = a.rows < b.rows ? &a : &b,
                          *many = few == &a ? &b : &a;
  if (row_of(&a, a.rows - 1) + a.bytes <= row_of(&b, 0) || row_of(&b, b.rows - 1) + b.bytes <= row_of(&a, 0))
    return 0;
  for (size_t row = 0; row < few->rows; row++) {
    const uint64_t begin = row_of(few, row), end = begin + few->bytes, first = row_of(many, 0);
    if (end <= first)
      continue;
    const size_t before = many->rows > 1 ? (end - 1 - first) / many->pitch : 0; // the last row that begins before `end`
    const uint64_t last = row_of(many, before < many->rows ? before : many->rows - 1);
    if (last + many->bytes > begin)
      return last > begin ? last : begin;
  }
  return 0;
}

bool past_touches(const struct sim_region *region, uint64_t address, size_t bytes) {
  const struct sim_region access = sim_bytes((const void *)(uintptr_t)address, bytes);
  return shared_address(region, &access) != 0;
}

// Of two copies, fills or functions of libraries. NCCL's may write in the place of another's, whose stamp says nothing about it.
static void meet_copy(const struct transfer *t, const struct past *p) {
  const struct transferred *a = &p->what, *b = &t->what;
  char what[200];
  if (p->kernel || p->submission || a->place == 0 || b->place == 0 || !(a->writes || b->writes) ||
      is_before(p, t->stamp))
    return;
  const uint64_t address = shared_address(&a->region, &b->region);
  if (address == 0 || memory_is_newer(address, p->first_era))
    return;
  const uint32_t allocated = describe_memory(address, what, sizeof what);
  finding_add(FIND_RACE_STREAM, NULL, (struct place){.first = a->place, .second = b->place, .third = allocated},
              "%s: %s %s it, %s %s it", what, who(a), does(a), a->library || b->library ? who(b) : "another one",
              does(b));
}

// ---- constants ---------------------------------------------------------------------------------------------------------------

static void meet_constant(struct kernel *kernel, uint32_t key, const struct transferred *what) {
  finding_add(FIND_RACE_STREAM, kernel, (struct place){.first = key_place(key), .second = what->place},
              "constant memory: %s reads, %s writes it", kernel->name, who(what));
}

void past_reads_constant(struct launch *launch, uint64_t address, size_t offset, uint32_t key) {
  if (launch->constants == NULL)
    launch->constants = past_of(launch->first_run)->constants =
        inspect_allocate((program_constant_bytes() / MEMORY_WORD + 1) * sizeof *launch->constants);
  uint32_t *const word = &launch->constants[offset / MEMORY_WORD];
  if (*word)
    return;
  *word = key;
  for (size_t i = 0; copies && i < count; i++)
    if (past[i].what.writes && !is_before(&past[i], launch->stamp) && past_touches(&past[i].what.region, address, 1))
      meet_constant(launch->kernel, key, &past[i].what);
}

static void meet_readers(const struct transfer *t, const struct past *p) {
  const struct sim_region region = joined(t->what.region);
  size_t offset;
  if (p->constants == NULL || !t->what.writes || !program_is_constant(row_of(&region, 0), &offset) ||
      is_before(p, t->stamp))
    return;
  for (size_t at = 0; at < region.bytes; at += MEMORY_WORD) {
    const uint64_t address = row_of(&region, 0) + at;
    if (program_is_constant(address, &offset) && p->constants[offset / MEMORY_WORD])
      meet_constant(p->kernel, p->constants[offset / MEMORY_WORD], &t->what);
  }
}

static struct past *add_transfer(const struct sim_vector_clock *stamp, const struct transferred *what) {
  struct past *p = add(look_new_run(), stamp);
  p->what = *what;
  copies = true;
  race_new_era(p->first_run, 0, 0);
  return p;
}

void past_transfer(struct transferred what) {
  struct transfer t = {.stamp = running_stamp(), .what = what};
  forget();
  if (t.stamp == NULL)
    return;
  const bool behind_all = is_behind_all(t.stamp);
  t.first_era = first_unordered_era(t.stamp);
  if (t.first_era < race_now())
    each_cell(&what.region, meet_cell, &t);
  for (size_t i = 0; copies && !behind_all && i < count; i++)
    meet_copy(&t, &past[i]);
  for (size_t i = 0; !behind_all && i < count; i++)
    meet_readers(&t, &past[i]);
  struct past *p = add_transfer(t.stamp, &what);
  if (launches_running && !behind_all) // blocks that are still to come meet it
    each_cell(&p->what.region, remember_copy, p);
}

// ---- the host, in memory that kernels use, too --------------------------------------------------------------------------------

// A loop's accesses are one entry: rows that lie side by side, or as far from each other.
static bool goes_on(struct sim_region *region, uint64_t address, size_t bytes) {
  const uint64_t begin = row_of(region, 0);
  if (bytes != region->bytes || address < begin)
    return false;
  const uint64_t distance = address - begin;
  if (region->rows == 1 && distance >= bytes)
    region->pitch = distance;
  const size_t row = distance / region->pitch;
  if (distance % region->pitch || row > region->rows)
    return false;
  region->rows += row == region->rows;
  return true;
}

// By the function with this stamp, or by the host when `knows` was all that it knew.
static bool is_by(const struct past *p, const struct sim_vector_clock *function, const struct sim_vector_clock *knows) {
  return function ? p->submission == 0 && p->chain == function->component && p->number == function->time
                  : p->submission == knows->submission;
}

static struct past *host_entry(const struct sim_vector_clock *function, const struct sim_vector_clock *knows,
                               const struct transferred *what) {
  enum { LOOKS_BACK = 16, MOST = 4096 };
  for (size_t i = count; i-- > 0 && i + LOOKS_BACK >= count;) {
    struct past *p = &past[i];
    if (p->kernel == NULL && is_by(p, function, knows) && p->what.place == what->place &&
        p->what.writes == what->writes && goes_on(&p->what.region, row_of(&what->region, 0), what->region.bytes))
      return p;
  }
  if (host_count == MOST)
    return NULL;
  struct past *p = add_transfer(function, what);
  host_count++;
  if (function == NULL)
    p->submission = host_came = knows->submission;
  return p;
}

// Of the host, or of a function that a stream calls: what kernels have done, and for those that are still to come.
static void host_meets(struct transfer t, const struct sim_vector_clock *function,
                       const struct sim_vector_clock *knows) {
  if (t.first_era < race_now())
    each_cell(&t.what.region, meet_cell, &t);
  const struct past *p = host_entry(function, knows, &t.what);
  if (p && launches_running) {
    struct past last = *p;
    last.what.region = t.what.region;
    each_cell(&t.what.region, remember_copy, &last);
  }
}

void past_host_access(const struct sim_vector_clock *knows, unsigned long version, struct transferred what) {
  static struct {
    unsigned long version;
    size_t count;
    uint32_t era;
  } asked; // most accesses are asked for by a loop
  struct sim_vector_clock now = *knows;
  now.submission = ULONG_MAX; // behind all that the host has done itself
  forget();
  if (asked.version != version || asked.count != count || asked.era < race_eras_begin) {
    asked.version = version;
    asked.count = count;
    asked.era = first_unordered_era(&now);
  }
  host_meets((struct transfer){&now, asked.era, what, true}, NULL, knows);
}

void past_host_function(const struct sim_vector_clock *stamp, struct transferred what) {
  forget();
  if (!stamp->unknown)
    host_meets((struct transfer){stamp, first_unordered_era(stamp), what, false}, stamp, NULL);
}

void past_forget_host(void) {
  for (size_t i = 0; i < count; i++)
    past[i].submission = 0; // what has no number either is ordered before all that comes
  host_came = 0;
}
