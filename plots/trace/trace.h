// SPDX-License-Identifier: MIT
// A Chrome trace as a picture (./ferry timeline): read (read.c), laid out in pixels (layout.c), drawn by gnuplot (draw.c,
// ../trace.gp).
#ifndef PLOTS_TRACE_H
#define PLOTS_TRACE_H

#include "base/scope.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

// What a range is, by its category; each has a color (style of ../trace.gp) and a line in the key.
typedef enum Kind { OP, KERNEL, COPY, RANGE, WAIT, RUNTIME, OTHER, KINDS } Kind;

// Times are milliseconds since the first range of the trace.
typedef struct Event {
  const char *name;
  double begin, end;
  int row, lane; // lane: 0 below nothing; the next within or beside it
  Kind kind;
} Event;

// A pid or tid: a number, or in some traces a text.
typedef struct Id {
  double number;
  const char *text; // NULL: a number
} Id;

// A thread of the host, a stream of a device.
typedef struct Row {
  Id process, thread;
  const char *heading, *labels, *name; // of the process and the thread; NULL: not told
  double process_order, order;         // sort_index; infinite: not told
  int lanes;                           // 0: nothing to be drawn
  bool simulated;
} Row;

typedef struct Trace {
  FyObject object;
  void *file; // open while it is read
  char *text; // of the file; names point into it
  Event *events;
  Row *rows;
  size_t count, capacity;
  int row_count, row_capacity;
  bool simulated;  // what devices show is a simulated device's
  size_t left_out; // events of a kind that is not drawn: begins and ends apart, instants, frames of Python
} Trace;

// The trace of a file, plain or packed by gzip; an object of the innermost scope. Raises FY_OS_ERROR, FY_VALUE_ERROR (no JSON, no trace,
// nothing to draw, more than 2 million ranges) and FY_OUT_OF_MEMORY_ERROR.
Trace *trace_read(const char *path);

typedef struct View {
  double from, to;  // milliseconds; to: infinite for the end
  int width, depth; // pixels; lanes of a row that are drawn
  const char *rows; // words with commas: of rows those with one of them in their name or heading; NULL: all
} View;

// What is drawn, in pixels from the top left corner.
typedef struct Box {
  double left, top, right, bottom;
  Kind kind;
  bool merged;      // stands for several too narrow to be told apart
  const char *name; // of one
} Box;

// Beside the boxes: of a process, above its rows, or of a row.
typedef struct Label {
  double y;
  const Row *row;
  bool heading;
} Label;

typedef struct Layout {
  FyObject object;
  Row **rows; // those that are drawn, from the top
  Box *boxes;
  Label *labels;
  size_t box_count, shown; // shown: ranges in the boxes
  int row_count, label_count;
  double from, to;
  int width, height;
  double plot_left, plot_right, plot_top, plot_bottom;
  bool merged, deeper, kinds[KINDS]; // some ranges are merged; some lie below the depth; which kinds there are
} Layout;

// Raises FY_VALUE_ERROR when nothing is left in the view, or more rows than a picture holds. Changes the trace's order.
Layout *lay_out(Trace *trace, const View *view);

typedef struct Output {
  const char *path, *format, *theme, *title; // format: svg or png; theme: light or dark
  const char *scripts;                       // the folder of trace.gp
} Output;

// Draws. Raises FY_OS_ERROR when gnuplot is missing or fails, or the file cannot be written; it is written whole or not at all.
void draw(const Trace *trace, const Layout *layout, const Output *output);

#endif
