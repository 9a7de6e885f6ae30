// SPDX-License-Identifier: MIT
// An inspection on the terminal, at most 80 columns wide.
#include "tool/print/style.h"
#include "tool/print/term.h"
#include "inspect/report/inspection.h"
#include "model/gpu.h"
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

enum { COLUMNS = 80 };

static bool has_access(const InspectLine *line) {
  for (int space = 0; space < SPACES; space++)
    for (int kind = 0; kind < ACCESSES; kind++)
      if (line->access[space][kind].executions)
        return true;
  return false;
}

bool inspect_worth_showing(const InspectLine *line) {
  return has_access(line) || inspect_active(line) < 0.995;
}

// ---- occupancy: arithmetic ---------------------------------------------------------------------------------------------------

InspectSm inspect_sm(const Inspection *i) {
  const struct model_gpu *gpu = i->gpu ? model_gpu_named(i->gpu) : NULL;
  if (!gpu)
    return (InspectSm){.threads = 2048, .blocks = 32, .shared = 233472, .registers = 65536, .reserved = 1024};
  const struct model_architecture *a = gpu->architecture;
  return (InspectSm){.threads = (int)a->threads.value,
                     .blocks = (int)a->blocks.value,
                     .shared = (int)a->shared.value,
                     .registers = (int)a->registers.value,
                     .reserved = a->major >= 8 ? 1024 : 0};
}

static int warps(const InspectKernel *k) {
  return (int)(k->block[0] * k->block[1] * k->block[2] + 31) / 32;
}

int inspect_blocks_by_threads(const InspectSm *sm, const InspectKernel *k) {
  int blocks = sm->threads / (warps(k) * 32);
  return blocks > sm->blocks ? sm->blocks : blocks;
}

int inspect_blocks_by_shared(const InspectSm *sm, const InspectKernel *k) {
  const uint64_t bytes = k->shared_bytes + k->dynamic_bytes + (uint64_t)sm->reserved;
  return bytes ? (int)((uint64_t)sm->shared / bytes) : sm->blocks;
}

// Registers are allocated to warps in units of 256.
int inspect_blocks_by_registers(const InspectSm *sm, const InspectKernel *k, int registers) {
  int warp = (registers * 32 + 255) / 256 * 256;
  return sm->registers / warp / warps(k);
}

double inspect_occupancy(const InspectSm *sm, const InspectKernel *k, int registers) {
  int blocks = inspect_blocks_by_threads(sm, k), shared = inspect_blocks_by_shared(sm, k);
  blocks = shared < blocks ? shared : blocks;
  if (registers && inspect_blocks_by_registers(sm, k, registers) < blocks)
    blocks = inspect_blocks_by_registers(sm, k, registers);
  return blocks * warps(k) / (sm->threads / 32.0);
}

// ---- text --------------------------------------------------------------------------------------------------------------------

void inspect_wrapped(int indent, const char *format, ...) {
  char text[2048];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  int column = COLUMNS;
  for (char *rest = text, *word; (word = strsep(&rest, " "));) {
    int length = (int)strlen(word);
    if (column + 1 + length > COLUMNS) {
      printf("%s%*s%s", word == text ? "" : "\n", indent, "", word);
      column = indent + length;
    } else {
      printf(" %s", word);
      column += 1 + length;
    }
  }
  printf("\n");
}

static void print_finding(const Inspection *i, const InspectFinding *f) {
  char first[300], second[300], third[300], source[72], count[32] = "", command[2048];
  bool two = f->second.file != NULL;
  printf("  %s%-5s%s  %s%s%s", style(f->kind->note ? YELLOW : RED), f->kind->note ? "note" : "ERROR", style(PLAIN),
         style(BOLD), f->kind->title, style(PLAIN));
  if (f->kernel >= 0)
    printf(" (%s)", i->kernels[f->kernel].name);
  printf("\n");
  inspect_spot(i, f->first, first, sizeof first);
  inspect_spot(i, f->second, second, sizeof second);
  if (inspect_times(f) > 1 && strcmp(f->kind->id, "barrier") != 0)
    snprintf(count, sizeof count, ", %llu times", (unsigned long long)inspect_times(f));
  if (f->first.file || f->kernel >= 0)
    inspect_wrapped(9, "%s%s%s: %s%s", first, two ? " and " : "", two ? second : "", f->detail, count);
  else
    inspect_wrapped(9, "%s%s.", f->detail, count);
  for (int n = 0; n < 1 + two; n++) {
    Spot spot = n ? f->second : f->first;
    inspect_source_line(i, spot, source, sizeof source - 12);
    if (*source)
      printf("         %s%4d%s %s\n", style(DIM), spot.line, style(PLAIN), source);
  }
  if (f->third.file)
    inspect_wrapped(9, "Allocated at %s.", inspect_spot(i, f->third, third, sizeof third));
  inspect_wrapped(9, "%s", f->kind->remedy);
  if (inspect_step_command(i, f, command, sizeof command))
    term_command(stdout, "         See it: ", command);
}

void inspect_print_findings(const Inspection *i) {
  int errors = inspection_errors(i), notes = i->finding_count - errors;
  if (errors == 0)
    printf("%sno findings%s", style(GREEN), style(PLAIN));
  else
    printf("%s%d finding%s%s", style(RED), errors, errors == 1 ? "" : "s", style(PLAIN));
  if (notes)
    printf(", %d note%s", notes, notes == 1 ? "" : "s");
  printf("\n");
  for (int n = 0; n < i->finding_count; n++)
    print_finding(i, &i->findings[n]);
}

