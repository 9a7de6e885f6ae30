// SPDX-License-Identifier: MIT
// The page of a step: its title, the source, the warps, and what the inspector found. Its values are in page_values.c.
#include "step/page.h"
#include "step/step.h"
#include "step/format.h"
#include "tool/print/style.h"
#include "tool/print/term.h"
#include <stdlib.h>
#include <string.h>

enum { MOST_LINE = 400, LEAST_COLUMNS = 80, MOST_CONTEXT = 12, PLENTY = 1000 };

void page_wrapped(Text *page, const char *style, int columns, int indent, const char *text) {
  for (int column = 0; *text; column = indent) {
    const size_t all = strlen(text), bytes = term_fitting(text, all, columns - column);
    text_add(page, "%*s%s%.*s" STEP_STYLE_PLAIN "\n", column, "", style, (int)bytes, text);
    text += bytes + strspn(text + bytes, " ");
  }
}

// ---- the title -------------------------------------------------------------------------------------------------------------

static void title(const Record *r, int step, const StepView *view, Text *page) {
  char left[200], right[120];
  snprintf(right, sizeof right, "step %d/%d  barriers %d  one order of many", step, r->step_count - 1,
           step_barriers(r, step));
  snprintf(left, sizeof left, "%.80s block %d,%d,%d launch %d", r->kernel, r->at[0], r->at[1], r->at[2], r->launch);
  const int room = view->columns - term_columns(right, strlen(right)) - 2;
  text_add(page, STEP_STYLE_BOLD "%-*.*s" STEP_STYLE_PLAIN "  %s\n", room, room, left, right);
}

// ---- the source ------------------------------------------------------------------------------------------------------------

// With blanks for tabs. Returns the column in which byte `at` is then.
static int expand(const char *line, char *to, int at) {
  int column = 0, found = 0;
  for (int i = 0; line[i] && column < MOST_LINE - 10; i++) {
    found = i == at ? column : found;
    if (line[i] == '\t')
      do
        to[column++] = ' ';
      while (column % 8);
    else
      to[column++] = line[i];
  }
  to[column] = '\0';
  return found;
}

// The step whose line is shown: of what the block does, the last one that has a line.
static int shown_step(const Record *r, int step) {
  int at = step;
  while (at > 0 && step_line(r, at) == 0)
    at--;
  return at;
}

// Below a line of which the step did only a part.
static void underline(const StepStatement *s, const char *line, Text *page) {
  char wide[MOST_LINE];
  const int begin = expand(line, wide, s->column), length = (int)strlen(line);
  const int first = (int)strspn(line, " \t"), end = s->column + s->length;
  if (s->end != s->line || s->length == 0 || end > length ||
      (s->column <= first && (int)strspn(line + end, "; \t{}") == length - end))
    return;
  text_add(page, "%*s" STEP_STYLE_YELLOW, begin + 7, "");
  for (int i = 0; i < s->length; i++)
    text_add(page, "^");
  text_add(page, STEP_STYLE_PLAIN "\n");
}

static const StepFile *file_of_frame(const Record *r, int step, int depth) {
  const int function = step_frame_function(r, step, depth);
  return function < 0 ? NULL : &r->files[r->functions[function].file];
}

static void calls(const Record *r, int at, Text *page) {
  for (int depth = 0; depth < r->steps[at].call_count; depth++) {
    const StepFile *file = file_of_frame(r, at, depth);
    const int line = step_frame_line(r, at, depth), function = step_frame_function(r, at, depth);
    char wide[MOST_LINE] = "";
    if (file && line >= 1 && line <= file->line_count)
      expand(file->lines[line - 1], wide, 0);
    text_add(page, STEP_STYLE_DIM " called in %s, line %d:  %s" STEP_STYLE_PLAIN "\n", r->functions[function].name,
             line, wide + strspn(wide, " "));
  }
}

static void source(const Record *r, int step, int context, Text *page) {
  const int at = shown_step(r, step), line = step_line(r, at);
  const Step *s = &r->steps[at];
  const StepFile *file = file_of_frame(r, at, s->call_count);
  calls(r, at, page);
  if (!file || line == 0)
    return;
  for (int i = line - context; i <= line + context; i++) {
    char wide[MOST_LINE];
    if (i < 1 || i > file->line_count)
      continue;
    expand(file->lines[i - 1], wide, 0);
    text_add(page, "%s%c%5d %s" STEP_STYLE_PLAIN "\n", i == line ? STEP_STYLE_YELLOW : STEP_STYLE_PLAIN,
             i != line    ? ' '
             : at == step ? '>'
                          : ':',
             i, wide);
    if (i == line && at == step && s->statement >= 0)
      underline(&r->statements[s->statement], file->lines[i - 1], page);
  }
}

