// SPDX-License-Identifier: MIT
// What a check expects of what the inspector saw, said with the line of the answer that it is about.
#include "case.h"
#include "inspect/report/inspection.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

const Mistake RACE = {
    "data race",
    "Two threads access the same memory without synchronization, and at least one of them writes. Within a block, call "
    "__syncthreads() between the two accesses. Between blocks, use an atomic operation or a second launch.",
    "docs/32_debugging_kernels.md#missing-barrier-data-race"};
const Mistake STREAMS_APART = {"missing synchronization between streams",
                               "The result depends on which stream runs first. If a stream needs the result of another "
                               "stream, make it wait: call cudaStreamWaitEvent, or synchronize the other stream.",
                               "docs/28_streams.md#streams-and-events"};
const Mistake BARRIER_MISSED = {"divergent barrier",
                                "All threads of a block must reach each __syncthreads(). Put the memory accesses "
                                "inside the if, but not the barrier. No thread may return before the barrier.",
                                "docs/32_debugging_kernels.md#divergent-barrier"};
const Mistake OUT_OF_BOUNDS = {
    "out-of-bounds access", "An index is outside the bounds of an array. Compare it with the size before the access.",
    "docs/32_debugging_kernels.md#out-of-bounds-access"};
const Mistake READ_UNWRITTEN = {"uninitialized read",
                                "A thread reads memory that has never been written, so the value is undefined. Write "
                                "the memory first, even if the value is 0.",
                                "docs/32_debugging_kernels.md#uninitialized-shared-memory"};
const Mistake MISALIGNED_VECTOR = {"misaligned vector access",
                                   "The address of a vector access must be a multiple of the access size, which is 8 "
                                   "or 16 bytes. Otherwise, the kernel fails on a GPU.",
                                   "docs/22_global_memory.md#vectorized-loads-float4"};
const Mistake FREED_BEFORE = {"use after free",
                              "A kernel accesses memory that is already freed. Call cudaFree after the last use.",
                              "docs/32_debugging_kernels.md#use-after-free"};
const Mistake NOT_FREED = {
    "memory leak", "Memory from cudaMalloc is still allocated after the call. Free it with cudaFree before you return.",
    "docs/20_the_first_kernel.md#host-and-device"};
const Mistake BAD_ADDRESS = {"invalid device pointer",
                             "A pointer does not point to device memory. Pass a pointer from cudaMalloc.",
                             "docs/20_the_first_kernel.md#host-and-device"};

bool case_inspected(const Case *c) {
  return c->inspection != NULL;
}

// ---- findings ------------------------------------------------------------------------------------------------------------

bool has_finding(const Case *c, const char *kind) {
  return c->inspection && inspection_finding(c->inspection, kind);
}

// "byte 4 of tile: ..." and "byte 4 of dynamic shared memory: ..."; in global memory "byte 4 of out, which has 64: ..." and "byte 4 of
// 64 in device memory: ...".
static bool is_of_shared(const char *detail) {
  return strstr(detail, "dynamic shared memory: ") ||
         (strncmp(detail, "byte ", 5) == 0 && !strstr(detail, ", which has ") && !strstr(detail, " memory: "));
}

bool has_shared_race(const Case *c) {
  const Inspection *i = c->inspection;
  for (int n = 0; i && n < i->finding_count; n++) {
    const char *id = i->findings[n].kind->id;
    if ((strcmp(id, "race-block") == 0 || strcmp(id, "race-warp") == 0) && is_of_shared(i->findings[n].detail))
      return true;
  }
  return false;
}

// An access that went astray meets others where it lands: a race is no evidence of its own then.
void suspect_finding(Case *c, const char *kind, const Mistake *mistake) {
  const bool astray = has_finding(c, "bounds") || has_finding(c, "misaligned") || has_finding(c, "illegal");
  suspect_sure(c, has_finding(c, kind) && !(astray && strncmp(kind, "race", 4) == 0), mistake);
}

