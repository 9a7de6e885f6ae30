// SPDX-License-Identifier: MIT
// Writes the record that ./ferry reads: a line per item, fields separated by tabs, program locations as addresses.
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "inspect/simt/counts.h"
#include "inspect/runtime/kernels.h"
#include "inspect/shadow/memory.h"
#include "inspect/mix.h"
#include "inspect/program.h"

// Writes a text as a field: without tabs and line breaks.
static void write_text(FILE *out, const char *before, const char *text) {
  fputs(before, out);
  for (; *text; text++)
    fputc((unsigned char)*text < ' ' ? ' ' : *text, out);
}

// Writes the instruction mix: thread-level counts of FMA, fp32, fp64, integer, SFU, control.
static void write_mix(FILE *out, const struct kernel *k, size_t number) {
  double fma = 0, fp32 = 0, fp64 = 0, integer = 0, special = 0, control = 0;
  for (uint32_t i = 0; i < k->site_room; i++) {
    const struct site *s = &k->sites[i];
    if (s->event == 0 || event_kind(s->event) != EVENT_BLOCK)
      continue;
    const struct mix *m = mix_at(event_pc(s->event));
    const double lanes = (double)s->lanes;
    fma += lanes * m->fma;
    fp32 += lanes * m->fp32;
    fp64 += lanes * m->fp64;
    integer += lanes * (m->integer + m->divisions);
    special += lanes * m->special;
    control += lanes * m->branches;
  }
  if (mix_known())
    fprintf(out, "mix\t%zu\t%.0f\t%.0f\t%.0f\t%.0f\t%.0f\t%.0f\n", number, fma, fp32, fp64, integer, special, control);
}

// Writes what the model has counted, as hardware's counters would: of warps, in all blocks.
static void write_counts(FILE *out, const struct model_counts *c, size_t number) {
  const double instructions = c->loads + c->stores + c->shared + c->atomics + c->fp32 + c->fp64 + c->integer +
                              c->divisions + c->special + c->branches + c->barriers;
  fprintf(out, "counts\t%zu\t%.0f\t%.0f\t%.0f\t%.0f\t%.0f\t%.0f\n", number, c->load_waves, c->store_waves, c->l1_misses,
          c->dram_reads, c->dram_writes, instructions);
}

// The counts themselves, in the order of struct model_counts.
static void write_modeled(FILE *out, const struct model_counts *c, size_t number) {
  fprintf(out, "modeled\t%zu\t", number);
  for (size_t i = 0; i < sizeof *c / sizeof(double); i++)
    fprintf(out, "%s%.10g", i ? " " : "", ((const double *)c)[i]);
  fputc('\n', out);
}

static void write_time(FILE *out, const struct modeled *m, size_t number) {
  fprintf(out, "time\t%zu\t%g\t%g\t%g\t%g\t%g\t%g", number, m->launches, m->seconds, m->least,
          m->resident / m->launches, m->share / m->launches,
          m->stored_sectors ? m->stored_bytes / (32 * m->stored_sectors) : 1);
  for (int i = 0; i < (int)(sizeof m->term / sizeof *m->term); i++)
    fprintf(out, "\t%g", m->term[i]);
  fprintf(out, "\t%g\n", m->uneven);
}

