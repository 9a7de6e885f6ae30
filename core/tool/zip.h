// SPDX-License-Identifier: MIT
// A zip archive in memory, without compression (PKWARE APPNOTE 6.3.3: local headers, central directory, its end).
#ifndef TOOL_ZIP_H
#define TOOL_ZIP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct Zip {
  unsigned char *at; // the archive
  size_t used, room;
  unsigned char *directory; // what zip_end puts after the files
  size_t directory_used, directory_room;
  unsigned count;
} Zip;

// Below 4 GiB in all. Files have Unix modes, 0755 or 0644.
void zip_add(Zip *z, const char *name, const void *bytes, size_t size, bool executable);
void zip_end(Zip *z);
void zip_free(Zip *z);

#endif
