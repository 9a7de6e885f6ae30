// SPDX-License-Identifier: MIT
// A text that grows, and the quoting of each output format.
#ifndef TOOL_PRINT_TEXT_H
#define TOOL_PRINT_TEXT_H

#include <stddef.h>

typedef struct Text {
  char *at;
  size_t used, room;
} Text;
void text_add(Text *t, const char *format, ...) __attribute__((format(printf, 2, 3)));
void text_json(Text *t, const char *string); // in quotes; what is no UTF-8 becomes '?'
void text_xml(Text *t, const char *string);
void text_csv(Text *t, const char *string);
void text_free(Text *t);

#endif