static const Mistake *mistake_of(const InspectFinding *f) {
  static const struct {
    const char *begins;
    const Mistake *mistake;
  } known[] = {{"race", &RACE},
               {"divergent", &BARRIER_MISSED},
               {"bounds", &OUT_OF_BOUNDS},
               {"uninitialized", &READ_UNWRITTEN},
               {"misaligned", &MISALIGNED_VECTOR},
               {"freed", &FREED_BEFORE},
               {"leak", &NOT_FREED},
               {"illegal", &BAD_ADDRESS},
               {"argument", &BAD_ADDRESS}};
  for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
    if (strncmp(f->kind->id, known[i].begins, strlen(known[i].begins)) == 0)
      return known[i].mistake;
  return NULL; // the finding itself says what is wrong
}

// "\n  17  tile[y][x] = in[i];", or nothing where the line is in no source that was given.
static void quote(const Inspection *i, Spot spot, char *text, size_t bytes) {
  char source[160];
  inspect_source_line(i, spot, source, sizeof source);
  *text = '\0';
  if (*source)
    snprintf(text, bytes, "\n%4d  %s", spot.line, source);
}

static void say(const Case *c, const InspectFinding *f, char *text, size_t bytes) {
  const Inspection *i = c->inspection;
  char first[300], second[300], lines[2][200] = {"", ""};
  bool two = f->second.file != NULL;
  if (c->symptoms) {
    snprintf(text, bytes, "the inspector reports an error in %.100s (run ./ferry inspect to see it)",
             f->kernel >= 0 ? i->kernels[f->kernel].name : "the program");
    return;
  }
  quote(i, f->first, lines[0], sizeof lines[0]);
  if (two)
    quote(i, f->second, lines[1], sizeof lines[1]);
  snprintf(text, bytes, "%s in %.100s, %s%s%s:\n%.500s%s%s\n%s", f->kind->title,
           f->kernel >= 0 ? i->kernels[f->kernel].name : "the program", inspect_spot(i, f->first, first, sizeof first),
           two ? " and " : "", two ? inspect_spot(i, f->second, second, sizeof second) : "", f->detail, lines[0],
           lines[1], f->kind->remedy);
}

static void note_step(Case *c, const InspectFinding *f) {
  if (!c->symptoms && !*c->step)
    inspect_step_options(c->inspection, f, c->step, sizeof c->step);
}

void case_add_finding(Case *c) {
  char text[2048];
  const InspectFinding *f = c->inspection ? inspection_finding(c->inspection, NULL) : NULL;
  if (!f)
    return;
  note_step(c, f);
  say(c, f, text, sizeof text);
  if (!c->fallback)
    c->fallback = mistake_of(f);
  size_t used = strlen(c->finding);
  if (!strstr(c->finding, text))
    snprintf(c->finding + used, sizeof c->finding - used, c->symptoms ? "\n%s" : "\nthe inspector found: %s", text);
}

// A kernel that was launched and not looked at would have no fault at all.
static bool was_seen(Case *c) {
  const Inspection *i = c->inspection;
  if (i->kernel_count > 0 || counts(c)->launches == 0)
    return true;
  case_fail(c, NULL, "a kernel was launched, but the inspector saw none");
  return false;
}

bool expect_no_finding(Case *c) {
  char text[2048];
  if (!c->inspection)
    return true;
  const InspectFinding *f = inspection_finding(c->inspection, NULL);
  if (!f)
    return was_seen(c);
  note_step(c, f);
  say(c, f, text, sizeof text);
  int others = inspection_errors(c->inspection) - 1;
  if (!c->fallback)
    c->fallback = mistake_of(f);
  case_fail(c, NULL, others ? "%s\n(and %d more; run ./ferry inspect to see all)" : "%s", text, others);
  return false;
}

// ---- bounds --------------------------------------------------------------------------------------------------------------

// What is added up: a share of `of`, or `part` alone where nothing is to be divided by.
typedef struct Sum {
  double part, of;
} Sum;

static void add_access(Sum *s, const InspectLine *line, int space, int kind) {
  s->part += (double)line->access[space][kind].units;
  s->of += (double)line->access[space][kind].ideal;
}

