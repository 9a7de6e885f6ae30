// SPDX-License-Identifier: MIT
#include "inspect/shadow/launch_history.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "inspect/shadow/memory.h"
#include "inspect/program.h"
#include "inspect/shadow/race.h"
#include "inspect/shadow/shadow_word.h"

struct history_entry {
  struct kernel *kernel; // NULL: a copy or fill
  uint64_t first_instance;
  uint32_t first_interval;
  // Its vector-clock component and time. Time 0: already joined by the host, so it happens before everything later
  unsigned int chain, number;
  struct range_access what; // of a copy
  uint32_t *constants;      // of a launch: the first event that read each word of constant memory; NULL: none
  // not 0: an access of the host. Whatever was submitted after this submission is ordered after it
  unsigned long submission;
};

static struct history_entry *history; // sorted by block instance
static size_t count, room;
static unsigned long warp_clock;
static unsigned launches_running;
static bool copies;           // the history contains copies
static unsigned int *highest; // time in each chain
static unsigned int chains;
static unsigned long host_submission; // the last submission before a host access in the history; 0: there is none
static size_t host_count;             // accesses of the host and of its functions

static const struct sim_vector_clock *running_stamp(void) {
  const struct sim_vector_clock *stamp = sim_running_vector_clock();
  return stamp && !stamp->unknown ? stamp : NULL;
}

static bool happens_before(const struct history_entry *p, const struct sim_vector_clock *stamp) {
  if (p->submission)
    return stamp == NULL || stamp->submission > p->submission;
  return p->number == 0 || stamp == NULL || (p->chain < stamp->components && stamp->times[p->chain] >= p->number);
}

// Drops the history when the host has waited for everything, or it is too long. Only while no block runs: a running
// block may ask for it.
static void forget_finished(void) {
  enum { MAX_INTERVALS = 1 << 22, MOST = 1 << 16 };
  const unsigned long now = sim_vector_clock_epoch();
  const bool full = count >= MOST || race_now() - race_intervals_begin >= MAX_INTERVALS;
  if (launches_running || (now == warp_clock && !full))
    return;
  warp_clock = now;
  while (count > 0)
    free(history[--count].constants);
  copies = false;
  chains = 0;
  host_submission = 0;
  host_count = 0;
  race_forget();
}

static struct history_entry *add(uint64_t instance, const struct sim_vector_clock *stamp) {
  if (count == room) {
    room = room ? 2 * room : 64;
    history = inspect_resize(history, room * sizeof *history);
  }
  history[count] = (struct history_entry){.first_instance = instance, .first_interval = race_now()};
  history[count].chain = stamp ? stamp->component : 0;
  history[count].number = stamp ? stamp->time : 0;
  if (stamp && stamp->component >= chains) {
    highest = inspect_resize(highest, (stamp->component + 1) * sizeof *highest);
    while (chains <= stamp->component)
      highest[chains++] = 0;
  }
  if (stamp)
    highest[stamp->component] = stamp->time;
  return &history[count++];
}

static struct history_entry *history_entry_of(uint64_t instance) {
  size_t begin = 0, end = count;
  while (end - begin > 1) {
    const size_t middle = begin + (end - begin) / 2;
    if (history[middle].first_instance <= instance)
      begin = middle;
    else
      end = middle;
  }
  return &history[begin];
}

// Is everything ordered before `stamp`? It is while a program uses one stream.
static bool is_after_all(const struct sim_vector_clock *stamp) {
  if (stamp && host_submission && stamp->submission <= host_submission)
    return false;
  for (unsigned int c = 0; stamp && c < chains; c++)
    if (highest[c] > (c < stamp->components ? stamp->times[c] : 0))
      return false;
  return true;
}

// The first interval of everything that is not ordered before `stamp`.
static uint32_t first_unordered_interval(const struct sim_vector_clock *stamp) {
  uint32_t interval = race_now();
  for (size_t i = is_after_all(stamp) ? 0 : count; i-- > 0;)
    if (!happens_before(&history[i], stamp))
      interval = history[i].first_interval;
  return interval;
}

// ---- launches ----------------------------------------------------------------------------------------------------------------

typedef void visit_shadow_word(struct shadow_word *word, uint64_t address, void *data);

