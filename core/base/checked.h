// SPDX-License-Identifier: MIT
// The checked mode (FERRY_CHECKED=1; answers and `ferry play` run in it): a tensor that is used after it was freed raises an error
// which says where it was made and what freed it, in place of a crash or another tensor's values; and so does host code that reads or
// writes behind a CPU tensor's last element. What is not written yet is NaN. Who writes before the first element ends the program when
// the memory is freed.
//
// Every tensor's head then has a page of its own. A freed one's page can be neither read nor written, so that whoever touches it,
// a function of the library most often, ends up in a handler of SIGSEGV, which knows the page. Freed pages are used again only
// after all others; a tensor that finds no page is an unchecked one. Costs a call of the system for each tensor made and freed.
#ifndef FERRY_BASE_CHECKED_H
#define FERRY_BASE_CHECKED_H

#include <stdbool.h>
#include <stddef.h>

// Memory of a tensor that an address lies behind.
typedef struct FyPastTheEnd {
  size_t bytes, beyond; // how large it is, and how far behind its end the address lies
  const char *file;     // where it was made
  int line;
} FyPastTheEnd;

extern bool fy_checked; // set before main

// Why this thread gives references up at the moment: "its scope" or NULL. For scope.c.
extern _Thread_local const char *fy_checked_reason;

// Whose end lies just before `address`; false: nobody's. The allocator of host memory (device/host_allocator.c) sets it.
extern bool (*fy_checked_past_the_end)(const void *address, FyPastTheEnd *past);

// A zeroed block of at most a page, which notes the place of the public function that is running; NULL: there is no page left.
void *fy_checked_alloc(size_t bytes);

// Takes such a block back; false: it is none.
bool fy_checked_free(void *block);

#endif
