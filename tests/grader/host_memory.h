// SPDX-License-Identifier: MIT
// An answer's own host memory: what child.c asks of it, what answer.c links with it, what judge.c finds in what it says.
#ifndef GRADER_HOST_MEMORY_H
#define GRADER_HOST_MEMORY_H

// Of answer.o, which calls the C library by these names.
#define HOST_MEMORY_CALLS                                                                                              \
  "--redefine-sym malloc=host_memory_malloc --redefine-sym calloc=host_memory_calloc "                                 \
  "--redefine-sym realloc=host_memory_realloc --redefine-sym aligned_alloc=host_memory_aligned_alloc "                 \
  "--redefine-sym posix_memalign=host_memory_posix_memalign --redefine-sym strdup=host_memory_strdup "                 \
  "--redefine-sym strndup=host_memory_strndup"
// Of the whole program: what an answer got may be freed by a driver or the library.
#define HOST_MEMORY_WRAPPED "-Wl,--wrap=free,--wrap=realloc"

// Begins the line in which use of freed memory is said.
#define HOST_MEMORY_FREED "ferry: memory from malloc that was freed "

// Begins the line in which it is said that something was written before memory: the library's of a tensor (device/host_allocator.c), too.
#define HOST_MEMORY_BEFORE "ferry: memory before the first of "

// Ends the program if something was written before memory that is still the answer's. NULL in programs that are linked without
// (for a GPU, and by ./ferry inspect).
__attribute__((weak)) void host_memory_check(void);

#endif
