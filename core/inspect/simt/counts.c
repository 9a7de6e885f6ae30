// SPDX-License-Identifier: MIT
// The counts of a launch, from which a modeled GPU computes a time (FERRY_SIM_GPU, core/model).
//
// Sectors, wavefronts and barriers are counted. Caches are not simulated: each sector misses the L1 cache once per
// block, and the L2 cache once per launch. Instructions are counted per basic block (mix.c); where the mix is
// unknown, each load stands for a multiply-add and an address computation, and each basic block is a branch.
#include "inspect/simt/counts.h"
#include "inspect/mix.h"
#include "inspect/program.h"

#include <stdlib.h>
#include <string.h>

#include "model/kernel.h"
#include "sim/base/cudasim.h"

// ---- distinct sectors ----------------------------------------------------------------------------------------------------------

struct sectors {
  uint64_t *slots; // hash table of sector + 1; 0: free
  size_t count, room;
};

// An address in global memory, and the lanes that accessed it atomically.
struct atomic_address {
  uint64_t address; // + 1; 0: free
  uint64_t lanes, block;
  bool of_blocks; // several: the count grows with the number of blocks
};

struct atomic_addresses {
  struct atomic_address *slots; // hash table
  size_t count, room;
};

// The counts of a launch. Launches of one kernel may overlap, and share its sites: `sum` has what was counted until
// the last switch between them, `start` the sites' values at the switch.
struct counted {
  struct model_counts sum, start;
  struct sectors read, written;
  struct atomic_addresses atomics;
  uint64_t block;       // the instrumented block: its number among the instrumented ones
  double block_sectors; // distinct sectors, summed over the blocks that have ended
};

bool counts_wanted;
static struct sectors of_block;
static struct counted *now_counted; // of the launch whose block is instrumented

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

void counts_touched(uint32_t event, uint64_t first, uint64_t last) {
  for (uint64_t sector = first; sector <= last; sector++) {
    if (is_read(event))
      add_sector(&of_block, sector);
    add_sector(is_read(event) ? &now_counted->read : &now_counted->written, sector);
  }
}

// ---- addresses of atomics ------------------------------------------------------------------------------------------------

// The L2 cache serializes atomics at one address, whichever blocks they come from: the most frequent address of a
// launch delays them all.
static struct atomic_address *atomic_address_of(const struct atomic_addresses *all, uint64_t address) {
  size_t i = (size_t)(address * 0x9e3779b97f4a7c15u >> 20);
  while (all->slots[i & (all->room - 1)].address && all->slots[i & (all->room - 1)].address != address + 1)
    i++;
  return &all->slots[i & (all->room - 1)];
}

static void grow_atomic_addresses(struct atomic_addresses *all) {
  const struct atomic_addresses old = *all;
  all->room = old.room ? 2 * old.room : 1024;
  all->slots = inspect_allocate(all->room * sizeof *all->slots);
  for (size_t i = 0; i < old.room; i++)
    if (old.slots[i].address)
      *atomic_address_of(all, old.slots[i].address - 1) = old.slots[i];
  free(old.slots);
}

void counts_atomic(uint64_t address, unsigned lanes) {
  if (now_counted == NULL)
    return;
  struct atomic_addresses *all = &now_counted->atomics;
  if (2 * all->count >= all->room)
    grow_atomic_addresses(all);
  struct atomic_address *m = atomic_address_of(all, address);
  all->count += m->address == 0;
  m->of_blocks |= m->address && m->block != now_counted->block;
  m->address = address + 1;
  m->block = now_counted->block;
  m->lanes += lanes;
}

// The most frequent address, scaled to the launch: `more` blocks ran per instrumented block. A single block does not
// show which addresses blocks share.
static double hottest(const struct atomic_addresses *all, double instrumented, double more) {
  double most = 0;
  for (size_t i = 0; i < all->room; i++) {
    const struct atomic_address *m = &all->slots[i];
    const double lanes = (double)m->lanes * (m->of_blocks || instrumented < 2 ? more : 1);
    most = m->address && lanes > most ? lanes : most;
  }
  return most;
}

void counts_end_block(void) {
  if (now_counted) {
    now_counted->block_sectors += (double)of_block.count;
    now_counted->block++;
  }
  empty(&of_block);
}

// `detach_launch` and `scale` treat the struct as an array: every member must be a double.
enum { COUNTS = 31 };
_Static_assert(sizeof(struct model_counts) == COUNTS * sizeof(double), "struct model_counts is an array of doubles");

// ---- totals --------------------------------------------------------------------------------------------------------------------

