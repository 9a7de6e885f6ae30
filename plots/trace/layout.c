// SPDX-License-Identifier: MIT
// Where everything goes: rows below each other, in each a lane for every level of ranges within ranges.
#include "trace.h"
#include "base/error.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
  TOP = 64,
  BOTTOM = 74,
  LEFT = 252,
  RIGHT = 22,
  HEADING_HEIGHT = 22,
  LANE_HEIGHT = 16,
  ROW_GAP = 5,
  MOST_PIXELS = 2400
};

static void destroy(void *object) {
  Layout *layout = object;
  free(layout->rows);
  free(layout->boxes);
  free(layout->labels);
  free(layout);
}

static void *room_for(size_t count, size_t bytes) {
  void *memory = calloc(count + 1, bytes);
  fy_check(memory, FY_OUT_OF_MEMORY_ERROR, "out of host memory for a picture of %zu ranges", count);
  return memory;
}

// ---- which rows, in which order ----------------------------------------------------------------------------------------

static bool has_word(const char *text, const char *word, size_t length) {
  for (; text && *text; text++)
    if (strncasecmp(text, word, length) == 0)
      return true;
  return false;
}

static bool is_wanted(const Row *row, const char *words) {
  while (words && *words) {
    size_t length = strcspn(words, ",");
    if (length && (has_word(row->name, words, length) || has_word(row->heading, words, length) ||
                   has_word(row->labels, words, length) || has_word(row->thread.text, words, length)))
      return true;
    words += length + (words[length] == ',');
  }
  return !words;
}

static int by_number(double a, double b) {
  return a < b ? -1 : a > b;
}

static int by_id(Id a, Id b) {
  if (!a.text != !b.text)
    return a.text ? 1 : -1;
  return a.text ? strcmp(a.text, b.text) : by_number(a.number, b.number);
}

static int by_place(const void *left, const void *right) {
  const Row *a = *(const Row *const *)left, *b = *(const Row *const *)right;
  int order = by_number(a->process_order, b->process_order);
  order = order ? order : by_id(a->process, b->process);
  order = order ? order : by_number(a->order, b->order);
  return order ? order : by_id(a->thread, b->thread);
}

// ---- lanes -------------------------------------------------------------------------------------------------------------

static int by_time(const void *left, const void *right) {
  const Event *a = left, *b = right;
  int order = a->row - b->row;
  order = order ? order : by_number(a->begin, b->begin);
  order = order ? order : by_number(b->end, a->end); // the outer one first
  return order ? order : strcmp(a->name, b->name);
}

static bool is_within(const Event *event, const View *view, double to) {
  return event->end >= view->from && event->begin <= to;
}

enum { MOST_LANES = 256 };

// Each range in the first lane that is free when it begins: within the range around it, or beside one that it overlaps.
static void choose_lanes(Trace *trace, const View *view, double to) {
  double busy[MOST_LANES];
  int row = -1;
  for (size_t i = 0; i < trace->count; i++) {
    Event *event = &trace->events[i];
    if (event->row != row)
      for (int lane = 0; lane < MOST_LANES; lane++)
        busy[lane] = -INFINITY;
    row = event->row;
    for (event->lane = 0; event->lane < MOST_LANES - 1 && busy[event->lane] > event->begin;)
      event->lane++;
    busy[event->lane] = event->end;
    int lanes = event->lane < view->depth ? event->lane + 1 : view->depth;
    if (is_within(event, view, to) && trace->rows[row].lanes < lanes)
      trace->rows[row].lanes = lanes;
  }
}

// ---- boxes -------------------------------------------------------------------------------------------------------------

typedef struct Scale {
  double from, pixels; // per millisecond
} Scale;

static double pixel_of(const Layout *layout, double time) {
  double x = layout->plot_left +
             (time - layout->from) / (layout->to - layout->from) * (layout->plot_right - layout->plot_left);
  return fmin(fmax(x, layout->plot_left), layout->plot_right);
}

static const double NARROWEST = 0.8;

