// SPDX-License-Identifier: MIT
// Memory that ends at a page which nobody may touch, and remembers whether something was written before it.
#ifndef FERRY_BASE_GUARDED_H
#define FERRY_BASE_GUARDED_H

#include <stdbool.h>
#include <stddef.h>

enum {
  GUARD_PAGE = 4096,
  GUARD_FRONT = 16,       // bytes before the memory that have to stay as they are
  GUARD_UNWRITTEN = 0xff, // in each of those and of memory that nobody has written: NaN in every floating type
  GUARD_MOST_FILLED = 1 << 20,
};

// A mapping with room for GUARD_FRONT and so many bytes, behind which the page lies: the last of *mapped bytes. NULL with ENOMEM: no room.
char *fy_guarded_map(size_t bytes, size_t *mapped);

// Of memory that begins to be somebody's, or is nobody's any more: not written, as far as GUARD_MOST_FILLED bytes go.
void fy_guarded_mark(char *data, size_t bytes);

// Nothing was written before it since.
bool fy_guarded_front_is_whole(const void *data);

#endif
