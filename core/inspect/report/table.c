// SPDX-License-Identifier: MIT
// The report as a table, one row per kernel: for lessons, and for comparing versions of a kernel.
#include "inspect/report/inspection.h"
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

// Sums over all lines of a kernel.
typedef struct Totals {
  Tally access[SPACES][ACCESSES];
  double lanes; // share of active lanes in basic blocks
  double bytes; // of the sectors, in all of its blocks
} Totals;

static void add_tally(Tally *sum, const Tally *t) {
  sum->executions += t->executions;
  sum->lanes += t->lanes;
  sum->live += t->live;
  sum->units += t->units;
}

static Totals totals(const InspectKernel *k) {
  Totals sum = {.lanes = 1};
  uint64_t lanes = 0, live = 0, sectors = 0;
  for (int n = 0; n < k->line_count; n++)
    for (int space = 0; space < SPACES; space++)
      for (int kind = 0; kind < ACCESSES; kind++)
        add_tally(&sum.access[space][kind], &k->lines[n].access[space][kind]);
  for (int n = 0; n < k->line_count; n++) { // of basic blocks, not of accesses
    lanes += k->lines[n].blocks.lanes;
    live += k->lines[n].blocks.live;
  }
  for (int kind = 0; kind < ACCESSES; kind++)
    sectors += sum.access[GLOBAL][kind].units;
  if (live)
    sum.lanes = (double)lanes / (double)live;
  if (k->instrumented)
    sum.bytes = 32.0 * (double)sectors * (double)k->blocks / (double)k->instrumented;
  return sum;
}

static void print_ratio(int width, const Tally *t) {
  if (t->executions)
    printf(" %*.1f", width, (double)t->units / (double)t->executions);
  else
    printf(" %*s", width, "-");
}

static const char *short_limit(const char *limit) {
  static const char *const names[][2] = {
      {"device memory", "memory"}, {"L2 cache", "L2"}, {"L1 cache and shared memory", "L1"}, {"instructions", "issue"}};
  for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
    if (strcmp(limit, names[i][0]) == 0)
      return names[i][1];
  return limit;
}

static void print_row(const InspectKernel *k, bool modeled) {
  const Totals t = totals(k);
  printf("%-20s %4llu", k->name, (unsigned long long)k->launches);
  for (int space = 0; space < SPACES; space++)
    for (int kind = LOAD; kind <= STORE; kind++)
      print_ratio(5, &t.access[space][kind]);
  printf(" %5.0f%% %8.3f", 100 * t.lanes, t.bytes / 1e6 / (double)(k->launches ? k->launches : 1));
  if (modeled && k->time.seconds > 0)
    printf(" %9.1f %s", 1e6 * k->time.seconds / (double)k->launches, short_limit(inspect_limit(&k->time)));
  printf("\n");
}

static bool is_shown(const InspectKernel *k, const char *only) {
  size_t length = only ? strlen(only) : 0;
  return k->launches && strncmp(k->launch, only ? only : "", length) == 0 &&
         (!length || k->launch[length] == '\0' || k->launch[length] == '<');
}

static void print_label(const char *gpu) {
  printf("times are modeled, from counts and the ");
  for (const char *c = gpu ? gpu : "GPU"; *c; c++)
    putchar(toupper((unsigned char)*c));
  printf("'s data sheet, not measured\n");
}

void inspect_print_table(const Inspection *i, const char *only) {
  bool modeled = false;
  for (int k = 0; k < i->kernel_count; k++)
    modeled |= i->kernels[k].time.seconds > 0;
  if (inspection_errors(i))
    inspect_print_findings(i);
  if (modeled)
    print_label(i->gpu);
  printf("%-20s %4s %11s %11s %6s %8s%s\n", "", "", "sectors", "wavefronts", "active", "MB a",
         modeled ? "     us a" : "");
  printf("%-20s %4s %5s %5s %5s %5s %6s %8s%s\n", "kernel", "runs", "load", "store", "load", "store", "lanes", "launch",
         modeled ? "    launch limit" : "");
  for (int k = 0; k < i->kernel_count; k++)
    if (is_shown(&i->kernels[k], only))
      print_row(&i->kernels[k], modeled);
}