static void add_accesses(struct model_counts *c, const struct site *s) {
  const double runs = (double)s->executions, units = (double)s->units;
  if (s->shared && is_atomic(s->event)) {
    c->shared += runs;
    c->shared_passes += (double)s->same;
  } else if (s->shared) {
    c->shared += runs;
    c->shared_waves += units;
  } else if (is_atomic(s->event)) {
    c->atomics += runs;
    c->atomic_sectors += units;
    c->atomic_passes += (double)s->same;
  } else if (is_read(s->event)) {
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
  const double runs = (double)s->executions;
  const struct mix *m = mix_at(event_pc(s->event));
  c->branches += mix_known() ? runs * m->branches : runs;
  c->fp32 += runs * m->fp32;
  c->fp64 += runs * m->fp64;
  c->integer += runs * m->integer;
  c->special += runs * m->special;
  c->divisions += runs * m->divisions;
}

// Of all launches of the kernel so far.
static struct model_counts totals(const struct kernel *k) {
  struct model_counts c = {.blocks = 0};
  for (uint32_t i = 0; i < k->site_room; i++) {
    const struct site *s = &k->sites[i];
    if (s->event && event_kind(s->event) == EVENT_BLOCK)
      add_block(&c, s);
    else if (s->event)
      add_accesses(&c, s);
  }
  for (const struct barrier *b = k->barriers; b; b = b->next)
    c.barriers += (double)b->passes;
  return c;
}

// The kernel's sites stop counting for the launch that they counted for.
static void detach_launch(struct kernel *k) {
  if (k->counting == NULL)
    return;
  const struct model_counts now = totals(k);
  double *sum = (double *)&k->counting->counted->sum;
  const double *then = (const double *)&k->counting->counted->start;
  for (size_t i = 0; i < COUNTS; i++)
    sum[i] += ((const double *)&now)[i] - then[i];
  k->counting = NULL;
}

void counts_begin_launch(struct launch *launch) {
  counts_wanted = cudasim_models_gpu();
  if (counts_wanted)
    launch->counted = inspect_allocate(sizeof *launch->counted);
}

void counts_begin_block(struct launch *launch) {
  struct kernel *k = launch->kernel;
  now_counted = launch->counted;
  if (launch->counted == NULL || k->counting == launch)
    return;
  detach_launch(k);
  launch->counted->start = totals(k);
  k->counting = launch;
}

static double static_shared(const struct kernel *k) {
  double bytes = 0;
  for (int i = 0; i < program_arrays(); i++)
    bytes += k->arrays[i] ? (double)program_array(i)->bytes : 0;
  return bytes;
}

static void scale(struct model_counts *c, double factor) {
  for (size_t i = 0; i < COUNTS; i++)
    ((double *)c)[i] *= factor;
}

static void add_time(struct kernel *k, const struct model_counts *c, const struct model_time *t, double uneven) {
  const struct model_gpu *gpu = model_gpu_named(getenv("FERRY_SIM_GPU"));
  if (k->modeled == NULL)
    k->modeled = inspect_allocate(sizeof *k->modeled);
  struct modeled *m = k->modeled;
  for (size_t i = 0; i < COUNTS; i++)
    ((double *)&m->counts)[i] += ((const double *)c)[i];
  m->seconds += t->seconds;
  for (int i = 0; i < MODEL_LIMITS; i++)
    m->term[i] += t->term[i];
  m->least += gpu ? gpu->least.value * 1e-6 : 0;
  m->resident += t->resident;
  m->share += t->share;
  m->launches++;
  m->uneven = uneven > m->uneven ? uneven : m->uneven;
  m->stored_sectors += c->store_sectors;
  m->stored_bytes += c->store_bytes;
}

void counts_end_launch(struct launch *launch) {
  if (launch->counted == NULL)
    return;
  if (launch->kernel->counting == launch)
    detach_launch(launch->kernel);
  const double instrumented = launch->end - launch->first, all = launch->end_instance - launch->first_instance;
  double more = instrumented > 0 ? all / instrumented : 0, uneven = 1;
  if (inspect_scored && instrumented < all && launch->instrumented_calls > 0) {
    uneven = (double)launch->calls / (double)launch->instrumented_calls / more;
    more *= uneven;
  }
  struct counted *own = launch->counted;
  struct model_counts c = own->sum;
  c.barriers *= (launch->threads + WARP - 1) / WARP; // each warp
  scale(&c, more);
  c.atomic_hottest = hottest(&own->atomics, instrumented, more);
  c.blocks = all;
  c.threads = launch->threads;
  c.registers = launch->kernel->registers;
  c.shared_bytes = static_shared(launch->kernel) + (double)launch->dynamic_bytes;
  c.l1_misses = own->block_sectors * more;
  c.dram_reads = 32 * (double)own->read.count * more;
  c.dram_writes = 32 * (double)own->written.count * more;
  if (!mix_known()) {
    c.fp32 = c.loads + c.shared;
    c.integer = 2 * (c.loads + c.stores + c.shared) + c.branches;
  }
  free(own->read.slots);
  free(own->written.slots);
  free(own->atomics.slots);
  free(own);
  struct model_time time;
  if (cudasim_counts(&c, &time))
    add_time(launch->kernel, &c, &time, uneven);
}
