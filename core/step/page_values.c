// SPDX-License-Identifier: MIT
// The values of a step's page: variables in all lanes, accesses, shared memory.
#include "step/page.h"
#include "step/format.h"
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum { NAME = 10, WIDEST = 13, ROW = 8 };

// ---- variables -------------------------------------------------------------------------------------------------------------

typedef struct Table {
  const Record *r;
  const StepView *view;
  uint32_t all;
  int rows, row, left_out;
  Text *page;
} Table;

static void cells(Table *t, const StepScalar *s, uint32_t marked) {
  char text[STEP_LANES][32];
  int width = 1, per_row = STEP_LANES;
  for (int lane = 0; lane < STEP_LANES; lane++) {
    text[lane][0] = '\0';
    if (s->lanes.known >> lane & 1)
      step_text(s->lanes.values[lane], s->type, WIDEST, text[lane], sizeof text[0]);
    width = (int)strlen(text[lane]) > width ? (int)strlen(text[lane]) : width;
  }
  while (per_row > 4 && NAME + 7 + per_row * (width + 2) > t->view->columns)
    per_row /= 2;
  for (int first = 0; first < STEP_LANES && t->all >> first; first += per_row, t->row++) {
    if (t->row >= t->rows) {
      t->left_out++;
      return;
    }
    text_add(t->page, "%c%*.*s %2d:", first ? ' ' : marked ? '*' : ' ', NAME, NAME, first ? "" : s->name, first);
    for (int lane = first; lane < first + per_row && lane < STEP_LANES; lane++)
      text_add(t->page, "%s %*s%c%s", marked >> lane & 1 ? STEP_STYLE_GREEN : "", width, text[lane],
               marked >> lane & 1 ? '*' : ' ', marked >> lane & 1 ? STEP_STYLE_PLAIN : "");
    text_add(t->page, "\n");
  }
}

static void scalar(const StepScalar *s, void *context) {
  Table *t = context;
  char pattern[256], alone[64] = "";
  const int lane = t->view->lane;
  if (!s->lanes.known)
    return;
  if (t->row >= t->rows) {
    t->left_out++;
    return;
  }
  if (!step_pattern(&s->lanes, t->all, s->type, pattern, sizeof pattern)) {
    cells(t, s, s->lanes.changed);
    return;
  }
  if (lane >= 0 && s->lanes.known >> lane & 1) {
    alone[0] = ' ';
    step_text(s->lanes.values[lane], s->type, 0, alone + 1, sizeof alone - 1);
  }
  text_add(t->page, "%s%c%*s  %s", s->lanes.changed ? STEP_STYLE_GREEN : "", s->lanes.changed ? '*' : ' ', NAME,
           s->name, pattern);
  if (alone[0])
    text_add(t->page, "   [lane %d:%s]", lane, alone);
  text_add(t->page, STEP_STYLE_PLAIN "\n");
  t->row++;
}

// Is the name a word of the text?
static bool mentions(const char *text, size_t length, const char *name) {
  const size_t bytes = strlen(name);
  for (size_t i = 0; i + bytes <= length; i++)
    if (strncmp(text + i, name, bytes) == 0 &&
        (i == 0 || !(isalnum((unsigned char)text[i - 1]) || text[i - 1] == '_')) &&
        !(isalnum((unsigned char)text[i + bytes]) || text[i + bytes] == '_'))
      return true;
  return false;
}

static bool statement_mentions(const Record *r, int step, const char *name) {
  const int statement = r->steps[step].statement;
  if (statement < 0)
    return false;
  const StepStatement *s = &r->statements[statement];
  const StepFile *file = &r->files[r->functions[s->function].file];
  if (s->line < 1 || s->line > file->line_count)
    return false;
  const char *line = file->lines[s->line - 1];
  const size_t length = strlen(line);
  if ((size_t)s->column > length)
    return false;
  const size_t rest = length - (size_t)s->column;
  return mentions(line + s->column, s->end == s->line && (size_t)s->length < rest ? (size_t)s->length : rest, name);
}

// 0: shown first, 2: last. -1: not shown.
static int rank(const Record *r, int step, int variable, const StepLanes *lanes, const StepView *view) {
  const char *name = r->variables[variable].name;
  if (!lanes->known || (view->chosen[0] && !mentions(view->chosen, strlen(view->chosen), name)))
    return -1;
  return !view->rows || lanes->changed ? 0 : statement_mentions(r, step, name) ? 1 : 2;
}

