// What a launch did, as the numbers that a modelled GPU computes a time from: for devices that play one (FERRY_SIM_GPU).
//
// Sectors, wavefronts and barriers are counted. Caches are not simulated: of a block's sectors each is missing from the L1 cache
// once, and of a launch's each from the L2 cache once. Instructions are counted by basic block (mix.c); where nobody has told what
// the blocks compute, each load stands for a multiply-add and an address. Each basic block is a branch.
#include "inspect/inspect.h"

#include <stdlib.h>
#include <string.h>

#include "model/counts.h"
#include "model/kernel.h"
#include "sim/cudasim.h"

// ---- distinct sectors ----------------------------------------------------------------------------------------------------------

struct sectors {
  uint64_t *slots; // a hash table of sector + 1; 0: free
  size_t count, room;
};

bool counts_wanted;
static struct sectors of_block, read_by_launch, written_by_launch;
static double block_sectors; // distinct ones of the blocks that are done, summed

static uint64_t *slot_of(const struct sectors *s, uint64_t sector) {
  size_t i = (size_t)(sector * 0x9e3779b97f4a7c15u >> 20);
  while (s->slots[i & (s->room - 1)] && s->slots[i & (s->room - 1)] != sector + 1)
    i++;
  return &s->slots[i & (s->room - 1)];
}

static void add_sector(struct sectors *s, uint64_t sector) {
  if (2 * s->count >= s->room) {
    const struct sectors old = *s;
    s->room = old.room ? 2 * old.room : 1024;
    s->slots = inspect_allocate(s->room * sizeof *s->slots);
    for (size_t i = 0; i < old.room; i++)
      if (old.slots[i])
        *slot_of(s, old.slots[i] - 1) = old.slots[i];
    free(old.slots);
  }
  uint64_t *slot = slot_of(s, sector);
  s->count += *slot == 0;
  *slot = sector + 1;
}

static void empty(struct sectors *s) {
  if (s->count)
    memset(s->slots, 0, s->room * sizeof *s->slots);
  s->count = 0;
}

void counts_touched(uint32_t key, uint64_t first, uint64_t last) {
  for (uint64_t sector = first; sector <= last; sector++) {
    if (is_read(key))
      add_sector(&of_block, sector);
    add_sector(is_read(key) ? &read_by_launch : &written_by_launch, sector);
  }
}

// ---- addresses that atomics meet at ----------------------------------------------------------------------------------------------

// The L2 cache does what meets at one address one after another, whichever blocks it is from: the busiest address of a launch
// makes them all wait.
struct meeting {
  uint64_t address; // + 1; 0: free
  uint64_t lanes, block;
  bool of_blocks; // more than one: more of them when all are looked at
};
static struct {
  struct meeting *slots;
  size_t count, room;
} meetings;
static uint64_t block_number; // of those that are looked at, from the launch's first

static struct meeting *meeting_of(uint64_t address) {
  size_t i = (size_t)(address * 0x9e3779b97f4a7c15u >> 20);
  while (meetings.slots[i & (meetings.room - 1)].address &&
         meetings.slots[i & (meetings.room - 1)].address != address + 1)
    i++;
  return &meetings.slots[i & (meetings.room - 1)];
}

static void more_meetings(void) {
  struct meeting *old = meetings.slots;
  const size_t room = meetings.room;
  meetings.room = room ? 2 * room : 1024;
  meetings.slots = inspect_allocate(meetings.room * sizeof *meetings.slots);
  for (size_t i = 0; i < room; i++)
    if (old[i].address)
      *meeting_of(old[i].address - 1) = old[i];
  free(old);
}

void counts_met(uint64_t address, unsigned lanes) {
  if (2 * meetings.count >= meetings.room)
    more_meetings();
  struct meeting *m = meeting_of(address);
  meetings.count += m->address == 0;
  m->of_blocks |= m->address && m->block != block_number;
  m->address = address + 1;
  m->block = block_number;
  m->lanes += lanes;
}

static void forget_meetings(void) {
  if (meetings.count)
    memset(meetings.slots, 0, meetings.room * sizeof *meetings.slots);
  meetings.count = 0;
}

// Of the launch, where `more` blocks ran for each that was looked at. Of one block alone nobody knows which addresses others have.
static double hottest(double looked, double more) {
  double most = 0;
  for (size_t i = 0; i < meetings.room; i++) {
    const struct meeting *m = &meetings.slots[i];
    const double lanes = (double)m->lanes * (m->of_blocks || looked < 2 ? more : 1);
    most = m->address && lanes > most ? lanes : most;
  }
  return most;
}

void counts_end_block(void) {
  block_sectors += (double)of_block.count;
  block_number++;
  empty(&of_block);
}

