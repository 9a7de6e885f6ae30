// SPDX-License-Identifier: MIT
// Reads records (core/inspect/runtime/record_writer.c), resolves their locations to source lines, and adds them up.
#include "tool/print/usage.h"
#include "inspect/report/inspection.h"
#include <stdlib.h>
#include <string.h>

void *inspect_grown(void *items, int count, size_t bytes) {
  if (count & (count - 1)) // capacity doubles at powers of two
    return items;
  void *more = realloc(items, (size_t)(count ? 2 * count : 1) * bytes);
  if (!more)
    fatal_error("no memory for an inspection");
  return more;
}

static char *copied(const char *text) {
  char *copy = strdup(text);
  if (!copy)
    fatal_error("no memory for an inspection");
  return copy;
}

// ---- lines of the record ---------------------------------------------------------------------------------------------------

enum { FIELDS = 20 };

static int split(char *line, char **field) {
  int count = 0;
  line[strcspn(line, "\n")] = '\0';
  for (char *one; count < FIELDS && (one = strsep(&line, "\t"));)
    field[count++] = one;
  for (int i = count; i < FIELDS; i++)
    field[i] = (char *)"";
  return count;
}

static uint64_t number(const char *text) {
  return strtoull(text, NULL, 10);
}
static uint32_t address(const char *text) {
  return (uint32_t)strtoul(text, NULL, 16);
}

static void request_locations(char **f) {
  if (strcmp(f[0], "site") == 0)
    location_want(address(f[2]));
  if (strcmp(f[0], "finding") == 0)
    for (int i = 3; i <= 5; i++)
      location_want(address(f[i]));
}

enum { MAX_KERNELS = 1024, MAX_FINDINGS = 1024, MAX_BARRIERS = 1024, MAX_LINES = 1 << 14 };

static int kernel_named(Inspection *i, const char *name, const char *launch) {
  for (int k = 0; k < i->kernel_count; k++)
    if (strcmp(i->kernels[k].name, name) == 0)
      return k;
  if (i->kernel_count == MAX_KERNELS)
    return i->kernel_count - 1;
  i->kernels = inspect_grown(i->kernels, i->kernel_count, sizeof *i->kernels);
  i->kernels[i->kernel_count] = (InspectKernel){.name = copied(name), .launch = copied(launch)};
  return i->kernel_count++;
}

// Is the launch's shape possible? Later computations divide by its warps and its resources.
static bool is_launch(char **f) {
  enum { MOST_THREADS = 1024, MOST_SHARED = 1 << 24 };
  uint64_t threads = 1;
  for (int d = 0; d < 6; d++) {
    uint64_t n = number(f[3 + d]);
    if (n == 0 || n > (d < 3 ? INT32_MAX : MOST_THREADS))
      return false;
    threads *= d < 3 ? 1 : n;
  }
  return threads <= MOST_THREADS && number(f[9]) <= MOST_SHARED && number(f[10]) <= MOST_SHARED;
}

static int take_kernel(Inspection *i, char **f, bool counts) {
  int index = kernel_named(i, f[2], *f[16] ? f[16] : f[2]);
  InspectKernel *k = &i->kernels[index];
  for (int d = 0; d < 3; d++) {
    unsigned grid = (unsigned)number(f[3 + d]), block = (unsigned)number(f[6 + d]);
    k->shapes_differ |= k->launches && (grid != k->grid[d] || block != k->block[d]);
    if (!k->launches) {
      k->grid[d] = grid;
      k->block[d] = block;
    }
  }
  uint64_t shared = number(f[9]);
  k->shared_bytes = shared > k->shared_bytes ? shared : k->shared_bytes;
  if (!k->launches)
    k->dynamic_bytes = number(f[10]);
  if (counts) {
    k->launches += number(f[11]);
    k->instrumented += number(f[12]);
    k->blocks += number(f[13]);
  }
  k->shapes_differ |= *f[14] == '1';
  k->cut |= *f[15] == '1';
  return index;
}

static void take_symbol(InspectKernel *k, char **f) {
  if (!k->symbol)
    k->symbol = copied(f[2]);
}

static InspectLine *line_of(InspectKernel *k, Spot spot) {
  for (int i = 0; i < k->line_count; i++)
    if (k->lines[i].spot.file == spot.file && k->lines[i].spot.line == spot.line)
      return &k->lines[i];
  if (k->line_count == MAX_LINES)
    return &k->lines[MAX_LINES - 1];
  k->lines = inspect_grown(k->lines, k->line_count, sizeof *k->lines);
  k->lines[k->line_count] = (InspectLine){.spot = spot};
  return &k->lines[k->line_count++];
}