// ---- the warps -------------------------------------------------------------------------------------------------------------

static void strip(const Record *r, int step, int warp, Text *page) {
  char signs[STEP_LANES + 1];
  const bool now = r->steps[step].warp == warp && r->steps[step].mask;
  step_signs(r, step, warp, signs);
  text_add(page, "%s%c warp %-3d ", now ? STEP_STYLE_BOLD : STEP_STYLE_PLAIN, now ? '>' : ' ', warp);
  for (int i = 0; i < STEP_LANES; i += 8)
    text_add(page, " %.8s", signs + i);
  text_add(page, STEP_STYLE_PLAIN);
}

static void lanes_of_step(const Record *r, int step, bool named, char *to, size_t bytes) {
  const Step *s = &r->steps[step];
  char name[40] = "";
  if (named)
    snprintf(name, sizeof name, "warp %d: ", s->warp);
  snprintf(to, bytes, "  %s%d of %d lanes%s%s", name, __builtin_popcount(s->mask),
           __builtin_popcount(step_warp_mask(r, s->warp)),
           s->kind == 'e'                         ? " return"
           : step_is(r, step, STEP_DIVERGENCE)    ? ", diverged"
           : step_is(r, step, STEP_RECONVERGENCE) ? ", reconverged"
                                                  : "",
           s->kind == 'r' ? " (after the call)" : "");
}

static void warps(const Record *r, int step, const StepView *view, int rows, Text *page) {
  enum { WIDTH = 46 };
  const int side = view->columns >= 3 * WIDTH ? 2 : 1; // side by side
  const int here = r->steps[step].warp < 0 ? 0 : r->steps[step].warp;
  int fitting = rows * side;
  if (fitting < 1)
    return;
  if (fitting >= r->warps - 1) // a row would say that one is left out
    fitting = r->warps;
  int first = here - fitting / 2;
  first = first < 0 ? 0 : first > r->warps - fitting ? r->warps - fitting : first;
  text_add(page, STEP_STYLE_DIM
           "            0        8        16       24  # now . elsewhere | barrier - done" STEP_STYLE_PLAIN "\n");
  const int lines = (fitting + side - 1) / side;
  for (int i = 0; i < lines; i++) {
    char count[100] = "";
    for (int j = 0; j < side && i + j * lines < fitting; j++) {
      const int warp = first + i + j * lines;
      text_add(page, j ? "   " : "");
      strip(r, step, warp, page);
      if (warp == r->steps[step].warp && r->steps[step].mask)
        lanes_of_step(r, step, side > 1, count, sizeof count);
    }
    text_add(page, "%s\n", count);
  }
  if (fitting < r->warps)
    text_add(page, STEP_STYLE_DIM "  %d of %d warps" STEP_STYLE_PLAIN "\n", fitting, r->warps);
}

// ---- what happens to the block ---------------------------------------------------------------------------------------------

// The last step of a thread up to the step; -1: it has not begun.
static int step_of_thread(const Record *r, int step, int thread) {
  int at = step_of_warp(r, step, thread / STEP_LANES);
  while (at >= 0 && !(r->steps[at].mask >> thread % STEP_LANES & 1))
    at = r->steps[at].previous;
  return at;
}

typedef struct Place {
  int line, threads, first;
  bool waits;
} Place;

// Where the block's threads are when it ends early.
static void places(const Record *r, int step, int columns, Text *page) {
  Place found[16];
  int count = 0;
  for (int thread = 0; thread < r->threads; thread++) {
    char signs[STEP_LANES + 1];
    const int warp = thread / STEP_LANES, lane = thread % STEP_LANES;
    const int at = step_of_thread(r, step, thread);
    int i = 0;
    step_signs(r, step, warp, signs);
    if (at < 0 || r->steps[at].kind == 'e')
      continue;
    const Place here = {step_line(r, at), 0, thread, signs[lane] == '|'};
    while (i < count && (found[i].line != here.line || found[i].waits != here.waits))
      i++;
    if (i == 16)
      continue;
    if (i == count)
      found[count++] = here;
    found[i].threads++;
  }
  for (int i = 0; i < count; i++) {
    char text[160];
    snprintf(text, sizeof text, "   line %d: %d thread%s %s, the first is thread %d", found[i].line, found[i].threads,
             found[i].threads == 1 ? "" : "s",
             found[i].waits          ? "at the barrier"
             : found[i].threads == 1 ? "is here"
                                     : "are here",
             found[i].first);
    page_wrapped(page, "", columns, 5, text);
  }
}

