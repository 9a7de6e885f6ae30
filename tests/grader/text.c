// Texts that grow, and the quoting of each format. What is quoted may come from a hostile program.
#include "grade.h"
#include "case.h"
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
    grader_panic("no memory for the results");
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

// Bytes of the UTF-8 sequence that begins here, 0 when it is none (overlong, surrogate, noncharacter, cut short).
static size_t sequence(const char *s) {
  const unsigned char *b = (const unsigned char *)s;
  size_t length = b[0] < 0x80                   ? 1
                  : b[0] >= 0xc2 && b[0] < 0xe0 ? 2
                  : (b[0] & 0xf0) == 0xe0       ? 3
                  : b[0] < 0xf5 && b[0] >= 0xf0 ? 4
                                                : 0;
  uint32_t code = length == 1 ? b[0] : length == 2 ? b[0] & 31 : length == 3 ? b[0] & 15 : b[0] & 7;
  for (size_t i = 1; i < length; i++) {
    if ((b[i] & 0xc0) != 0x80)
      return 0;
    code = code << 6 | (b[i] & 63);
  }
  static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
  bool allowed = length > 0 && code >= least[length] && code <= 0x10ffff && !(code >= 0xd800 && code < 0xe000);
  return allowed && (code & 0xfffe) != 0xfffe ? length : 0;
}

typedef const char *Escape(unsigned char c, char *room);

static void add_escaped(Text *t, const char *s, Escape *escape) {
  char room[16];
  while (s && *s) {
    size_t length = sequence(s);
    const char *instead = length == 1 ? escape((unsigned char)*s, room) : NULL;
    if (length == 0)
      add_bytes(t, "?", 1);
    else if (instead)
      add_bytes(t, instead, strlen(instead));
    else
      add_bytes(t, s, length);
    s += length ? length : 1;
  }
}

static const char *escape_json(unsigned char c, char *room) {
  if (c == '"' || c == '\\')
    snprintf(room, 16, "\\%c", c);
  else if (c == '\n')
    return "\\n";
  else if (c < 32 || c == 127)
    snprintf(room, 16, "\\u%04x", c);
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
  default:
    return c < 32 ? "?" : NULL;
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
