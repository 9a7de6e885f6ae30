// SPDX-License-Identifier: MIT
// The report as one self-contained page of HTML: the source with its counts in the margin, warmer the more a line
// costs, and findings where they occur.
#include "tool/compile/files.h"
#include "tool/print/text.h"
#include "inspect/report/inspection.h"
#include <string.h>

static const char *const head =
    "<!doctype html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n"
    "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
    "<style>\n"
    ":root { color-scheme: light dark; --ink: #1a1a1a; --paper: #fff; --dim: #666; --line: #ddd; --heat: 214, 69, 32;\n"
    "  --bad: #a8190c; --note: #7a5c00; --box: #f6f6f6; }\n"
    "@media (prefers-color-scheme: dark) { :root { --ink: #e4e4e4; --paper: #16181b; --dim: #9a9a9a; --line: #333;\n"
    "  --heat: 230, 110, 60; --bad: #ff8a7a; --note: #e6c55a; --box: #202327; } }\n"
    "body { color: var(--ink); background: var(--paper); font: 15px/1.5 system-ui, sans-serif; margin: 2em auto;\n"
    "  max-width: 90em; padding: 0 1em; }\n"
    "table { border-collapse: collapse; font: 13px/1.45 ui-monospace, monospace; }\n"
    ".source { width: 100%; } .wide { overflow-x: auto; }\n"
    "td, th { padding: 0 .6em; text-align: right; white-space: pre; vertical-align: top; }\n"
    "th { font-weight: normal; color: var(--dim); text-align: right; }\n"
    "td.code { text-align: left; width: 100%; border-left: 1px solid var(--line); } td.number { color: var(--dim); }\n"
    "details { color: var(--dim); } summary { cursor: pointer; }\n"
    ".poor { color: var(--bad); font-weight: bold; }\n"
    ".box { white-space: normal; text-align: left; background: var(--box); border-left: 4px solid var(--bad);\n"
    "  margin: .2em 0; padding: .3em .8em; font: 14px/1.45 system-ui, sans-serif; }\n"
    ".note { border-color: var(--note); } .box b { color: var(--bad); } .note b { color: var(--note); }\n"
    "h2 { margin: 1.6em 0 .3em; font-size: 1.1em; } p { margin: .3em 0; }\n"
    "</style>\n";

static void text_finding(Text *t, const Inspection *i, const InspectFinding *f) {
  char spot[300], command[2048];
  text_add(t, "<div class=\"box%s\"><b>", f->kind->note ? " note" : "");
  text_xml(t, f->kind->title);
  text_add(t, "</b> ");
  if (f->kernel >= 0)
    text_xml(t, i->kernels[f->kernel].name);
  text_add(t, ": ");
  if (f->second.file) {
    text_xml(t, inspect_spot(i, f->first, spot, sizeof spot));
    text_add(t, " and ");
    text_xml(t, inspect_spot(i, f->second, spot, sizeof spot));
    text_add(t, ": ");
  }
  text_xml(t, f->detail);
  text_add(t, ". ");
  text_xml(t, f->kind->remedy);
  if (inspect_step_command(i, f, command, sizeof command)) {
    text_add(t, "<br>See it: <code>");
    text_xml(t, command);
    text_add(t, "</code>");
  }
  text_add(t, "</div>\n");
}

// The counts of one source line, of all kernels.
typedef struct Margin {
  Tally access[SPACES][ACCESSES];
  uint64_t lanes, live, cost; // cost: sectors and wavefronts
  bool any;
} Margin;

static void add(Tally *sum, const Tally *t) {
  sum->executions += t->executions;
  sum->units += t->units;
  sum->ideal += t->ideal;
}

static Margin margin_of(const Inspection *i, int line) {
  Margin m = {0};
  for (int k = 0; k < i->kernel_count; k++)
    for (int n = 0; n < i->kernels[k].line_count; n++) {
      const InspectLine *l = &i->kernels[k].lines[n];
      if (l->spot.line != line || strcmp(l->spot.file, i->source) != 0 || !inspect_worth_showing(l))
        continue;
      m.any = true;
      m.lanes += (uint64_t)(1000 * inspect_active(l));
      m.live += 1000;
      for (int space = 0; space < SPACES; space++)
        for (int kind = 0; kind < ACCESSES; kind++) {
          add(&m.access[space][kind], &l->access[space][kind]);
          m.cost += l->access[space][kind].units;
        }
    }
  return m;
}

static void text_cell(Text *t, const Tally *a, const Tally *b) {
  Tally y = *a;
  add(&y, b);
  if (!y.executions)
    text_add(t, "<td></td>");
  else
    text_add(t, "<td%s>%.1f/%.1f</td>", y.units >= 2 * y.ideal ? " class=\"poor\"" : "",
             (double)y.units / (double)y.executions, (double)y.ideal / (double)y.executions);
}

// What nvcc makes of the line, folded.
static void text_sass(Text *t, const InspectKernel *k, int line) {
  int next = 0, count = 0;
  while (inspect_sass_of_line(k, line, &next) >= 0)
    count++;
  if (!count)
    return;
  text_add(t, "<details><summary>%d SASS instruction%s, ", count, count == 1 ? "" : "s");
  text_xml(t, k->name);
  text_add(t, "</summary>");
  next = 0;
  for (int n; (n = inspect_sass_of_line(k, line, &next)) >= 0;) {
    text_add(t, "%04x  ", k->sass[n].address);
    text_xml(t, k->sass[n].text);
    text_add(t, "\n");
  }
  text_add(t, "</details>");
}

