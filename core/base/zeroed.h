// Small zeroed blocks of the C library's heap.
#ifndef FERRY_BASE_ZEROED_H
#define FERRY_BASE_ZEROED_H

#include <stdlib.h>
#include <string.h>

// calloc in effect, NULL when there is no memory; free frees it. glibc's calloc does not look into the thread's cache of freed
// blocks, which malloc takes from in a few nanoseconds; the empty assembly keeps compilers from making one a calloc again.
static inline void *fy_malloc_zeroed(size_t bytes) {
  void *block = malloc(bytes);
  __asm__("" : "+r"(block));
  return block ? memset(block, 0, bytes) : NULL;
}

#endif