// ---- totals --------------------------------------------------------------------------------------------------------------------

static void add_accesses(struct model_counts *c, const struct site *s) {
  const double runs = (double)s->runs, units = (double)s->units;
  if (s->shared && is_atomic(s->key)) {
    c->shared += runs;
    c->shared_passes += (double)s->same;
  } else if (s->shared) {
    c->shared += runs;
    c->shared_waves += units;
  } else if (is_atomic(s->key)) {
    c->atomics += runs;
    c->atomic_sectors += units;
    c->atomic_passes += (double)s->same;
  } else if (is_read(s->key)) {
    c->loads += runs;
    c->load_sectors += units;
    c->load_lines += (double)s->lines;
    c->load_waves += (double)s->waves;
  } else {
    c->stores += runs;
    c->store_sectors += units;
    c->store_lines += (double)s->lines;
    c->store_waves += (double)s->waves;
    c->store_bytes += (double)s->bytes;
  }
}

static void add_block(struct model_counts *c, const struct site *s) {
  const double runs = (double)s->runs;
  const struct mix *m = mix_at(key_place(s->key));
  c->branches += runs;
  c->fp32 += runs * m->fp32;
  c->fp64 += runs * m->fp64;
  c->integer += runs * m->integer;
  c->special += runs * m->special;
  c->divisions += runs * m->divisions;
}

// Of all launches of the kernel up to now.
static struct model_counts totals(const struct kernel *k) {
  struct model_counts c = {.blocks = 0};
  for (uint32_t i = 0; i < k->site_room; i++) {
    const struct site *s = &k->sites[i];
    if (s->key && key_kind(s->key) == EVENT_BLOCK)
      add_block(&c, s);
    else if (s->key)
      add_accesses(&c, s);
  }
  for (const struct barrier *b = k->barriers; b; b = b->next)
    c.barriers += (double)b->passes;
  return c;
}

void counts_begin_launch(struct launch *launch) {
  counts_wanted = cudasim_plays_gpu();
  if (!counts_wanted)
    return;
  launch->before = inspect_allocate(sizeof *launch->before);
  *launch->before = totals(launch->kernel);
  empty(&read_by_launch);
  empty(&written_by_launch);
  forget_meetings();
  block_sectors = 0;
}

static double static_shared(const struct kernel *k) {
  double bytes = 0;
  for (int i = 0; i < program_arrays(); i++)
    bytes += k->arrays[i] ? (double)program_array(i)->bytes : 0;
  return bytes;
}

// `c` less what was before, for all blocks of the launch.
static void scale(struct model_counts *c, const struct model_counts *before, double factor) {
  double *values = (double *)c;
  const double *old = (const double *)before;
  for (size_t i = 0; i < sizeof *c / sizeof(double); i++)
    values[i] = (values[i] - old[i]) * factor;
}

static void add_time(struct kernel *k, const struct model_counts *c, const struct model_time *t) {
  const struct model_gpu *gpu = model_gpu_named(getenv("FERRY_SIM_GPU"));
  if (k->modelled == NULL)
    k->modelled = inspect_allocate(sizeof *k->modelled);
  struct modelled *m = k->modelled;
  m->seconds += t->seconds;
  for (int i = 0; i < MODEL_LIMITS; i++)
    m->term[i] += t->term[i];
  m->least += gpu ? gpu->least.value * 1e-6 : 0;
  m->resident += t->resident;
  m->share += t->share;
  m->launches++;
  m->stored_sectors += c->store_sectors;
  m->stored_bytes += c->store_bytes;
}

void counts_end_launch(struct launch *launch) {
  if (launch->before == NULL)
    return;
  const double looked = launch->end - launch->first, all = launch->end_run - launch->first_run;
  struct model_counts c = totals(launch->kernel);
  c.barriers *= ((double)launch->threads + WARP - 1) / WARP;
  launch->before->barriers *= ((double)launch->threads + WARP - 1) / WARP;
  scale(&c, launch->before, looked > 0 ? all / looked : 0);
  const double more = looked > 0 ? all / looked : 0;
  c.atomic_hottest = hottest(looked, more);
  c.blocks = all;
  c.threads = launch->threads;
  c.shared_bytes = static_shared(launch->kernel) + (double)launch->dynamic_bytes;
  c.l1_misses = block_sectors * more;
  c.dram_reads = 32 * (double)read_by_launch.count * more;
  c.dram_writes = 32 * (double)written_by_launch.count * more;
  if (!mix_known()) {
    c.fp32 = c.loads + c.shared;
    c.integer = 2 * (c.loads + c.stores + c.shared) + c.branches;
  }
  free(launch->before);
  struct model_time time;
  if (cudasim_counts(&c, &time))
    add_time(launch->kernel, &c, &time);
}