static void text_row(Text *t, const Inspection *i, int number, const char *code, size_t length, uint64_t most) {
  static const Tally none;
  Margin m = margin_of(i, number);
  char line[1024];
  snprintf(line, sizeof line, "%.*s", (int)(length < sizeof line ? length : sizeof line - 1), code);
  text_add(t, "<tr id=\"L%d\"", number);
  if (m.cost)
    text_add(t, " style=\"background: rgba(var(--heat), %.2f)\"", 0.04 + 0.4 * (double)m.cost / (double)most);
  text_add(t, ">");
  if (m.any)
    text_add(t, "<td>%.0f%%</td>", 100.0 * (double)m.lanes / (double)m.live);
  else
    text_add(t, "<td></td>");
  for (int space = 0; space < SPACES; space++) { // atomics count with stores
    text_cell(t, &m.access[space][LOAD], &none);
    text_cell(t, &m.access[space][STORE], &m.access[space][ATOMIC]);
  }
  text_add(t, "<td class=\"number\">%d</td><td class=\"code\">", number);
  text_xml(t, line);
  for (int k = 0; k < i->kernel_count; k++)
    text_sass(t, &i->kernels[k], number);
  text_add(t, "</td></tr>\n");
  for (int n = 0; n < i->finding_count; n++) {
    const InspectFinding *f = &i->findings[n];
    if (!f->first.file || strcmp(f->first.file, i->source) != 0 || f->first.line != number)
      continue;
    text_add(t, "<tr><td colspan=\"6\"></td><td class=\"code\">");
    text_finding(t, i, f);
    text_add(t, "</td></tr>\n");
  }
}

static void text_source(Text *t, const Inspection *i) {
  uint64_t most = 1;
  int number = 1;
  for (const char *at = i->text; *at; at += strcspn(at, "\n"), at += *at == '\n') {
    uint64_t cost = margin_of(i, number++).cost;
    most = cost > most ? cost : most;
  }
  text_add(t,
           "<div class=\"wide\"><table class=\"source\">\n<tr><th>active lanes</th><th>global load</th><th>store</th>"
           "<th>shared load</th><th>store</th><th></th><th></th></tr>\n");
  number = 1;
  for (const char *at = i->text; *at; at += strcspn(at, "\n"), at += *at == '\n')
    text_row(t, i, number++, at, strcspn(at, "\r\n"), most);
  text_add(t, "</table></div>\n");
}

static void text_kernel(Text *t, const InspectSm *sm, const InspectKernel *k) {
  text_add(t, "<tr><td class=\"code\">");
  text_xml(t, k->name);
  text_add(t, "</td><td>%u x %u x %u</td><td>%u x %u x %u</td><td>%llu</td><td>%llu of %llu</td><td>%llu + %llu</td>",
           k->grid[0], k->grid[1], k->grid[2], k->block[0], k->block[1], k->block[2], (unsigned long long)k->launches,
           (unsigned long long)k->instrumented, (unsigned long long)k->blocks, (unsigned long long)k->shared_bytes,
           (unsigned long long)k->dynamic_bytes);
  if (k->registers)
    text_add(t, "<td>%d</td><td>%.0f %%</td></tr>\n", k->registers, 100 * inspect_occupancy(sm, k, k->registers));
  else
    text_add(t, "<td>unknown</td><td>at most %.0f %%</td></tr>\n", 100 * inspect_occupancy(sm, k, 0));
}

static void text_page(Text *t, const Inspection *i) {
  const InspectSm sm = inspect_sm(i);
  int errors = inspection_errors(i);
  text_add(t, "%s<title>", head);
  text_xml(t, i->title);
  text_add(t, "</title>\n<h1>");
  text_xml(t, i->title);
  text_add(t,
           "</h1>\n<p>%d finding%s, %d note%s. Counted on a simulated device, in %d runs of the program; no time was "
           "measured.</p>\n",
           errors, errors == 1 ? "" : "s", i->finding_count - errors, i->finding_count - errors == 1 ? "" : "s",
           i->runs);
  for (int n = 0; n < i->finding_count; n++)
    if (!i->findings[n].first.file || strcmp(i->findings[n].first.file, i->source) != 0)
      text_finding(t, i, &i->findings[n]); // in another file
  text_add(
      t,
      "<h2>Kernels</h2>\n<div class=\"wide\"><table><tr><th></th><th>grid</th><th>block</th><th>launches</th>"
      "<th>blocks instrumented</th><th>shared bytes, static + dynamic</th><th>registers</th><th>occupancy</th></tr>\n");
  for (int k = 0; k < i->kernel_count; k++)
    text_kernel(t, &sm, &i->kernels[k]);
  text_add(
      t, "</table></div>\n<h2>Source</h2>\n<p>Active lanes: share of the warp's threads that executed the line. Global "
         "memory: sectors of 32 bytes per request, and the ideal; shared memory: wavefronts per request, and the "
         "ideal. The warmer a line, the more sectors and wavefronts it took.</p>\n");
  text_source(t, i);
  text_add(t, "</html>\n");
}

bool inspect_write_html(const Inspection *i, const char *path) {
  Text t = {0};
  text_page(&t, i);
  bool written = file_write(path, t.at, t.used);
  text_free(&t);
  return written;
}