// Visits the shadow words of a row of memory, or those of its bytes where it has them.
static void each_shadow_word_of_row(uint64_t address, size_t bytes, visit_shadow_word *visit, void *data) {
  for (size_t at = 0; at < bytes;) {
    unsigned found = 0;
    const unsigned step = (address + at) % MEMORY_WORD || bytes - at < MEMORY_WORD ? 1 : MEMORY_WORD;
    struct shadow_word *word = memory_shadow_words_at(address + at, step, &found);
    for (unsigned i = 0; i < found; i++)
      visit(&word[i], address + at, data);
    at += step;
  }
}

static uint64_t row_of(const struct sim_region *region, size_t row) {
  return (uint64_t)(uintptr_t)region->address + row * region->pitch;
}

static void each_shadow_word(const struct sim_region *region, visit_shadow_word *visit, void *data) {
  for (size_t row = 0; row < region->rows; row++)
    each_shadow_word_of_row(row_of(region, row), region->bytes, visit, data);
}

static void record_range_access(struct shadow_word *word, uint64_t address, void *data) {
  const struct history_entry *p = data;
  const struct epoch epoch = {p->first_interval, (p->what.writes ? EVENT_WRITE : EVENT_READ) + 2, 0};
  struct shadow_state *r = race_inflate(word);
  (void)address;
  if (p->what.writes && r->write.interval < epoch.interval)
    r->write = epoch;
  else if (!p->what.writes && r->other.interval < epoch.interval)
    r->other = epoch;
  word->last.interval = 0;
}

void history_begin_launch(struct launch *launch) {
  launch->stamp = running_stamp();
  forget_finished();
  launches_running++;
  launch->first_interval = first_unordered_interval(launch->stamp);
  for (size_t i = 0; copies && launch->first_interval < race_now() && i < count; i++)
    if (history[i].kernel == NULL && !happens_before(&history[i], launch->stamp))
      each_shadow_word(&history[i].what.region, record_range_access, &history[i]);
  add(launch->first_instance, launch->stamp)->kernel = launch->kernel;
}

void history_end_launch(void) {
  launches_running--;
}

bool history_happens_before(const struct launch *launch, const struct access *before) {
  return happens_before(history_entry_of(before->instance), launch->stamp);
}

static const char *verb_of(const struct range_access *what) {
  return what->frees ? "frees" : what->writes ? "writes" : "reads";
}

static const char *source_of(const struct range_access *what) {
  return what->library ? what->library : "a copy or fill";
}

static void describe_access(const struct access *before, char *text, size_t bytes) {
  const struct history_entry *p = history_entry_of(before->instance);
  if (p->kernel)
    snprintf(text, bytes, "thread %d of block %u of %s %s", before->thread,
             (unsigned int)(before->instance - p->first_instance), p->kernel->name, race_verb(before->event));
  else
    snprintf(text, bytes, "%s %s it", source_of(&p->what), verb_of(&p->what));
}

// Of a kernel's thread (`by`) and the host, in either order.
static void conflict_with_host(struct kernel *kernel, uint32_t event, uint32_t allocated, const char *what,
                               const char *by, const struct range_access *host) {
  finding_add(FIND_RACE_HOST, kernel,
              (struct location){.first = host->pc, .second = event_pc(event), .third = allocated},
              "%s: %s, the host %s it without waiting for the kernel", what, by, verb_of(host));
}

void history_report(const struct launch *launch, const struct access *before, uint32_t event, uint32_t allocated,
                    const char *what, const char *by) {
  char other[200];
  const struct history_entry *const p = history_entry_of(before->instance);
  struct kernel *const kernel = p->kernel;
  const uint32_t here = event_pc(event), there = kernel ? event_pc(before->event) : p->what.pc;
  const struct location both = {.first = there, .second = here, .third = allocated};
  if (p->submission) {
    conflict_with_host(launch->kernel, event, allocated, what, by, &p->what);
    return;
  }
  describe_access(before, other, sizeof other);
  // Which of the two ran first is accidental: it is one finding of one kernel.
  const bool swapped = kernel == NULL || here < there;
  finding_add(FIND_RACE_STREAM, swapped ? launch->kernel : kernel,
              kernel ? both : (struct location){.first = here, .second = there, .third = allocated}, "%s: %s, %s", what,
              swapped ? by : other, swapped ? other : by);
}

// ---- copies ------------------------------------------------------------------------------------------------------------------

struct transfer {
  const struct sim_vector_clock *stamp;
  uint32_t first_interval;
  struct range_access what;
  bool of_host;
};

static uint32_t describe_memory(uint64_t address, char *text, size_t bytes) {
  const struct allocation *a = memory_allocation(address);
  snprintf(text, bytes, "a variable");
  if (a)
    memory_describe(a, address, text, bytes);
  return a ? a->pc : 0;
}