static void add_line(Sum *s, const InspectLine *line, Inspected what) {
  switch (what) {
  case LOADED_SECTORS:
    add_access(s, line, GLOBAL, LOAD);
    break;
  case STORED_SECTORS:
    add_access(s, line, GLOBAL, STORE);
    break;
  case WAVEFRONTS:
    add_access(s, line, SHARED, LOAD);
    add_access(s, line, SHARED, STORE);
    break;
  case ACTIVE_LANES:
    s->part += (double)line->blocks.lanes;
    s->of += (double)line->blocks.live;
    break;
  case GLOBAL_ATOMICS:
  case SHARED_ATOMICS:
    s->part += (double)line->access[what == GLOBAL_ATOMICS ? GLOBAL : SHARED][ATOMIC].lanes;
    break;
  case SECTORS_LOADED:
    s->part += (double)line->access[GLOBAL][LOAD].units;
    break;
  case SHARED_LOADS:
    s->part += (double)line->access[SHARED][LOAD].lanes;
    break;
  case KERNEL_LAUNCHES:
    break;
  }
}

static bool is_share(Inspected what) {
  return what <= ACTIVE_LANES;
}

static double value_of(Sum s, Inspected what) {
  return !is_share(what) ? s.part : s.of > 0 ? s.part / s.of : 1;
}

static bool is_worse(double a, double than, Inspected what) {
  return what == ACTIVE_LANES ? a < than : a > than;
}

// The worst of the values that are asked for, whose kernel it is, and the line that has most of it.
typedef struct Worst {
  double value;
  const InspectKernel *kernel; // NULL: all together
  const InspectLine *line;     // NULL: none
} Worst;

// What a line adds to it that need not be.
static double excess(const InspectLine *line, Inspected what) {
  Sum s = {0};
  add_line(&s, line, what);
  return what == ACTIVE_LANES ? s.of - s.part : is_share(what) ? s.part - s.of : s.part;
}

static const InspectLine *costliest(const InspectKernel *k, Inspected what, const InspectLine *before) {
  for (int n = 0; n < k->line_count; n++)
    if (excess(&k->lines[n], what) > (before ? excess(before, what) : 0))
      before = &k->lines[n];
  return before;
}

static void take_worse(Worst *w, Worst candidate, Inspected what) {
  if (isnan(w->value) || is_worse(candidate.value, w->value, what))
    *w = candidate;
}

static bool is_meant(const InspectKernel *k, const char *name) {
  size_t length = name ? strlen(name) : 0;
  return !name || (strncmp(k->launch, name, length) == 0 && (k->launch[length] == '\0' || k->launch[length] == '<'));
}

static Worst worst_of(const Inspection *i, Inspected what, Where where) {
  Worst w = {.value = NAN};
  Sum all = {0};
  const InspectLine *line = NULL;
  for (int n = 0; n < i->kernel_count; n++) {
    const InspectKernel *k = &i->kernels[n];
    Sum of_kernel = {.part = what == KERNEL_LAUNCHES ? (double)k->launches : 0};
    if (!is_meant(k, where.kernel))
      continue;
    for (int m = 0; m < k->line_count; m++) {
      Sum of_line = {0};
      add_line(&of_line, &k->lines[m], what);
      add_line(&of_kernel, &k->lines[m], what);
      if (where.each_line)
        take_worse(&w, (Worst){value_of(of_line, what), k, &k->lines[m]}, what);
    }
    all.part += of_kernel.part;
    all.of += of_kernel.of;
    line = costliest(k, what, line);
    if (!where.each_line && !where.in_all)
      take_worse(&w, (Worst){value_of(of_kernel, what), k, costliest(k, what, NULL)}, what);
  }
  if (where.in_all)
    w = (Worst){value_of(all, what), NULL, line};
  return w;
}

double inspected(const Case *c, Inspected what, Where where) {
  return c->inspection ? worst_of(c->inspection, what, where).value : NAN;
}

int64_t inspected_shared(const Case *c, bool asked) {
  int64_t most = -1;
  for (int n = 0; c->inspection && n < c->inspection->kernel_count; n++) {
    const InspectKernel *k = &c->inspection->kernels[n];
    const int64_t bytes = (int64_t)(asked ? k->dynamic_bytes : k->shared_bytes);
    most = bytes > most ? bytes : most;
  }
  return most;
}

static bool any_global_access(const Inspection *i) {
  for (int n = 0; n < i->kernel_count; n++)
    for (int m = 0; m < i->kernels[n].line_count; m++)
      for (int kind = 0; kind < ACCESSES; kind++)
        if (i->kernels[n].lines[m].access[GLOBAL][kind].executions)
          return true;
  return false;
}

