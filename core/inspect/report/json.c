// SPDX-License-Identifier: MIT
// The report as JSON, one object per line: findings, kernels, source lines. For scripts and CI.
#include "tool/compile/files.h"
#include "tool/print/text.h"
#include "inspect/report/inspection.h"
#include <string.h>

static void text_spot(Text *t, const Inspection *i, const char *prefix, Spot spot) {
  char name[300];
  const char *line = inspect_spot(i, (Spot){spot.file, 0}, name, sizeof name - 2); // "file:0"
  if (!spot.file)
    return;
  name[strlen(line) - 2] = '\0';
  text_add(t, ", \"%sfile\": ", prefix);
  text_json(t, name);
  text_add(t, ", \"%sline\": %d", prefix, spot.line);
}

// "launch": the kernel's name in launches, where several kernels have it.
static void text_name(Text *t, const InspectKernel *k) {
  text_json(t, k->name);
  if (strcmp(k->name, k->launch) != 0) {
    text_add(t, ", \"launch\": ");
    text_json(t, k->launch);
  }
}

static void text_finding(Text *t, const Inspection *i, const InspectFinding *f) {
  char command[2048];
  text_add(t, "{\"type\": \"%s\", \"kind\": \"%s\", \"title\": ", f->kind->note ? "note" : "finding", f->kind->id);
  text_json(t, f->kind->title);
  if (f->kernel >= 0) {
    text_add(t, ", \"kernel\": ");
    text_name(t, &i->kernels[f->kernel]);
  }
  text_spot(t, i, "", f->first);
  text_spot(t, i, "other_", f->second);
  text_spot(t, i, "allocated_", f->third);
  text_add(t, ", \"times\": %llu, \"detail\": ", (unsigned long long)inspect_times(f));
  text_json(t, f->detail);
  text_add(t, ", \"remedy\": ");
  text_json(t, f->kind->remedy);
  if (inspect_step_command(i, f, command, sizeof command)) {
    text_add(t, ", \"step\": ");
    text_json(t, command);
  }
  text_add(t, "}\n");
}

// What the model computes a time from: of a launch, on average.
static void text_modeled(Text *t, const InspectKernel *k) {
  text_add(t, "{\"type\": \"model_counts\", \"kernel\": ");
  text_name(t, k);
  for (int i = 0; i < MODEL_COUNTS; i++)
    text_add(t, ", \"%s\": %.10g", model_count_names[i], ((const double *)&k->modeled)[i] / k->time.launches);
  text_add(t, "}\n");
}

static void text_kernel(Text *t, const Inspection *i, const InspectKernel *k) {
  const InspectSm sm = inspect_sm(i);
  text_add(t, "{\"type\": \"kernel\", \"kernel\": ");
  text_name(t, k);
  text_add(t,
           ", \"grid\": [%u, %u, %u], \"block\": [%u, %u, %u], \"launches\": %llu, \"blocks\": %llu, "
           "\"instrumented_blocks\": %llu, \"looked\": %llu",
           k->grid[0], k->grid[1], k->grid[2], k->block[0], k->block[1], k->block[2], (unsigned long long)k->launches,
           (unsigned long long)k->blocks, (unsigned long long)k->instrumented, (unsigned long long)k->instrumented);
  text_add(t, ", \"static_shared\": %llu, \"dynamic_shared\": %llu", (unsigned long long)k->shared_bytes,
           (unsigned long long)k->dynamic_bytes);
  if (k->mixed)
    text_add(t,
             ", \"fma\": %.0f, \"fp32\": %.0f, \"fp64\": %.0f, \"integer\": %.0f, \"special\": %.0f, \"control\": %.0f",
             k->mix.fma, k->mix.fp32, k->mix.fp64, k->mix.integer, k->mix.special, k->mix.control);
  const InspectCounters *c = &k->counters;
  if (k->time.launches > 0)
    text_add(t,
             ", \"l1_wavefronts_load\": %.0f, \"l1_wavefronts_store\": %.0f, \"l2_sectors_read\": %.0f, "
             "\"device_bytes_read\": %.0f, \"device_bytes_written\": %.0f, \"warp_instructions\": %.0f",
             c->load_wavefronts, c->store_wavefronts, c->l2_read_sectors, c->dram_read, c->dram_written,
             c->instructions);
  if (k->time.launches > 0)
    text_add(t, ", \"modeled_us\": %.6g, \"limit\": \"%s\"", 1e6 * k->time.seconds, inspect_limit(&k->time));
  if (k->registers)
    text_add(t, ", \"registers\": %d, \"local_bytes\": %d, \"spill_bytes\": %d, \"occupancy\": %.4g}\n", k->registers,
             k->local, k->spilled, inspect_occupancy(&sm, k, k->registers));
  else
    text_add(t, ", \"registers\": null, \"occupancy_without_registers\": %.4g}\n", inspect_occupancy(&sm, k, 0));
}