// "32.0/4.0": sectors or wavefronts per request, and the ideal. True where the ideal is at most half.
static bool ratio(const Tally *t, char *text, size_t bytes) {
  if (!t->executions) {
    *text = '\0';
    return false;
  }
  snprintf(text, bytes, "%.1f/%.1f", (double)t->units / (double)t->executions,
           (double)t->ideal / (double)t->executions);
  return t->units >= 2 * t->ideal;
}

static void print_cell(const Tally *t) {
  char text[32];
  bool poor = ratio(t, text, sizeof text);
  printf(" %s%9s%s%s", poor ? style(YELLOW) : "", text, poor ? "!" : " ", poor ? style(PLAIN) : "");
}

static void print_atomics(const InspectLine *line, int space) {
  const Tally *t = &line->access[space][ATOMIC];
  char text[32];
  if (!t->executions)
    return;
  ratio(t, text, sizeof text);
  inspect_wrapped(13, "%llu atomic requests in %s memory, %s %s; %.1f lanes at one address, at most %llu",
                  (unsigned long long)t->executions, space == SHARED ? "shared" : "global", text,
                  space == SHARED ? "wavefronts" : "sectors", (double)t->same / (double)t->executions,
                  (unsigned long long)t->same_max);
}

static void print_line(const Inspection *i, const InspectLine *line, const char **file) {
  char source[24];
  if (line->spot.file != *file) {
    *file = line->spot.file;
    if (strcmp(*file, i->source) != 0)
      printf("  %s\n", *file);
  }
  inspect_source_line(i, line->spot, source, sizeof source);
  printf("%5d %5.0f%%", line->spot.line, 100 * inspect_active(line));
  for (int space = 0; space < SPACES; space++)
    for (int kind = LOAD; kind <= STORE; kind++)
      print_cell(&line->access[space][kind]);
  printf(" %s%s%s\n", style(DIM), source, style(PLAIN));
  print_atomics(line, GLOBAL);
  print_atomics(line, SHARED);
}

static void print_resources(const Inspection *i, const InspectKernel *k) {
  const InspectSm sm = inspect_sm(i);
  unsigned threads = k->block[0] * k->block[1] * k->block[2];
  printf("\n");
  inspect_wrapped(2, "block: %u threads, %llu + %llu bytes of shared memory (static + dynamic)", threads,
                  (unsigned long long)k->shared_bytes, (unsigned long long)k->dynamic_bytes);
  inspect_wrapped(2, "blocks per SM: at most %d by threads (%d), %d by shared memory (%d KB)",
                  inspect_blocks_by_threads(&sm, k), sm.threads, inspect_blocks_by_shared(&sm, k), sm.shared >> 10);
  if (k->registers)
    inspect_wrapped(2, "registers (ptxas, %s): %d per thread, at most %d blocks per SM; occupancy %.0f %%", i->ptxas,
                    k->registers, inspect_blocks_by_registers(&sm, k, k->registers),
                    100 * inspect_occupancy(&sm, k, k->registers));
  else
    inspect_wrapped(2, "registers unknown: occupancy %.0f %% at 32 per thread, %.0f %% at 64, %.0f %% at 128",
                    100 * inspect_occupancy(&sm, k, 32), 100 * inspect_occupancy(&sm, k, 64),
                    100 * inspect_occupancy(&sm, k, 128));
  if (k->local)
    inspect_wrapped(
        2,
        "local memory: %d bytes per thread, for spilled registers (%d bytes stored) and arrays with a variable "
        "index. Its accesses are not counted.",
        k->local, k->spilled);
}

static void print_limits(const InspectKernel *k) {
  if (k->instrumented < k->blocks)
    inspect_wrapped(
        2,
        "Counts and findings cover the %llu instrumented blocks only. Data races with other blocks, and reads of "
        "memory that only other blocks write, are not detected.",
        (unsigned long long)k->instrumented);
  if (k->instrumented < k->blocks && k->time.launches > 0)
    inspect_wrapped(2,
                    "The modeled time extrapolates from these blocks. It overstates the reads of device memory where "
                    "instrumented blocks read the same data as others.");
  if (k->cut)
    inspect_wrapped(2, "The traces of some threads were cut: counts cover the first 4 million events of a thread.");
}

static void print_kernel(const Inspection *i, const InspectKernel *k) {
  const char *file = i->source;
  printf("\n%s%s%s<<<(%u,%u,%u), (%u,%u,%u)>>>", style(BOLD), k->name, style(PLAIN), k->grid[0], k->grid[1], k->grid[2],
         k->block[0], k->block[1], k->block[2]);
  printf("   %llu launch%s%s\n", (unsigned long long)k->launches, k->launches == 1 ? "" : "es",
         k->shapes_differ ? " (shape of the first)" : "");
  inspect_wrapped(2, "%llu of %llu blocks instrumented", (unsigned long long)k->instrumented,
                  (unsigned long long)k->blocks);
  printf("\n      active   global: sectors/ideal  shared: wavefronts/ideal\n");
  printf(" line  lanes      load      store      load      store    source\n");
  for (int n = 0; n < k->line_count; n++)
    if (inspect_worth_showing(&k->lines[n]))
      print_line(i, &k->lines[n], &file);
  print_resources(i, k);
  inspect_print_time(i, k);
  print_limits(k);
  inspect_print_sass(i, k);
}

void inspect_print(const Inspection *i) {
  inspect_print_findings(i);
  if (i->sampled)
    inspect_wrapped(
        0, "Sampled: this program makes so many accesses that only the first blocks of each kernel were instrumented, "
           "and its host code only in the beginning. --blocks all instruments everything.");
  for (int k = 0; k < i->kernel_count; k++)
    if (i->kernels[k].launches)
      print_kernel(i, &i->kernels[k]);
  if (i->kernel_count == 0)
    printf("No kernel was launched.\n");
}