static void write_kernel(FILE *out, const struct kernel *k, size_t number) {
  size_t threads = 0, loops = 0;
  for (int i = 0; i < program_arrays(); i++) {
    threads += k->arrays[i] & IN_THREADS ? program_array(i)->bytes : 0;
    loops += k->arrays[i] & IN_LOOPS ? program_array(i)->bytes : 0;
  }
  const size_t shared = threads > loops ? threads : loops;
  fprintf(out, "kernel\t%zu", number);
  write_text(out, "\t", k->name);
  fprintf(out, "\t%u\t%u\t%u\t%u\t%u\t%u\t%zu\t%zu\t%lu\t%lu\t%lu\t%d\t%d", k->grid[0], k->grid[1], k->grid[2],
          k->block[0], k->block[1], k->block[2], shared, k->dynamic_bytes, (unsigned long)k->launches,
          (unsigned long)k->instrumented, (unsigned long)k->blocks, k->shapes_differ, k->cut);
  write_text(out, "\t", k->launch);
  fputc('\n', out);
  const char *symbol = k->function ? program_symbol(k->function) : NULL;
  if (symbol) {
    fprintf(out, "symbol\t%zu", number);
    write_text(out, "\t", symbol);
    fputc('\n', out);
  }
  for (uint32_t i = 0; i < k->site_room; i++) {
    const struct site *s = &k->sites[i];
    if (s->event == 0)
      continue;
    char kind = event_kind(s->event) == EVENT_BLOCK ? 'b' : is_atomic(s->event) ? 'a' : is_read(s->event) ? 'r' : 'w';
    fprintf(out, "site\t%zu\t%x\t%c\t%d\t%lu\t%lu\t%lu\t%lu\t%lu\t%lu\t%lu\n", number, event_pc(s->event), kind,
            s->shared, (unsigned long)s->executions, (unsigned long)s->lanes, (unsigned long)s->live,
            (unsigned long)s->units, (unsigned long)s->ideal, (unsigned long)s->same, (unsigned long)s->same_max);
  }
  write_mix(out, k, number);
  if (k->modeled) {
    write_time(out, k->modeled, number);
    write_counts(out, &k->modeled->counts, number);
    write_modeled(out, &k->modeled->counts, number);
  }
  for (const struct barrier *b = k->barriers; b; b = b->next) {
    fprintf(out, "barrier\t%zu", number);
    write_text(out, "\t", b->file);
    fprintf(out, "\t%d\t%lu\t%lu\n", b->line, (unsigned long)b->passes, (unsigned long)b->needed);
  }
}

static long number_of(const struct kernel *kernel) {
  for (size_t i = 0; kernels_at(i); i++)
    if (kernels_at(i) == kernel)
      return (long)i;
  return -1;
}

static void write_finding(FILE *out, const struct finding *f) {
  fprintf(out, "finding\t%ld\t%s\t%x\t%x\t%x", number_of(f->kernel), finding_ids[f->kind], f->first, f->second,
          f->third);
  write_text(out, "\t", f->file ? f->file : "-");
  fprintf(out, "\t%d\t%d\t%lu", f->line, f->other_line, (unsigned long)f->count);
  write_text(out, "\t", f->detail);
  if (f->in_block)
    fprintf(out, "\t%u\t%u\t%u,%u,%u", f->launch, f->launch_of_name, f->block[0], f->block[1], f->block[2]);
  fputc('\n', out);
}

bool inspect_died;

static void find_leaks(void) {
  size_t at = 0;
  if (inspect_died) // a crashed program could not free its memory
    return;
  for (const struct allocation *a; (a = memory_live(&at));)
    finding_add(FIND_LEAK, NULL, (struct location){.first = a->pc}, "%zu bytes of %s memory", a->bytes,
                memory_owner(a->owner));
}

// A kernel that runs too early reads memory that the host has not initialized yet: that is one finding, the race.
static bool is_a_race(const struct finding *f) {
  const struct finding *other;
  for (size_t i = 0; f->kind == FIND_UNINITIALIZED_GLOBAL && (other = finding_at(i)); i++)
    if (other->kind == FIND_RACE_HOST && other->second == f->first && other->third == f->third)
      return true;
  return false;
}

// The program may have set a locale with a decimal comma.
static void write_all(FILE *out) {
  const locale_t before = uselocale(newlocale(LC_ALL_MASK, "C", (locale_t)0));
  find_leaks();
  if (inspect_launched_text) {
    write_text(out, "launched\t0\t", inspect_launched_text);
    fputc('\n', out);
  }
  for (size_t i = 0; kernels_at(i); i++)
    write_kernel(out, kernels_at(i), i);
  for (size_t i = 0; finding_at(i); i++)
    if (!finding_at(i)->hidden && !is_a_race(finding_at(i)))
      write_finding(out, finding_at(i));
  fprintf(out, "end\n");
  uselocale(before);
}

void inspect_write_record(void) {
  const char *path = getenv("FERRY_INSPECT_RECORD");
  FILE *out = path ? fopen(path, "w") : NULL;
  if (out == NULL)
    return;
  write_all(out);
  fclose(out);
}

char *inspect_record_text(void) {
  char *text = NULL;
  size_t bytes = 0;
  FILE *out = open_memstream(&text, &bytes);
  if (out == NULL)
    return NULL;
  write_all(out);
  return fclose(out) == 0 ? text : NULL;
}