void page_variables(const Record *r, int step, const StepView *view, int rows, Text *page) {
  const Step *s = &r->steps[step];
  const int depth = s->call_count, function = s->warp < 0 ? -1 : step_frame_function(r, step, depth);
  Table t = {r, view, s->warp < 0 ? 0 : step_warp_mask(r, s->warp), rows, 0, 0, page};
  for (int wanted = 0; wanted < 3 && function >= 0; wanted++)
    for (int i = 0; i < r->variable_count; i++) {
      StepLanes now, last;
      if (r->variables[i].function != function)
        continue;
      step_variable(r, step, s->warp, depth, i, &now);
      if (rank(r, step, i, &now, view) != wanted)
        continue;
      step_variable(r, step - 1, s->warp, depth, i, &last);
      const int elements = step_scalars(&r->variables[i], &now, &last, scalar, &t);
      if (elements && t.row < rows) {
        text_add(page, STEP_STYLE_DIM " %*s  and %d more elements" STEP_STYLE_PLAIN "\n", NAME, "", elements);
        t.row++;
      }
    }
  if (t.left_out)
    text_add(page, STEP_STYLE_DIM " %*s  and %d more" STEP_STYLE_PLAIN "\n", NAME, "", t.left_out);
}

// ---- accesses --------------------------------------------------------------------------------------------------------------

static int by_size(const void *a, const void *b) {
  const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
  return (x > y) - (x < y);
}

// The elements of an access, each once.
static int elements(const Record *r, const StepAccess *a, int64_t sorted[STEP_LANES]) {
  const int size = r->arrays[a->array].element;
  int count = 0, kept = 0;
  for (uint32_t left = a->offsets.mask; left; left &= left - 1) {
    const int64_t at = step_value(&a->offsets, __builtin_ctz(left)).integer;
    sorted[count++] = (at - (at < 0 ? size - 1 : 0)) / size;
  }
  qsort(sorted, (size_t)count, sizeof *sorted, by_size);
  for (int i = 0; i < count; i++)
    if (i == 0 || sorted[i] != sorted[kept - 1])
      sorted[kept++] = sorted[i];
  return kept;
}

// "tile[lane][0]", "part[0 4 8]"
static void name_elements(const Record *r, const StepAccess *a, char *to, size_t bytes) {
  const StepArray *array = &r->arrays[a->array];
  int64_t sorted[STEP_LANES], inner = 1;
  size_t used = (size_t)snprintf(to, bytes, "%.30s", array->name);
  StepLanes dim = {.known = a->offsets.mask};
  for (int d = 1; d < 3; d++)
    inner *= array->dims[d] ? array->dims[d] : 1;
  for (int d = 0; d < 3 && (d == 0 || array->dims[d]); d++) {
    char expression[100];
    const int extent = d && array->dims[d] ? array->dims[d] : 0;
    for (uint32_t left = dim.known; left; left &= left - 1) {
      const int lane = __builtin_ctz(left);
      const int64_t word = step_value(&a->offsets, lane).integer / array->element / inner;
      dim.values[lane] = (StepValue){.kind = STEP_INTEGER, .integer = extent ? word % extent : word};
    }
    if (!step_expression(&dim, "i64", expression, sizeof expression)) {
      const int count = elements(r, a, sorted);
      used = (size_t)snprintf(to, bytes, "%.30s[", array->name);
      step_number_list(sorted, count, 30, to + used, bytes - used);
      strncat(to, "]", bytes - strlen(to) - 1);
      return;
    }
    used += (size_t)snprintf(to + used, bytes - used, "[%s]", expression);
    inner /= d < 2 && array->dims[d + 1] ? array->dims[d + 1] : 1;
  }
}

static void price(const Record *r, const StepAccess *a, const StepCost *cost, Text *line) {
  const char *unit = r->arrays[a->array].shared ? "wavefront" : "sector";
  char banks[128];
  text_add(line, "%d %s%s (ideal %d)", cost->units, unit, cost->units == 1 ? "" : "s", cost->ideal);
  if (!r->arrays[a->array].shared)
    return;
  step_lane_list(cost->banks, banks, sizeof banks);
  if (strlen(banks) < 24)
    text_add(line, ", bank%s %s", cost->banks & (cost->banks - 1) ? "s" : "", banks);
  else
    text_add(line, ", %d banks", __builtin_popcount(cost->banks));
}

bool page_access_line(const Record *r, const Step *s, const StepAccess *a, int columns, Text *line) {
  const StepArray *array = &r->arrays[a->array];
  char array_type[16];
  const char *type = step_array_type(array, array_type);
  const StepCost cost = step_cost(r, a);
  const bool dear = cost.units > 1 && cost.units >= 2 * cost.ideal;
  char name[200], values[200];
  StepLanes lanes;
  name_elements(r, a, name, sizeof name);
  text_add(line, "%c%-6s %s  %s, ", dear ? '!' : ' ',
           a->kind == 'r'   ? "reads"
           : a->kind == 'w' ? "writes"
                            : "atomic",
           name, array->shared ? "shared" : "global");
  price(r, a, &cost, line);
  if (a->bytes != array->element)
    text_add(line, ", %d bytes each", a->bytes);
  step_lanes_of(&a->values, &lanes);
  if (step_pattern(&lanes, step_warp_mask(r, s->warp), type, values, sizeof values) &&
      line->used + strlen(values) + 13 <= (size_t)columns)
    text_add(line, a->kind == 'a' ? "; afterwards %s" : "; value %s", values);
  return dear;
}

