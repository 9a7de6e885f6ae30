// SPDX-License-Identifier: MIT
// Control characters shown as text.
#include "tool/print/plain.h"
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

size_t utf8_sequence(const char *s, size_t count) {
  const unsigned char *b = (const unsigned char *)s;
  size_t length = count == 0                    ? 0
                  : b[0] < 0x80                 ? 1
                  : b[0] >= 0xc2 && b[0] < 0xe0 ? 2
                  : (b[0] & 0xf0) == 0xe0       ? 3
                  : b[0] < 0xf5 && b[0] >= 0xf0 ? 4
                                                : 0;
  if (length == 0 || length > count)
    return 0;
  uint32_t code = length == 1 ? b[0] : length == 2 ? b[0] & 31 : length == 3 ? b[0] & 15 : b[0] & 7;
  for (size_t i = 1; i < length; i++) {
    if ((b[i] & 0xc0) != 0x80)
      return 0;
    code = code << 6 | (b[i] & 63);
  }
  static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
  bool allowed = code >= least[length] && code <= 0x10ffff && !(code >= 0xd800 && code < 0xe000);
  return allowed && (code & 0xfffe) != 0xfffe ? length : 0;
}

size_t utf8_whole(const char *s, size_t count) {
  for (size_t back = 1; back <= 3 && back <= count; back++) {
    const unsigned char c = (unsigned char)s[count - back];
    const size_t length = c >= 0xf0 ? 4 : c >= 0xe0 ? 3 : 2;
    if (c < 0x80 || c >= 0xc0)
      return c >= 0xc0 && back < length ? count - back : count;
  }
  return count;
}

// Of a whole sequence: whether it is to be shown as text.
static bool is_control(const unsigned char *b, size_t length) {
  if (length == 1)
    return (b[0] < 32 && b[0] != '\n' && b[0] != '\t') || b[0] == 127;
  if (length == 2)
    return b[0] == 0xc2 && b[1] < 0xa0;
  // U+200E, U+200F, U+2028 to U+202E, U+2066 to U+2069
  return length == 3 && b[0] == 0xe2 &&
         ((b[1] == 0x80 && (b[2] == 0x8e || b[2] == 0x8f || (b[2] >= 0xa8 && b[2] <= 0xae))) ||
          (b[1] == 0x81 && b[2] >= 0xa6 && b[2] <= 0xa9));
}

// `shown`: further characters that are shown as text.
static char *plain(const char *bytes, size_t count, const char *shown) {
  const unsigned char *b = (const unsigned char *)bytes;
  char *text = malloc(4 * count + 1);
  size_t used = 0;
  for (size_t i = 0, length; text && i < count; i += length) {
    size_t whole = utf8_sequence(bytes + i, count - i);
    length = whole ? whole : 1;
    if (whole == 3 && is_control(b + i, 3)) {
      used += (size_t)sprintf(text + used, "\\u20%02x", (b[i + 1] & 3) << 6 | (b[i + 2] & 63));
    } else if (whole == 1 && b[i] == '\\' && strchr(shown, '\\')) {
      used += (size_t)sprintf(text + used, "\\\\");
    } else if (whole == 0 || is_control(b + i, whole) || (whole == 1 && b[i] && strchr(shown, b[i]))) {
      for (size_t j = 0; j < length; j++)
        used += (size_t)sprintf(text + used, "\\x%02x", b[i + j]);
    } else {
      memcpy(text + used, b + i, whole);
      used += whole;
    }
  }
  if (text)
    text[used] = '\0';
  return text;
}

char *plain_text(const char *bytes, size_t count) {
  return plain(bytes, count, "");
}

char *plain_line(const char *bytes, size_t count) {
  return plain(bytes, count, "\n\t");
}

char *plain_name(const char *bytes, size_t count) {
  return plain(bytes, count, "\n\t\\");
}