static void take_site(InspectKernel *k, char **f) {
  Spot spot = location_spot(address(f[2]));
  if (!spot.file)
    return;
  InspectLine *line = line_of(k, spot);
  AccessKind kind = *f[3] == 'r' ? LOAD : *f[3] == 'w' ? STORE : ATOMIC;
  Tally *t = *f[3] == 'b' ? &line->blocks : &line->access[*f[4] == '1'][kind];
  t->executions += number(f[5]);
  t->lanes += number(f[6]);
  t->live += number(f[7]);
  t->units += number(f[8]);
  t->ideal += number(f[9]);
  t->same += number(f[10]);
  t->same_max = number(f[11]) > t->same_max ? number(f[11]) : t->same_max;
}

static void take_barrier(InspectKernel *k, char **f) {
  Spot spot = {location_file(f[2]), atoi(f[3])};
  InspectBarrier *b = NULL;
  for (int i = 0; i < k->barrier_count; i++)
    if (k->barriers[i].spot.file == spot.file && k->barriers[i].spot.line == spot.line)
      b = &k->barriers[i];
  if (!b && k->barrier_count == MAX_BARRIERS)
    return;
  if (!b) {
    k->barriers = inspect_grown(k->barriers, k->barrier_count, sizeof *k->barriers);
    b = &k->barriers[k->barrier_count++];
    *b = (InspectBarrier){.spot = spot};
  }
  b->passes += number(f[4]);
  b->needed += number(f[5]);
}

static void take_mix(InspectKernel *k, char **f) {
  k->mixed = true;
  k->mix.fma += strtod(f[2], NULL);
  k->mix.fp32 += strtod(f[3], NULL);
  k->mix.fp64 += strtod(f[4], NULL);
  k->mix.integer += strtod(f[5], NULL);
  k->mix.special += strtod(f[6], NULL);
  k->mix.control += strtod(f[7], NULL);
}

static void take_counts(InspectKernel *k, char **f) {
  InspectCounters *c = &k->counters;
  c->load_wavefronts += strtod(f[2], NULL);
  c->store_wavefronts += strtod(f[3], NULL);
  c->l2_read_sectors += strtod(f[4], NULL);
  c->dram_read += strtod(f[5], NULL);
  c->dram_written += strtod(f[6], NULL);
  c->instructions += strtod(f[7], NULL);
}

static void take_modeled(InspectKernel *k, char **f) {
  double *counts = (double *)&k->modeled;
  char *at = f[2];
  for (int i = 0; i < MODEL_COUNTS; i++)
    counts[i] += strtod(at, &at);
}

static void take_time(InspectKernel *k, char **f) {
  InspectTime *t = &k->time;
  t->launches += strtod(f[2], NULL);
  t->seconds += strtod(f[3], NULL);
  t->least += strtod(f[4], NULL);
  t->resident = strtod(f[5], NULL);
  t->share = strtod(f[6], NULL);
  t->filled = strtod(f[7], NULL);
  for (int n = 0; n < INSPECT_LIMITS; n++)
    t->term[n] += strtod(f[8 + n], NULL);
  const double uneven = strtod(f[8 + INSPECT_LIMITS], NULL);
  t->uneven = uneven > t->uneven ? uneven : t->uneven;
}

static bool same_spot(Spot a, Spot b) {
  return a.file == b.file && a.line == b.line;
}

// Where ./ferry step can show it.
static void take_place(InspectFinding *f, const InspectFinding *found) {
  if (f->in_block && (f->test || !found->test))
    return;
  f->in_block = found->in_block;
  f->launch = found->launch;
  f->launch_of_name = found->launch_of_name;
  memcpy(f->block, found->block, sizeof f->block);
  f->test = found->test;
}

