// SPDX-License-Identifier: MIT
// An answer's own host memory. What it gets from malloc and its like ends at a page that nobody may touch, and what it has freed is
// closed: the place where it reads or writes too far, or too late, ends it with a line that judge.c finds, instead of giving it
// whatever lies there. answer.c links its calls to these functions; the library and drivers keep their own, but for `free` and
// `realloc`, which may be handed what an answer got.
#include "host_memory.h"
#include "base/guarded.h"
#include "sim/engine/crash.h"
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum {
  MOST_CLOSED = 64 << 20, // bytes that are kept from being used when they are freed; the rest goes back to the system
  MOST_GUARDED = 10000,   // of an answer that asks more often, the rest is from malloc as usual
};

// The page that nobody may touch begins behind the memory, rounded up to its alignment.
typedef struct Guarded {
  char *start; // of the mapping
  char *data;  // what the answer has
  size_t mapped, bytes;
  bool freed;
} Guarded;

static Guarded all[MOST_GUARDED];
static int count;
static char *lowest, *highest; // between which what is in `all` lies
static size_t closed;          // bytes of address space
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

void *__real_realloc(void *memory, size_t bytes);
void __real_free(void *memory);
void *__wrap_realloc(void *memory, size_t bytes);
void __wrap_free(void *memory);
void *host_memory_malloc(size_t bytes);
void *host_memory_calloc(size_t items, size_t bytes);
void *host_memory_realloc(void *memory, size_t bytes);
void *host_memory_aligned_alloc(size_t alignment, size_t bytes);
int host_memory_posix_memalign(void **memory, size_t alignment, size_t bytes);
char *host_memory_strdup(const char *text);
char *host_memory_strndup(const char *text, size_t most);

// ---- mistakes --------------------------------------------------------------------------------------------------------------

static _Noreturn void end_outside(void) {
  __builtin_trap(); // as the compiler ends what leaves a declared array
}

static _Noreturn void end_too_late(const Guarded *g, const char *what) {
  fprintf(stderr, HOST_MEMORY_FREED "%s; the block had %zu bytes\n", what, g->bytes);
  sim_crash_tell_stack(NULL);
  signal(SIGABRT, SIG_DFL);
  abort();
}

static void look_before(const Guarded *g) {
  if (fy_guarded_front_is_whole(g->data))
    return;
  fprintf(stderr, HOST_MEMORY_BEFORE "the %zu bytes from malloc was written\n", g->bytes);
  end_outside();
}

static struct sigaction previous_segv, previous_bus;

static void on_fault(int number, siginfo_t *info, void *context) {
  (void)context;
  const char *address = info->si_addr;
  for (int i = count - 1; i >= 0; i--) {
    const Guarded *g = &all[i];
    if (address < g->start || address >= g->start + g->mapped)
      continue;
    if (g->freed)
      end_too_late(g, "is used");
    fprintf(stderr, "ferry: byte %zu of memory from malloc is read or written, but the block has only %zu bytes\n",
            (size_t)(address - g->data), g->bytes);
    end_outside();
  }
  sigaction(number, number == SIGBUS ? &previous_bus : &previous_segv, NULL); // the access is repeated
}

// Before those of the simulator and the checked mode, which pass on what is none of theirs.
__attribute__((constructor(101))) static void begin(void) {
  struct sigaction action = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO | SA_ONSTACK};
  sigemptyset(&action.sa_mask);
  sim_crash_init();
  sigaction(SIGSEGV, &action, &previous_segv);
  sigaction(SIGBUS, &action, &previous_bus);
}

// ---- memory ----------------------------------------------------------------------------------------------------------------

// So aligned that it can end where the page does, if its size allows what malloc's callers count on: 4 for an int or a float.
static size_t alignment_of(size_t bytes) {
  return bytes % 16 == 0 || bytes % 4 != 0 ? 16 : bytes % 8 == 0 ? 8 : 4;
}

