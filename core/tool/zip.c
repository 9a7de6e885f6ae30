// SPDX-License-Identifier: MIT
// Stored files only: what is large in them is compressed already.
#include "tool/zip.h"
#include "tool/print/usage.h"
#include <stdlib.h>
#include <string.h>

enum {
  DATE_1980 = 1 << 5 | 1,
  UNIX = 3,
  VERSION = 20
}; // the date is always the same, so the same files make the same archive

static void add(unsigned char **at, size_t *used, size_t *room, const void *bytes, size_t count) {
  if (*used + count > *room) {
    *room = 2 * (*used + count) + 256;
    *at = realloc(*at, *room);
    if (!*at)
      fatal_error("out of memory");
  }
  memcpy(*at + *used, bytes, count);
  *used += count;
}

// Little-endian numbers of 2 or 4 bytes, as the widths say: "44222".
static size_t numbers(unsigned char *to, const char *widths, const uint32_t *values) {
  size_t n = 0;
  for (; *widths; widths++, values++)
    for (int i = 0; i < *widths - '0'; i++)
      to[n++] = (unsigned char)(*values >> 8 * i);
  return n;
}

static uint32_t crc32_of(const unsigned char *bytes, size_t size) {
  uint32_t crc = ~0u;
  for (size_t i = 0; i < size; i++) {
    crc ^= bytes[i];
    for (int bit = 0; bit < 8; bit++)
      crc = crc >> 1 ^ (0xedb88320u & (0u - (crc & 1)));
  }
  return ~crc;
}

void zip_add(Zip *z, const char *name, const void *bytes, size_t size, bool executable) {
  const uint32_t crc = crc32_of(bytes, size), length = (uint32_t)strlen(name), offset = (uint32_t)z->used;
  const uint32_t mode = (executable ? 0100755u : 0100644u) << 16, n = (uint32_t)size;
  unsigned char header[64];
  size_t used =
      numbers(header, "42222244422", (uint32_t[]){0x04034b50, VERSION, 0, 0, 0, DATE_1980, crc, n, n, length, 0});
  add(&z->at, &z->used, &z->room, header, used);
  add(&z->at, &z->used, &z->room, name, length);
  add(&z->at, &z->used, &z->room, bytes, size);
  used = numbers(header, "42222224442222244",
                 (uint32_t[]){0x02014b50, UNIX << 8 | VERSION, VERSION, 0, 0, 0, DATE_1980, crc, n, n, length, 0, 0, 0,
                              0, mode, offset});
  add(&z->directory, &z->directory_used, &z->directory_room, header, used);
  add(&z->directory, &z->directory_used, &z->directory_room, name, length);
  z->count++;
}

void zip_end(Zip *z) {
  const uint32_t begin = (uint32_t)z->used, length = (uint32_t)z->directory_used;
  unsigned char header[32];
  add(&z->at, &z->used, &z->room, z->directory, z->directory_used);
  const size_t used = numbers(header, "42222442", (uint32_t[]){0x06054b50, 0, 0, z->count, z->count, length, begin, 0});
  add(&z->at, &z->used, &z->room, header, used);
}

void zip_free(Zip *z) {
  free(z->at);
  free(z->directory);
  *z = (Zip){0};
}