static void add_finding(Inspection *i, InspectFinding found) {
  for (int n = 0; n < i->finding_count; n++) {
    InspectFinding *f = &i->findings[n];
    bool same = same_spot(f->first, found.first) && same_spot(f->second, found.second);
    bool crossed = same_spot(f->first, found.second) && same_spot(f->second, found.first);
    // Of kernels in two streams, either may come second and have the finding.
    bool of_kernel = f->kernel == found.kernel || strcmp(f->kind->id, "race-stream") == 0;
    if (f->kind == found.kind && of_kernel && (same || crossed)) {
      f->times[0] += found.times[0];
      f->times[1] += found.times[1];
      take_place(f, &found);
      return;
    }
  }
  if (i->finding_count == MAX_FINDINGS)
    return;
  found.detail = strdup(found.detail);
  i->findings = inspect_grown(i->findings, i->finding_count, sizeof *i->findings);
  i->findings[i->finding_count++] = found;
}

// The kernel with this number in the record; -1: none.
static int kernel_of(const int *kernels, int number) {
  return number >= 0 && number < MAX_KERNELS ? kernels[number] : -1;
}

static bool is_of(const Inspection *i, Spot spot) {
  return spot.file && strcmp(spot.file, i->source) == 0;
}

static void swap_spots(Spot *a, Spot *b) {
  const Spot kept = *a;
  *a = *b;
  *b = kept;
}

static void take_finding(Inspection *i, const int *kernels, char **f, bool descending) {
  InspectFinding found = {.kind = inspect_kind(f[2]),
                          .kernel = kernel_of(kernels, atoi(f[1])),
                          .first = location_spot(address(f[3])),
                          .second = location_spot(address(f[4])),
                          .third = location_spot(address(f[5])),
                          .times = {descending ? 0 : number(f[9]), descending ? number(f[9]) : 0},
                          .detail = f[10]};
  if (strcmp(f[6], "-") != 0) {
    found.first = (Spot){location_file(f[6]), atoi(f[7])};
    if (atoi(f[8]))
      found.second = (Spot){found.first.file, atoi(f[8])};
  }
  found.in_block = sscanf(f[13], "%u,%u,%u", &found.block[0], &found.block[1], &found.block[2]) == 3; // NOLINT
  found.launch = (unsigned)number(f[11]);
  found.launch_of_name = (unsigned)number(f[12]);
  found.test = i->step.test;
  if (same_spot(found.first, found.second))
    found.second = (Spot){0};
  // Only this file's calls are shown as the origin of a copy. Races and leaks among libraries or a test's driver are
  // not reported.
  const bool of_streams = found.kind && strcmp(found.kind->id, "race-stream") == 0;
  if (of_streams && found.kernel < 0 && !is_of(i, found.first))
    swap_spots(&found.first, &found.second);
  if (of_streams && !is_of(i, found.second))
    found.second = (Spot){0};
  if (!found.kind ||
      ((strcmp(found.kind->id, "leak") == 0 || (of_streams && found.kernel < 0)) && !is_of(i, found.first)))
    return;
  add_finding(i, found);
}

// Reads a complete record. An answer may have forged it, so a kernel must come before its items.
void inspection_take(Inspection *i, FILE *record, bool descending) {
  static int kernels[MAX_KERNELS]; // the record's kernels, as indices in the inspection
  char line[8192], *f[FIELDS];
  memset(kernels, -1, sizeof kernels);
  rewind(record);
  while (fgets(line, sizeof line, record)) {
    split(line, f);
    uint64_t kernel = number(f[1]);
    if (strcmp(f[0], "finding") == 0)
      take_finding(i, kernels, f, descending);
    else if (strcmp(f[0], "launched") == 0 && !i->launched)
      i->launched = copied(f[2]);
    else if (kernel >= MAX_KERNELS)
      continue;
    else if (strcmp(f[0], "kernel") == 0)
      kernels[kernel] = take_kernel(i, f, !descending);
    else if (kernels[kernel] < 0)
      continue;
    else if (strcmp(f[0], "symbol") == 0)
      take_symbol(&i->kernels[kernels[kernel]], f);
    else if (strcmp(f[0], "site") == 0 && !descending)
      take_site(&i->kernels[kernels[kernel]], f);
    else if (strcmp(f[0], "mix") == 0 && !descending)
      take_mix(&i->kernels[kernels[kernel]], f);
    else if (strcmp(f[0], "counts") == 0 && !descending)
      take_counts(&i->kernels[kernels[kernel]], f);
    else if (strcmp(f[0], "modeled") == 0 && !descending)
      take_modeled(&i->kernels[kernels[kernel]], f);
    else if (strcmp(f[0], "time") == 0 && !descending)
      take_time(&i->kernels[kernels[kernel]], f);
    else if (strcmp(f[0], "barrier") == 0)
      take_barrier(&i->kernels[kernels[kernel]], f);
  }
  i->runs++;
}