// "sectors_load": per request; "sectors_load_ideal"; "requests_sectors_load": the number of requests.
static void text_tally(Text *t, const char *what, const char *kind, const Tally *y) {
  text_add(t, ", \"%s_%s\": %.6g, \"%s_%s_ideal\": %.6g, \"requests_%s_%s\": %llu", what, kind,
           (double)y->units / (double)y->executions, what, kind, (double)y->ideal / (double)y->executions, what, kind,
           (unsigned long long)y->executions);
  if (y->same)
    text_add(t, ", \"lanes_at_one_address_%s\": %.6g, \"lanes_at_one_address_%s_most\": %llu", what,
             (double)y->same / (double)y->executions, what, (unsigned long long)y->same_max);
}

// Deprecated keys, each beside its replacement: "looked" (instrumented_blocks), "lanes" (active_lanes), and those
// with "passes" (wavefronts).
static void text_line(Text *t, const Inspection *i, const InspectKernel *k, const InspectLine *line) {
  static const char *const what[SPACES] = {"sectors", "wavefronts"}, *const old[SPACES] = {NULL, "passes"};
  static const char *const kinds[ACCESSES] = {"load", "store", "atomic"};
  text_add(t, "{\"type\": \"line\", \"kernel\": ");
  text_name(t, k);
  text_spot(t, i, "", line->spot);
  text_add(t, ", \"active_lanes\": %.6g, \"lanes\": %.6g", inspect_active(line), inspect_active(line));
  for (int space = 0; space < SPACES; space++)
    for (int kind = 0; kind < ACCESSES; kind++)
      if (line->access[space][kind].executions) {
        text_tally(t, what[space], kinds[kind], &line->access[space][kind]);
        if (old[space])
          text_tally(t, old[space], kinds[kind], &line->access[space][kind]);
      }
  text_add(t, "}\n");
}

// {"type": "sass", "kernel": ..., "line": 11, "address": 80, "instruction": "LDG.E R2, ..."}; line 0: code from another file.
static void text_sass(Text *t, const InspectKernel *k) {
  for (int n = 0; n < k->sass_count; n++) {
    text_add(t, "{\"type\": \"sass\", \"kernel\": ");
    text_name(t, k);
    text_add(t, ", \"line\": %d, \"address\": %u, \"instruction\": ", k->sass[n].line, k->sass[n].address);
    text_json(t, k->sass[n].text);
    text_add(t, "}\n");
  }
}

bool inspect_write_json(const Inspection *i, const char *path) {
  Text t = {0};
  for (int n = 0; n < i->finding_count; n++)
    text_finding(&t, i, &i->findings[n]);
  for (int k = 0; k < i->kernel_count; k++) {
    text_kernel(&t, i, &i->kernels[k]);
    if (i->kernels[k].time.launches > 0)
      text_modeled(&t, &i->kernels[k]);
    for (int n = 0; n < i->kernels[k].line_count; n++)
      if (inspect_worth_showing(&i->kernels[k].lines[n]))
        text_line(&t, i, &i->kernels[k], &i->kernels[k].lines[n]);
    text_sass(&t, &i->kernels[k]);
  }
  bool written = file_write(path, t.at ? t.at : "", t.used);
  text_free(&t);
  return written;
}