static void check_epoch(const struct transfer *t, const struct epoch *epoch, uint64_t address) {
  char what[200], by[200];
  if (epoch->interval < t->first_interval || epoch->interval < race_intervals_begin)
    return;
  const struct access before = race_access_of(epoch);
  const struct history_entry *p = history_entry_of(before.instance);
  if (p->kernel == NULL || happens_before(p, t->stamp) || memory_is_newer(address, epoch->interval))
    return;
  const uint32_t allocated = describe_memory(address, what, sizeof what);
  describe_access(&before, by, sizeof by);
  if (t->of_host) {
    conflict_with_host(p->kernel, before.event, allocated, what, by, &t->what);
    return;
  }
  finding_add(FIND_RACE_STREAM, p->kernel,
              (struct location){.first = event_pc(before.event), .second = t->what.pc, .third = allocated},
              "%s: %s, %s %s it", what, by, source_of(&t->what), verb_of(&t->what));
}

static void check_shadow_word(struct shadow_word *word, uint64_t address, void *data) {
  const struct transfer *t = data;
  const struct shadow_state *r = word->inflated ? shadow_state_at(word->inflated) : NULL;
  const struct epoch *last = &word->last;
  if (r) {
    check_epoch(t, &r->write, address);
    if (t->what.writes) {
      check_epoch(t, &r->read, address);
      check_epoch(t, &r->other, address);
    }
  } else if (t->what.writes || !is_read(last->event)) {
    check_epoch(t, last, address);
  }
}

// Adjacent or overlapping rows become one row.
static struct sim_region joined(struct sim_region region) {
  if (region.rows > 1 && region.pitch <= region.bytes)
    region = sim_bytes(region.address, (region.rows - 1) * region.pitch + region.bytes);
  return region;
}

// The first address that both regions contain; 0: none.
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

bool history_overlaps(const struct sim_region *region, uint64_t address, size_t bytes) {
  const struct sim_region access = sim_bytes((const void *)(uintptr_t)address, bytes);
  return shared_address(region, &access) != 0;
}

// Checks two copies, fills or library functions. Those of NCCL are left out: it may write on behalf of another rank,
// whose stamp is unknown.
static void check_transfers(const struct transfer *t, const struct history_entry *p) {
  const struct range_access *a = &p->what, *b = &t->what;
  char what[200];
  if (p->kernel || p->submission || a->pc == 0 || b->pc == 0 || !(a->writes || b->writes) ||
      happens_before(p, t->stamp))
    return;
  const uint64_t address = shared_address(&a->region, &b->region);
  if (address == 0 || memory_is_newer(address, p->first_interval))
    return;
  const uint32_t allocated = describe_memory(address, what, sizeof what);
  finding_add(FIND_RACE_STREAM, NULL, (struct location){.first = a->pc, .second = b->pc, .third = allocated},
              "%s: %s %s it, %s %s it", what, source_of(a), verb_of(a),
              a->library || b->library ? source_of(b) : "another one", verb_of(b));
}

// ---- constants ---------------------------------------------------------------------------------------------------------------

static void report_constant(struct kernel *kernel, uint32_t event, const struct range_access *what) {
  finding_add(FIND_RACE_STREAM, kernel, (struct location){.first = event_pc(event), .second = what->pc},
              "constant memory: %s reads, %s writes it", kernel->name, source_of(what));
}

void history_reads_constant(struct launch *launch, uint64_t address, size_t offset, uint32_t event) {
  if (launch->constants == NULL)
    launch->constants = history_entry_of(launch->first_instance)->constants =
        inspect_allocate((program_constant_bytes() / MEMORY_WORD + 1) * sizeof *launch->constants);
  uint32_t *const word = &launch->constants[offset / MEMORY_WORD];
  if (*word)
    return;
  *word = event;
  for (size_t i = 0; copies && i < count; i++)
    if (history[i].what.writes && !happens_before(&history[i], launch->stamp) &&
        history_overlaps(&history[i].what.region, address, 1))
      report_constant(launch->kernel, event, &history[i].what);
}

