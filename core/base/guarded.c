// SPDX-License-Identifier: MIT
#include "base/guarded.h"
#include <errno.h>
#include <string.h>
#include <sys/mman.h>

char *fy_guarded_map(size_t bytes, size_t *mapped) {
  *mapped = (bytes + GUARD_FRONT + GUARD_PAGE - 1) / GUARD_PAGE * GUARD_PAGE + GUARD_PAGE;
  char *start = mmap(NULL, *mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (start != MAP_FAILED && mprotect(start + *mapped - GUARD_PAGE, GUARD_PAGE, PROT_NONE) == 0)
    return start;
  if (start != MAP_FAILED)
    munmap(start, *mapped);
  errno = ENOMEM;
  return NULL;
}

void fy_guarded_mark(char *data, size_t bytes) {
  memset(data - GUARD_FRONT, GUARD_UNWRITTEN, GUARD_FRONT + (bytes <= GUARD_MOST_FILLED ? bytes : 0));
}

bool fy_guarded_front_is_whole(const void *data) {
  const unsigned char *at = data;
  bool whole = true;
  for (int i = 1; i <= GUARD_FRONT; i++)
    whole &= at[-i] == GUARD_UNWRITTEN;
  return whole;
}