static void one_access(const Record *r, const Step *s, const StepAccess *a, int columns, Text *page) {
  Text line = {0};
  const bool dear = page_access_line(r, s, a, columns, &line);
  page_wrapped(page, dear ? STEP_STYLE_RED : "", columns, 8, line.at);
  text_free(&line);
}

static void met(const Record *r, const Step *s, Text *page) {
  const uint32_t all = step_warp_mask(r, s->warp);
  char values[400];
  StepLanes lanes;
  step_lanes_of(&s->meeting->brings, &lanes);
  step_summary(&lanes, all, "", values, sizeof values);
  text_add(page, " brings %s\n", values);
  if (!s->meeting->has_from)
    return;
  step_lanes_of(&s->meeting->from, &lanes);
  step_summary(&lanes, all, "", values, sizeof values);
  text_add(page, " from   lane %s\n", values);
}

void page_accesses(const Record *r, int step, const StepView *view, int rows, Text *page) {
  const Step *s = &r->steps[step];
  if (s->meeting)
    met(r, s, page);
  for (int i = 0; i < s->access_count; i++) {
    if (i >= rows) {
      text_add(page, STEP_STYLE_DIM " and %d more accesses" STEP_STYLE_PLAIN "\n", s->access_count - i);
      return;
    }
    one_access(r, s, &s->accesses[i], view->columns, page);
  }
}

// ---- shared memory ---------------------------------------------------------------------------------------------------------

enum { READ = 1, WRITTEN = 2 };

// What the step does to each element.
static void mark(const Record *r, const Step *s, int array, uint8_t *marks, int64_t count) {
  for (int i = 0; i < s->access_count; i++) {
    const StepAccess *a = &s->accesses[i];
    if (a->array != array)
      continue;
    for (uint32_t left = a->offsets.mask; left; left &= left - 1) {
      const int64_t at = step_value(&a->offsets, __builtin_ctz(left)).integer;
      for (int64_t b = at; b < at + a->bytes; b += r->arrays[array].element)
        if (b >= 0 && b / r->arrays[array].element < count)
          marks[b / r->arrays[array].element] |= a->kind == 'r' ? READ : WRITTEN;
    }
  }
}

static void memory_row(const Record *r, int step, int array, int64_t first, int per_row, const uint8_t *marks,
                       Text *page) {
  const StepArray *a = &r->arrays[array];
  char array_type[16];
  const char *type = step_array_type(a, array_type);
  char name[64], value[32];
  step_element_name(r, array, first, name, sizeof name);
  text_add(page, " %*.*s:", NAME + 3, NAME + 3, name);
  for (int64_t word = first; word < first + per_row && word < a->bytes / a->element; word++) {
    const StepWord w = step_word(r, step, array, word);
    const int m = marks[word];
    step_text(w.known ? w.value : (StepValue){.kind = STEP_NONE}, type, 6, value, sizeof value);
    text_add(page, "%s %6s%c%s",
             m & WRITTEN ? STEP_STYLE_GREEN
             : m         ? STEP_STYLE_BLUE
                         : "",
             value,
             m & WRITTEN ? '*'
             : m         ? '\''
                         : ' ',
             m ? STEP_STYLE_PLAIN : "");
  }
  text_add(page, "\n");
}

static void memory_of(const Record *r, int step, int array, const StepView *view, int *rows, Text *page) {
  const StepArray *a = &r->arrays[array];
  const int64_t count = a->bytes / a->element;
  const int per_row = view->columns >= 2 * ROW * 8 + 20 ? 2 * ROW : ROW;
  uint8_t *marks = calloc((size_t)count + 1, 1);
  int64_t shown = 0, wanted = 0;
  if (!marks)
    return;
  mark(r, &r->steps[step], array, marks, count);
  for (int64_t first = 0; first < count; first += per_row) {
    bool touched = view->memory;
    for (int64_t word = first; word < first + per_row && word < count; word++)
      touched |= marks[word] != 0;
    wanted += touched;
    if (!touched || *rows <= 0)
      continue;
    if (!shown++)
      text_add(page,
               STEP_STYLE_DIM " %s, shared: * written, ' read by this step, . nothing written yet" STEP_STYLE_PLAIN
                              "\n",
               a->name);
    memory_row(r, step, array, first, per_row, marks, page);
    --*rows;
  }
  if (wanted > shown && shown)
    text_add(page, STEP_STYLE_DIM " and %lld more rows" STEP_STYLE_PLAIN "\n", (long long)(wanted - shown));
  free(marks);
}

void page_memory(const Record *r, int step, const StepView *view, int rows, Text *page) {
  for (int i = 0; i < r->array_count; i++)
    if (r->arrays[i].shared)
      memory_of(r, step, i, view, &rows, page);
}
