// SPDX-License-Identifier: MIT
// The state behind a step as lines of text, for a file or a screen.
#ifndef STEP_PAGE_H
#define STEP_PAGE_H

#include "step/record.h"
#include "tool/print/text.h"
#include <stdio.h>

typedef struct StepView {
  int columns;        // at least 80
  int rows;           // what is shown is cut to so many; 0: all of it
  int lane;           // its values are shown as numbers, too; -1: none
  const char *chosen; // the variables that are shown, separated by blanks; "": all
  bool memory;        // all of shared memory instead of what the step touches
} StepView;

// A byte from 1 to 7 in a page's text begins a style: (Style)(byte - 1) of tool/print/style.h.
#define STEP_STYLE_PLAIN "\001"
#define STEP_STYLE_RED "\002"
#define STEP_STYLE_GREEN "\003"
#define STEP_STYLE_YELLOW "\004"
#define STEP_STYLE_BLUE "\005"
#define STEP_STYLE_BOLD "\006"
#define STEP_STYLE_DIM "\007"

// Adds the page, each line ended by a newline. Lines may be wider than the view: whoever shows them cuts them.
void step_page(const Record *r, int step, const StepView *view, Text *page);

// ---- its parts -------------------------------------------------------------------------------------------------------------

void page_variables(const Record *r, int step, const StepView *view, int rows, Text *page);
void page_accesses(const Record *r, int step, const StepView *view, int rows, Text *page);
void page_memory(const Record *r, int step, const StepView *view, int rows, Text *page);
// "!reads  tile[lane][0]  shared, 32 wavefronts (ideal 1), bank 0", in one line. Returns whether it costs twice the ideal or more.
bool page_access_line(const Record *r, const Step *s, const StepAccess *a, int columns, Text *line);
// Breaks text at blanks; lines after the first are indented.
void page_wrapped(Text *page, const char *style, int columns, int indent, const char *text);

#endif
