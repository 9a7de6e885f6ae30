// SPDX-License-Identifier: MIT
#include "base/text.h"
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

static void destroy(void *object) {
  FyText *text = object;
  free(text->bytes);
  free(text);
}

static void make_room(FyText *text, size_t more) {
  size_t capacity = 2 * text->capacity + more;
  char *bytes = realloc(text->bytes, capacity);
  fy_check(bytes, FY_OUT_OF_MEMORY_ERROR, "out of host memory for a text of %zu bytes", capacity);
  text->bytes = bytes;
  text->capacity = capacity;
}

FyText *fy_text_new(void) {
  FyText *text = fy_object_new(sizeof *text, destroy);
  make_room(text, 64);
  text->bytes[0] = '\0';
  return text;
}

void fy_text_add(FyText *text, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  size_t room = text->capacity - text->length;
  size_t n = (size_t)vsnprintf(text->bytes + text->length, room, format, arguments);
  va_end(arguments);
  if (n >= room) {
    text->bytes[text->length] = '\0';
    make_room(text, n + 1);
    va_start(arguments, format);
    vsnprintf(text->bytes + text->length, n + 1, format, arguments);
    va_end(arguments);
  }
  text->length += n;
}

// How many bytes the character at `s` has in UTF-8; 0 when it is none.
static int character_bytes(const unsigned char *s) {
  int bytes = s[0] < 0x80 ? 1 : s[0] >> 5 == 6 ? 2 : s[0] >> 4 == 14 ? 3 : s[0] >> 3 == 30 ? 4 : 0;
  for (int i = 1; i < bytes; i++)
    if (s[i] >> 6 != 2)
      return 0;
  return bytes;
}

void fy_text_add_json(FyText *text, const char *string) {
  fy_text_add(text, "\"");
  for (int bytes; *string; string += bytes ? bytes : 1) {
    const unsigned char c = (unsigned char)*string;
    bytes = character_bytes((const unsigned char *)string);
    if (c == '"' || c == '\\')
      fy_text_add(text, "\\%c", c);
    else if (c < 0x20 || !bytes)
      fy_text_add(text, "\\u%04x", c);
    else
      fy_text_add(text, "%.*s", bytes, string);
  }
  fy_text_add(text, "\"");
}

char *fy_text_take(FyText *text) {
  char *bytes = text->bytes;
  text->bytes = NULL;
  return bytes;
}

const char *fy_format_bytes(size_t bytes, char text[32]) {
  if (bytes <= 1024)
    snprintf(text, 32, "%zu bytes", bytes);
  else if (bytes <= 1 << 20)
    snprintf(text, 32, "%.2f KiB", (double)bytes / 1024);
  else if (bytes <= 1 << 30)
    snprintf(text, 32, "%.2f MiB", (double)bytes / (1 << 20));
  else
    snprintf(text, 32, "%.2f GiB", (double)bytes / (1 << 30));
  return text;
}
