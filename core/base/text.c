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

char *fy_text_take(FyText *text) {
  char *bytes = text->bytes;
  text->bytes = NULL;
  return bytes;
}
