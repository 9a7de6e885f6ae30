// SPDX-License-Identifier: MIT
// Text on a terminal: how wide it is, and lines broken between words.
#ifndef TOOL_TERM_H
#define TOOL_TERM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

// Columns for text: the terminal's, or $COLUMNS where stdout is none, at most 100 and at least 40; 80 where neither says.
int term_width(void);

// `text`, its lines broken at blanks so that none is wider than the terminal. What is broken goes on below the line's second
// column, if it has one (two blanks or more within the line), else below its beginning and `hang` more.
void term_wrap(FILE *to, const char *text, int hang);

// One paragraph: `first` (its own width in columns, without colors, is `columns`), then `text`, which goes on below its own beginning.
void term_paragraph(FILE *to, const char *first, int columns, const char *text);

// A command that the user may copy, behind a label. If both are too wide, the options go on below, after a backslash.
void term_command(FILE *to, const char *label, const char *command);

// How many bytes of `text`, at most `limit`, fit into `room` columns and end at a blank; at least one word.
size_t term_fitting(const char *text, size_t limit, int room);

// How many columns the first `bytes` of UTF-8 take, one for each character, none for a control character.
int term_columns(const char *text, size_t bytes);

// What was probably meant: of `count` names (called for 0 to count - 1, which may be NULL) the nearest to `word`, or NULL when none is.
const char *term_meant(const char *word, const char *(*name)(int i), int count);

#endif