static void block_step(const Record *r, int step, const StepView *view, Text *page) {
  const Step *s = &r->steps[step];
  char text[600];
  if (s->kind == 'b') {
    snprintf(text, sizeof text, "==== barrier %d opens%s%.500s", step_barriers(r, step), *s->text ? ": " : "", s->text);
    page_wrapped(page, STEP_STYLE_BOLD, view->columns, 5, text);
  } else if (s->kind == 'd') {
    snprintf(text, sizeof text, "!!!! the block ends early%s%.500s", *s->text ? ": " : "", s->text);
    page_wrapped(page, STEP_STYLE_RED, view->columns, 5, text);
    places(r, step, view->columns, page);
  }
  if (step == r->step_count - 1 && strcmp(r->end, "limit") == 0)
    text_add(page, " the record ends here, at its limit of %d steps; the program went on\n", r->limit);
}

// ---- findings --------------------------------------------------------------------------------------------------------------

static void side(const Record *r, const char *name, int step, int thread, uint32_t lanes, int columns, Text *page) {
  char list[128], text[MOST_LINE] = "", whole[2 * MOST_LINE], who[200] = "";
  if (step < 0)
    return;
  const int own = step_line(r, step) || thread < 0 ? -1 : step_of_thread(r, step, thread);
  const int at = own >= 0 ? own : shown_step(r, step), line = step_line(r, at);
  const StepFile *file = file_of_frame(r, at, r->steps[at].call_count);
  if (file && line >= 1 && line <= file->line_count)
    expand(file->lines[line - 1], text, 0);
  step_lane_list(lanes, list, sizeof list);
  if (lanes & (lanes - 1))
    snprintf(who, sizeof who, ", warp %d, lanes %s", r->steps[step].warp, list);
  else if (thread >= 0)
    snprintf(who, sizeof who, ", thread %d", thread);
  snprintf(whole, sizeof whole, "   %s step %d%s, line %d:  %s", name, step, who, line, text + strspn(text, " "));
  page_wrapped(page, "", columns, 15, whole);
}

static void findings(const Record *r, int step, const StepView *view, int rows, Text *page) {
  const size_t before = page->used;
  for (int i = 0; i < r->finding_count; i++) {
    const StepFinding *f = &r->findings[i];
    char text[600];
    if (f->step != step && f->other_step != step)
      continue;
    snprintf(text, sizeof text, "!! finding %d, %.80s: %.400s", i + 1, f->title, f->text);
    page_wrapped(page, STEP_STYLE_RED, view->columns, 3, text);
    if (f->other_step < 0)
      continue;
    side(r, f->step == step ? "this step: " : "it was at: ", f->step, f->thread, f->lanes, view->columns, page);
    side(r, f->step == step ? "other side:" : "this step: ", f->other_step, f->other, f->other_lanes, view->columns,
         page);
  }
  int lines = 0;
  for (size_t i = before; i < page->used; i++)
    if (page->at[i] == '\n' && ++lines == rows) {
      page->used = i + 1;
      page->at[page->used] = '\0';
    }
}

// ---- the page --------------------------------------------------------------------------------------------------------------

// Its sections from top to bottom, how much of each is shown where there is room for all, and what is left of it first and at last
// where there is not.
enum { TITLE, SOURCE, BLOCK, WARPS, VARIABLES, ACCESSES, MEMORY, FINDINGS, SECTIONS };
static const int wished[SECTIONS] = {1, 3, 4, 32, 48, 12, 8, 10};
static const int modest[SECTIONS] = {1, 2, 4, 3, 5, 3, 2, 4};
static const int least[SECTIONS] = {1, 1, 4, 1, 1, 1, 0, 2};
static const int shrinking[] = {MEMORY, WARPS, VARIABLES, SOURCE, FINDINGS, ACCESSES};