// Of the ranges that are narrower than a pixel those beside each other become one box.
static void add_box(Layout *layout, const Event *event, double top, Box **last) {
  double left = pixel_of(layout, event->begin), right = pixel_of(layout, event->end);
  bool narrow = right - left < NARROWEST;
  Box *before = *last;
  layout->shown++;
  layout->kinds[event->kind] = true;
  right = fmax(right, left + NARROWEST);
  if (narrow && before && before->kind == event->kind && left - before->right < NARROWEST &&
      (before->merged || before->right - before->left <= NARROWEST * 1.01)) {
    before->right = fmax(before->right, right);
    before->merged = layout->merged = true;
    return;
  }
  if (narrow && before && right <= before->right) {
    layout->merged = true; // another kind's pixel already
    return;
  }
  *last = &layout->boxes[layout->box_count++];
  **last = (Box){left, top, right, top + LANE_HEIGHT - 1, event->kind, false, event->name};
}

static void add_boxes(Layout *layout, const Trace *trace, const View *view, int row, double top) {
  Box *last[MOST_LANES] = {NULL};
  for (size_t i = 0; i < trace->count; i++) { // sorted by rows: a search would save little beside the drawing
    const Event *event = &trace->events[i];
    if (event->row != row || !is_within(event, view, layout->to))
      continue;
    if (event->lane >= view->depth)
      layout->deeper = true;
    else
      add_box(layout, event, top + event->lane * LANE_HEIGHT, &last[event->lane]);
  }
}

// ---- the whole ---------------------------------------------------------------------------------------------------------

static void set_time(Layout *layout, const Trace *trace, const View *view) {
  double end = 0;
  for (size_t i = 0; i < trace->count; i++)
    end = fmax(end, trace->events[i].end);
  fy_check(view->from < end, FY_VALUE_ERROR, "--from %g: the trace ends at %.3f ms", view->from, end);
  layout->from = view->from;
  layout->to = fmin(view->to, end);
}

static void add_label(Layout *layout, double y, const Row *row, bool heading) {
  layout->labels[layout->label_count++] = (Label){y, row, heading};
}

static void choose_rows(Layout *layout, Trace *trace, const View *view) {
  layout->rows = room_for((size_t)trace->row_count, sizeof(Row *));
  for (int i = 0; i < trace->row_count; i++)
    if (trace->rows[i].lanes > 0 && is_wanted(&trace->rows[i], view->rows))
      layout->rows[layout->row_count++] = &trace->rows[i];
  qsort(layout->rows, (size_t)layout->row_count, sizeof(Row *), by_place);
}

static double place_rows(Layout *layout, const Trace *trace, const View *view) {
  double y = TOP;
  for (int i = 0; i < layout->row_count; i++) {
    const Row *row = layout->rows[i];
    if (i == 0 || by_id(row->process, layout->rows[i - 1]->process) != 0) {
      y += HEADING_HEIGHT;
      add_label(layout, y - HEADING_HEIGHT / 2.0, row, true);
    }
    double height = row->lanes * LANE_HEIGHT;
    fy_check(
        y + height + BOTTOM <= MOST_PIXELS, FY_VALUE_ERROR,
        "the picture would be more than %d pixels high: --rows WORD,... leaves rows out, --depth N (now %d) ranges "
        "within ranges, --from and --to take a part",
        MOST_PIXELS, view->depth);
    add_label(layout, y + LANE_HEIGHT / 2.0, row, false);
    add_boxes(layout, trace, view, (int)(row - trace->rows), y);
    y += height + ROW_GAP;
  }
  return y;
}

Layout *lay_out(Trace *trace, const View *view) {
  Layout *layout = fy_object_new(sizeof *layout, destroy);
  set_time(layout, trace, view);
  layout->width = view->width;
  layout->plot_left = LEFT;
  layout->plot_right = view->width - RIGHT;
  layout->plot_top = TOP;
  qsort(trace->events, trace->count, sizeof *trace->events, by_time);
  choose_lanes(trace, view, layout->to);
  choose_rows(layout, trace, view);
  const char *in_rows = view->rows ? ", in rows with one of these words: " : "";
  fy_check(layout->row_count > 0, FY_VALUE_ERROR, "nothing to draw from %.3f to %.3f ms%s%s", layout->from, layout->to,
           in_rows, view->rows ? view->rows : "");
  layout->boxes = room_for(trace->count, sizeof *layout->boxes);
  layout->labels = room_for((size_t)layout->row_count * 2, sizeof *layout->labels);
  layout->plot_bottom = place_rows(layout, trace, view);
  layout->height = (int)layout->plot_bottom + BOTTOM;
  return layout;
}