static void check_constant_readers(const struct transfer *t, const struct history_entry *p) {
  const struct sim_region region = joined(t->what.region);
  size_t offset;
  if (p->constants == NULL || !t->what.writes || !program_is_constant(row_of(&region, 0), &offset) ||
      happens_before(p, t->stamp))
    return;
  for (size_t at = 0; at < region.bytes; at += MEMORY_WORD) {
    const uint64_t address = row_of(&region, 0) + at;
    if (program_is_constant(address, &offset) && p->constants[offset / MEMORY_WORD])
      report_constant(p->kernel, p->constants[offset / MEMORY_WORD], &t->what);
  }
}

static struct history_entry *add_transfer(const struct sim_vector_clock *stamp, const struct range_access *what) {
  struct history_entry *p = add(race_new_instances(1), stamp);
  p->what = *what;
  copies = true;
  race_new_interval(p->first_instance, 0, 0);
  return p;
}

void history_transfer(struct range_access what) {
  struct transfer t = {.stamp = running_stamp(), .what = what};
  forget_finished();
  if (t.stamp == NULL)
    return;
  const bool after_all = is_after_all(t.stamp);
  t.first_interval = first_unordered_interval(t.stamp);
  if (t.first_interval < race_now())
    each_shadow_word(&what.region, check_shadow_word, &t);
  for (size_t i = 0; copies && !after_all && i < count; i++)
    check_transfers(&t, &history[i]);
  for (size_t i = 0; !after_all && i < count; i++)
    check_constant_readers(&t, &history[i]);
  struct history_entry *p = add_transfer(t.stamp, &what);
  if (launches_running && !after_all) // checked by blocks that still run
    each_shadow_word(&p->what.region, record_range_access, p);
}

// ---- the host, in memory that it shares with kernels ---------------------------------------------------------------------

// The accesses of a host loop are one entry: adjacent rows, or rows at equal distances. False: this access does not
// extend the region.
static bool extends(struct sim_region *region, uint64_t address, size_t bytes) {
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

// By the function with this stamp, or by the host in the state `knows`.
static bool is_by(const struct history_entry *p, const struct sim_vector_clock *function,
                  const struct sim_vector_clock *knows) {
  return function ? p->submission == 0 && p->chain == function->component && p->number == function->time
                  : p->submission == knows->submission;
}

static struct history_entry *host_entry(const struct sim_vector_clock *function, const struct sim_vector_clock *knows,
                                        const struct range_access *what) {
  enum { LOOKS_BACK = 16, MOST = 4096 };
  for (size_t i = count; i-- > 0 && i + LOOKS_BACK >= count;) {
    struct history_entry *p = &history[i];
    if (p->kernel == NULL && is_by(p, function, knows) && p->what.pc == what->pc && p->what.writes == what->writes &&
        extends(&p->what.region, row_of(&what->region, 0), what->region.bytes))
      return p;
  }
  if (host_count == MOST)
    return NULL;
  struct history_entry *p = add_transfer(function, what);
  host_count++;
  if (function == NULL)
    p->submission = host_submission = knows->submission;
  return p;
}

// An access of the host, or of a host function that a stream calls: checked against kernels that have run, and
// recorded for those still to come.
static void check_host_access(struct transfer t, const struct sim_vector_clock *function,
                              const struct sim_vector_clock *knows) {
  if (t.first_interval < race_now())
    each_shadow_word(&t.what.region, check_shadow_word, &t);
  const struct history_entry *p = host_entry(function, knows, &t.what);
  if (p && launches_running) {
    struct history_entry last = *p;
    last.what.region = t.what.region;
    each_shadow_word(&t.what.region, record_range_access, &last);
  }
}

void history_host_access(const struct sim_vector_clock *knows, unsigned long version, struct range_access what) {
  static struct {
    unsigned long version;
    size_t count;
    uint32_t interval;
  } asked; // a loop asks the same question again and again
  struct sim_vector_clock now = *knows;
  now.submission = ULONG_MAX; // after everything that the host itself has done
  forget_finished();
  if (asked.version != version || asked.count != count || asked.interval < race_intervals_begin) {
    asked.version = version;
    asked.count = count;
    asked.interval = first_unordered_interval(&now);
  }
  check_host_access((struct transfer){&now, asked.interval, what, true}, NULL, knows);
}

void history_host_function(const struct sim_vector_clock *stamp, struct range_access what) {
  forget_finished();
  if (!stamp->unknown)
    check_host_access((struct transfer){stamp, first_unordered_interval(stamp), what, false}, stamp, NULL);
}

void history_forget_host(void) {
  for (size_t i = 0; i < count; i++)
    history[i].submission = 0; // with chain time 0 as well, it happens before everything later
  host_submission = 0;
}