bool inspection_want(FILE *record) {
  char line[8192], *f[FIELDS];
  bool whole = false, possible = true;
  rewind(record);
  while (fgets(line, sizeof line, record)) {
    split(line, f);
    request_locations(f);
    whole |= strcmp(f[0], "end") == 0;
    possible &= strcmp(f[0], "kernel") != 0 || is_launch(f);
  }
  return whole && possible;
}

bool inspection_add(Inspection *i, const char *program, const char *folder, const char *record, bool descending) {
  FILE *in = fopen(record, "r");
  if (!in)
    return false;
  locations_forget();
  bool good = inspection_want(in) && locations_resolve(i, program, folder);
  if (good)
    inspection_take(i, in, descending);
  fclose(in);
  return good;
}

void inspection_free(Inspection *i) {
  for (int k = 0; k < i->kernel_count; k++) {
    free(i->kernels[k].name);
    free(i->kernels[k].launch);
    free(i->kernels[k].symbol);
    free(i->kernels[k].sass);
    free(i->kernels[k].code);
    free(i->kernels[k].lines);
    free(i->kernels[k].barriers);
  }
  for (int n = 0; n < i->finding_count; n++)
    free(i->findings[n].detail);
  free(i->kernels);
  free(i->findings);
  free(i->launched);
  *i = (Inspection){0};
}

// ---- at the end ------------------------------------------------------------------------------------------------------------

static int by_line(const void *a, const void *b) {
  const InspectLine *x = a, *y = b;
  if (x->spot.file != y->spot.file)
    return x->spot.file < y->spot.file ? -1 : 1;
  return (x->spot.line > y->spot.line) - (x->spot.line < y->spot.line);
}

static int by_weight(const void *a, const void *b) {
  const InspectFinding *x = a, *y = b;
  if (x->kind->note != y->kind->note)
    return x->kind->note ? 1 : -1;
  if (x->kernel != y->kernel && (x->kernel < 0 || y->kernel < 0)) // leaks come last
    return x->kernel < 0 ? 1 : -1;
  if (x->kernel != y->kernel)
    return (x->kernel > y->kernel) - (x->kernel < y->kernel);
  return x->first.line != y->first.line ? (x->first.line > y->first.line) - (x->first.line < y->first.line)
                                        : (x->kind > y->kind) - (x->kind < y->kind);
}

static void add_barriers(Inspection *i) {
  for (int k = 0; k < i->kernel_count; k++)
    for (int n = 0; n < i->kernels[k].barrier_count; n++) {
      const InspectBarrier *b = &i->kernels[k].barriers[n];
      char detail[80];
      snprintf(detail, sizeof detail, "executed %llu times, ordered nothing", (unsigned long long)b->passes);
      if (b->needed == 0)
        add_finding(i, (InspectFinding){.kind = inspect_kind("barrier"),
                                        .kernel = k,
                                        .first = b->spot,
                                        .times = {b->passes, 0},
                                        .detail = detail});
    }
}

// Writes of the same value in one thread order, or at one location, that differ in another, are a race.
static void drop_equals_that_race(Inspection *i) {
  int kept = 0;
  for (int n = 0; n < i->finding_count; n++) {
    const InspectFinding *f = &i->findings[n];
    bool drop = false;
    for (int m = 0; m < i->finding_count && strcmp(f->kind->id, "equal") == 0; m++) {
      const InspectFinding *g = &i->findings[m];
      drop |= strncmp(g->kind->id, "race-", 5) == 0 && g->kernel == f->kernel &&
              ((same_spot(g->first, f->first) && same_spot(g->second, f->second)) ||
               (same_spot(g->first, f->second) && same_spot(g->second, f->first)));
    }
    if (drop)
      free(f->detail);
    else
      i->findings[kept++] = *f;
  }
  i->finding_count = kept;
}

void inspection_finish(Inspection *i) {
  add_barriers(i);
  drop_equals_that_race(i);
  for (int k = 0; k < i->kernel_count; k++)
    if (i->kernels[k].line_count)
      qsort(i->kernels[k].lines, (size_t)i->kernels[k].line_count, sizeof *i->kernels[k].lines, by_line);
  if (i->finding_count)
    qsort(i->findings, (size_t)i->finding_count, sizeof *i->findings, by_weight);
}
