// SPDX-License-Identifier: MIT
// Texts that grow, and the quoting of each format. What is quoted may come from a hostile program.
#include "tool/print/text.h"
#include "tool/print/plain.h"
#include "tool/print/usage.h"
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void reserve(Text *t, size_t more) {
  if (t->used + more + 1 <= t->room)
    return;
  t->room = 2 * (t->used + more) + 256;
  t->at = realloc(t->at, t->room);
  if (!t->at)
    fatal_error("out of memory");
}

static void add_bytes(Text *t, const char *bytes, size_t count) {
  reserve(t, count);
  memcpy(t->at + t->used, bytes, count);
  t->used += count;
  t->at[t->used] = '\0';
}

void text_add(Text *t, const char *format, ...) {
  va_list arguments, again;
  va_start(arguments, format);
  va_copy(again, arguments);
  int length = vsnprintf(NULL, 0, format, arguments);
  va_end(arguments);
  if (length > 0) {
    reserve(t, (size_t)length);
    vsnprintf(t->at + t->used, (size_t)length + 1, format, again);
    t->used += (size_t)length;
  }
  va_end(again);
}

void text_free(Text *t) {
  free(t->at);
  *t = (Text){0};
}

typedef const char *Escape(unsigned char c, char *room);

// Nothing in a file of results commands the terminal that it is shown on, and all of it is UTF-8.
static void add_escaped(Text *t, const char *string, Escape *escape) {
  char room[16];
  char *plain = string ? plain_text(string, strlen(string)) : NULL;
  if (string && !plain)
    fatal_error("out of memory");
  for (const char *s = plain, *end = s ? s + strlen(s) : s; s && s < end;) {
    size_t length = utf8_sequence(s, (size_t)(end - s));
    const char *instead = length == 1 ? escape((unsigned char)*s, room) : NULL;
    add_bytes(t, instead ? instead : s, instead ? strlen(instead) : length);
    s += length;
  }
  free(plain);
}

static const char *escape_json(unsigned char c, char *room) {
  if (c == '"' || c == '\\')
    snprintf(room, 16, "\\%c", c);
  else if (c == '\n')
    return "\\n";
  else if (c == '\t')
    return "\\t";
  else
    return NULL;
  return room;
}

static const char *escape_xml(unsigned char c, char *room) {
  (void)room;
  switch (c) {
  case '<':
    return "&lt;";
  case '>':
    return "&gt;";
  case '&':
    return "&amp;";
  case '"':
    return "&quot;";
  case '\n':
    return "&#10;";
  case '\t':
    return "&#9;";
  default:
    return NULL;
  }
}

static const char *escape_csv(unsigned char c, char *room) {
  (void)room;
  return c == '"' ? "\"\"" : c < 32 ? " " : NULL;
}

void text_json(Text *t, const char *string) {
  text_add(t, "\"");
  add_escaped(t, string, escape_json);
  text_add(t, "\"");
}

void text_xml(Text *t, const char *string) {
  add_escaped(t, string, escape_xml);
}

// A spreadsheet takes a cell that begins with one of these for a formula.
void text_csv(Text *t, const char *string) {
  text_add(t, "\"%s", string && *string && strchr("=+-@", *string) ? "'" : "");
  add_escaped(t, string, escape_csv);
  text_add(t, "\"");
}