// NULL: there is no room, in the table or in the system.
static Guarded *guarded(size_t bytes, size_t alignment) {
  const bool aligned = alignment > 0 && alignment <= GUARD_PAGE && (alignment & (alignment - 1)) == 0;
  if (!aligned || bytes > SIZE_MAX / 2 || count >= MOST_GUARDED)
    return NULL;
  const size_t room = (bytes + alignment - 1) / alignment * alignment;
  size_t mapped;
  char *start = fy_guarded_map(room, &mapped);
  if (start == NULL)
    return NULL;
  lowest = !lowest || start < lowest ? start : lowest;
  highest = start + mapped > highest ? start + mapped : highest;
  Guarded *g = &all[count++];
  *g = (Guarded){.start = start, .data = start + mapped - GUARD_PAGE - room, .mapped = mapped, .bytes = bytes};
  fy_guarded_mark(g->data, room);
  return g;
}

static void *from_system(size_t bytes, size_t alignment) {
  return alignment == 4 || alignment == 8 || alignment == 16 ? malloc(bytes) : aligned_alloc(alignment, bytes);
}

static void *allocate(size_t bytes, size_t alignment) {
  pthread_mutex_lock(&lock);
  Guarded *g = guarded(bytes, alignment);
  void *memory = g ? g->data : NULL;
  pthread_mutex_unlock(&lock);
  return memory ? memory : from_system(bytes, alignment);
}

// NULL: it is not one of an answer's.
static Guarded *guarded_at(const char *memory) {
  if (memory < lowest || memory >= highest)
    return NULL;
  for (int i = count - 1; i >= 0; i--)
    if (all[i].data == memory)
      return &all[i];
  return NULL;
}

static bool give_back(void *memory) {
  pthread_mutex_lock(&lock);
  Guarded *g = guarded_at(memory);
  if (g && g->freed)
    end_too_late(g, "is freed again");
  if (g) {
    look_before(g);
    g->freed = true;
    closed += g->mapped;
    if (closed > MOST_CLOSED) {
      closed -= g->mapped;
      munmap(g->start, g->mapped);
      *g = (Guarded){0};
    } else {
      mmap(g->start, g->mapped, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
    }
  }
  pthread_mutex_unlock(&lock);
  return g != NULL;
}

void host_memory_check(void) {
  pthread_mutex_lock(&lock);
  for (int i = 0; i < count; i++)
    if (all[i].data && !all[i].freed)
      look_before(&all[i]);
  pthread_mutex_unlock(&lock);
}

// ---- what an answer calls --------------------------------------------------------------------------------------------------

void *host_memory_malloc(size_t bytes) {
  return allocate(bytes, alignment_of(bytes));
}

void *host_memory_calloc(size_t items, size_t bytes) {
  size_t all_bytes;
  if (__builtin_mul_overflow(items, bytes, &all_bytes)) {
    errno = ENOMEM;
    return NULL;
  }
  void *memory = host_memory_malloc(all_bytes);
  return memory ? memset(memory, 0, all_bytes) : NULL;
}

void *host_memory_aligned_alloc(size_t alignment, size_t bytes) {
  return allocate(bytes, alignment);
}

int host_memory_posix_memalign(void **memory, size_t alignment, size_t bytes) {
  void *got = allocate(bytes, alignment);
  if (got)
    *memory = got;
  return got ? 0 : ENOMEM;
}

char *host_memory_strdup(const char *text) {
  return host_memory_strndup(text, strlen(text));
}

char *host_memory_strndup(const char *text, size_t most) {
  const size_t length = strnlen(text, most);
  char *copy = host_memory_malloc(length + 1);
  if (copy) {
    memcpy(copy, text, length);
    copy[length] = '\0';
  }
  return copy;
}

void __wrap_free(void *memory) {
  if (memory && !give_back(memory))
    __real_free(memory);
}

void *__wrap_realloc(void *memory, size_t bytes) {
  pthread_mutex_lock(&lock);
  const Guarded *g = memory ? guarded_at(memory) : NULL;
  const size_t had = g ? g->bytes : 0;
  if (g && g->freed)
    end_too_late(g, "is given to realloc");
  pthread_mutex_unlock(&lock);
  if (!g)
    return __real_realloc(memory, bytes);
  void *larger = host_memory_malloc(bytes);
  if (larger) {
    memcpy(larger, memory, had < bytes ? had : bytes);
    give_back(memory);
  }
  return larger;
}

void *host_memory_realloc(void *memory, size_t bytes) {
  return memory ? __wrap_realloc(memory, bytes) : host_memory_malloc(bytes);
}