// `limit`: rows; of the source, lines on either side of the step's.
static void section(const Record *r, int step, const StepView *view, int which, int limit, Text *to) {
  switch (which) {
  case TITLE:
    title(r, step, view, to);
    break;
  case SOURCE:
    source(r, step, limit, to);
    break;
  case BLOCK:
    block_step(r, step, view, to);
    break;
  case WARPS:
    warps(r, step, view, limit, to);
    break;
  case VARIABLES:
    page_variables(r, step, view, limit, to);
    break;
  case ACCESSES:
    page_accesses(r, step, view, limit, to);
    break;
  case MEMORY:
    page_memory(r, step, view, limit, to);
    break;
  default:
    findings(r, step, view, limit, to);
  }
}

static int rows_of(const Text *t) {
  int rows = 0;
  for (size_t i = 0; i < t->used; i++)
    rows += t->at[i] == '\n';
  return rows;
}

static int make(const Record *r, int step, const StepView *view, int which, int limit, Text *to) {
  to->used = 0;
  section(r, step, view, which, limit, to);
  return rows_of(to);
}

// Takes rows from one section after another until `over` are taken.
static int shrink(const Record *r, int step, const StepView *view, Text parts[], int rows[], const int to[], int over) {
  for (size_t i = 0; i < sizeof shrinking / sizeof *shrinking && over > 0; i++) {
    const int which = shrinking[i], frame = which == SOURCE ? rows[which] - 1 : rows[which];
    int limit = which == SOURCE ? (frame - over) / 2 : frame - over - 1; // a row says how much is left out
    limit = limit < to[which] ? to[which] : limit;
    if (limit >= (which == SOURCE ? frame / 2 : frame))
      continue;
    const int had = rows[which];
    rows[which] = make(r, step, view, which, limit, &parts[which]);
    over -= had - rows[which];
  }
  return over;
}

// All of it fits into the rows, or the last lines are left out.
static void page_of_rows(const Record *r, int step, const StepView *view, Text *page) {
  Text parts[SECTIONS] = {0};
  int rows[SECTIONS], over = -view->rows;
  for (int i = 0; i < SECTIONS; i++) {
    const int limit = i == MEMORY && view->memory ? view->rows : wished[i];
    over += rows[i] = make(r, step, view, i, limit, &parts[i]);
  }
  over = shrink(r, step, view, parts, rows, modest, over);
  over = shrink(r, step, view, parts, rows, least, over);
  if (over < -1) {
    const int context = wished[SOURCE] - over / 2;
    rows[SOURCE] = make(r, step, view, SOURCE, context > MOST_CONTEXT ? MOST_CONTEXT : context, &parts[SOURCE]);
  }
  int row = 0;
  for (int i = 0; i < SECTIONS; i++) {
    for (size_t at = 0; at < parts[i].used && row < view->rows; row++) {
      const char *line = parts[i].at + at, *end = strchr(line, '\n');
      text_add(page, "%.*s", (int)(end + 1 - line), line);
      at += (size_t)(end + 1 - line);
    }
    text_free(&parts[i]);
  }
}

void step_page(const Record *r, int step, const StepView *asked, Text *page) {
  StepView view = *asked;
  if (view.columns < LEAST_COLUMNS)
    view.columns = LEAST_COLUMNS;
  if (view.rows) {
    page_of_rows(r, step, &view, page);
    return;
  }
  for (int i = 0; i < SECTIONS; i++)
    section(r, step, &view, i, i == SOURCE ? 2 : i == WARPS || (i == MEMORY && !view.memory) ? 8 : PLENTY, page);
}

void step_print(const Record *r, int step, int columns, FILE *to) {
  const StepView view = {.columns = columns < LEAST_COLUMNS ? LEAST_COLUMNS : columns, .lane = -1, .chosen = ""};
  Text page = {0};
  int column = 0;
  step_page(r, step, &view, &page);
  for (const char *s = page.at; s && *s; s++) {
    const bool continues = ((unsigned char)*s & 0xC0) == 0x80;
    if (*s == '\n') {
      fputc('\n', to);
      column = 0;
    } else if (*s > 0 && *s <= 7) {
      fputs(to == stdout ? style((Style)(*s - 1)) : "", to);
    } else if (column < view.columns || (continues && column == view.columns)) {
      fputc(*s, to);
      column += !continues;
    } else {
      column++;
    }
  }
  text_free(&page);
}