static void say_bound(char *text, size_t bytes, Inspected what, double value, double bound) {
  static const char *const of[] = {"sectors loaded from global memory per request",
                                   "sectors stored to global memory per request",
                                   "shared-memory wavefronts per request"};
  static const char *const number[] = {"atomic operations on global memory", "atomic operations on shared memory",
                                       "kernel launches", "sectors loaded from global memory",
                                       "loads from shared memory"};
  if (what == ACTIVE_LANES)
    snprintf(text, bytes, "active lanes: %.0f %%, expected at least %.0f %%", 100 * value, 100 * bound);
  else if (is_share(what))
    snprintf(text, bytes, "%s: %.3g x the ideal, expected at most %.3g x", of[what], value, bound);
  else
    snprintf(text, bytes, "%s: expected at most %.0f, counted %.0f", number[what - GLOBAL_ATOMICS], bound, value);
}

bool expect_inspected(Case *c, Inspected what, Where where, double bound, const Mistake *mistake) {
  char text[256], line[300] = "", at[320] = "", spot[300];
  if (!c->inspection)
    return true;
  if (!was_seen(c))
    return false;
  if (where.kernel && isnan(worst_of(c->inspection, KERNEL_LAUNCHES, where).value)) {
    return case_fail(c, mistake, "the kernel %s was not launched", where.kernel);
  }
  if (what <= STORED_SECTORS && counts(c)->launches > 0 && !any_global_access(c->inspection)) {
    return case_fail(c, mistake, "the inspector saw no access to global memory");
  }
  Worst w = worst_of(c->inspection, what, where);
  if (isnan(w.value) || !is_worse(w.value, bound * (what == ACTIVE_LANES ? 1 - 1e-9 : 1 + 1e-9), what))
    return true;
  say_bound(text, sizeof text, what, w.value, bound);
  if (w.line) {
    quote(c->inspection, w.line->spot, line, sizeof line);
    snprintf(at, sizeof at, "\nmainly at %s", inspect_spot(c->inspection, w.line->spot, spot, sizeof spot));
  }
  return case_fail(c, mistake, "%s%s%.100s%s%s", text, w.kernel ? " in " : "", w.kernel ? w.kernel->name : "", at,
                   line);
}

bool expect_sectors(Case *c, double factor, const Mistake *mistake) {
  return expect_inspected(c, LOADED_SECTORS, (Where){0}, factor, mistake) &&
         expect_inspected(c, STORED_SECTORS, (Where){0}, factor, mistake);
}

bool expect_wavefronts(Case *c, double factor, const Mistake *mistake) {
  return expect_inspected(c, WAVEFRONTS, (Where){0}, factor, mistake);
}

bool expect_lanes(Case *c, double share, const Mistake *mistake) {
  return expect_inspected(c, ACTIVE_LANES, (Where){0}, share, mistake);
}

bool expect_global_atomics(Case *c, int64_t most, const Mistake *mistake) {
  return expect_inspected(c, GLOBAL_ATOMICS, (Where){.in_all = true}, (double)most, mistake);
}

static int64_t threads_of(const InspectKernel *k) {
  return (int64_t)k->grid[0] * k->grid[1] * k->grid[2] * k->block[0] * k->block[1] * k->block[2];
}

bool expect_parallel(Case *c, double share, const Mistake *mistake) {
  for (int n = 0; c->inspection && n < c->inspection->kernel_count; n++)
    if (threads_of(&c->inspection->kernels[n]) == 1)
      return case_fail(c, mistake, "%.100s was launched with a single thread", c->inspection->kernels[n].name);
  return expect_lanes(c, share, mistake);
}

bool expect_threads(Case *c, int64_t least, const Mistake *mistake) {
  int64_t most = 0;
  if (!c->inspection || counts(c)->launches == 0)
    return true;
  if (!was_seen(c))
    return false;
  for (int n = 0; n < c->inspection->kernel_count; n++) {
    const int64_t threads = threads_of(&c->inspection->kernels[n]);
    most = threads > most ? threads : most;
  }
  return expect_at_least(c, "threads in the largest launch", most, least, mistake);
}
