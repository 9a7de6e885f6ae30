// SPDX-License-Identifier: MIT
// Pages for the heads of tensors, and the handler that knows what was in them.
#include "base/checked.h"
#include "base/error.h"
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { PAGE = 4096, PAGES = 1 << 16 };

typedef struct Place {
  const char *file;
  int line;
} Place;

typedef struct Record {
  Place made, freed;
  const char *reason; // NULL: by the library itself, or fy_release
} Record;

bool fy_checked;
_Thread_local const char *fy_checked_reason;
bool (*fy_checked_past_the_end)(const void *address, FyPastTheEnd *past);

static char *arena; // PAGES of them, all without access but those of living tensors
static Record *records;
static uint32_t *freed; // a ring: pages in the order in which they were freed
static uint32_t fresh, freed_first, freed_count;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct sigaction previous_segv, previous_bus;

static Place place_here(void) {
  return (Place){fy_where_file ? fy_where_file : "?", fy_where_line};
}

// ---- pages -----------------------------------------------------------------------------------------------------------------

// One that was never used, or the one that was freed longest ago. -1: all are in use.
static int64_t take_page(void) {
  int64_t page = -1;
  pthread_mutex_lock(&lock);
  if (fresh < PAGES) {
    page = fresh++;
  } else if (freed_count > 0) {
    page = freed[freed_first];
    freed_first = (freed_first + 1) % PAGES;
    freed_count--;
  }
  pthread_mutex_unlock(&lock);
  return page;
}

static void give_page(uint32_t page) {
  pthread_mutex_lock(&lock);
  freed[(freed_first + freed_count) % PAGES] = page;
  freed_count++;
  pthread_mutex_unlock(&lock);
}

void *fy_checked_alloc(size_t bytes) {
  int64_t page = bytes <= PAGE ? take_page() : -1;
  if (page < 0)
    return NULL;
  void *block = arena + page * PAGE;
  if (mprotect(block, PAGE, PROT_READ | PROT_WRITE) != 0) { // too many mappings
    give_page((uint32_t)page);
    return NULL;
  }
  records[page] = (Record){.made = place_here()};
  return block;
}

bool fy_checked_free(void *block) {
  const uintptr_t offset = (uintptr_t)block - (uintptr_t)arena;
  if (!arena || offset >= (uintptr_t)PAGES * PAGE)
    return false;
  const uint32_t page = (uint32_t)(offset / PAGE);
  records[page].freed = place_here();
  records[page].reason = fy_checked_reason;
  // Another mapping in its place: it gives the memory back, too.
  const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED;
  if (mmap(block, PAGE, PROT_NONE, flags, -1, 0) != MAP_FAILED)
    give_page(page);
  return true;
}

// ---- who touches a freed one, or what lies behind a tensor's memory ------------------------------------------------------------

static void unblock(void) {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGSEGV);
  sigaddset(&signals, SIGBUS);
  pthread_sigmask(SIG_UNBLOCK, &signals, NULL);
}

static _Noreturn void raise_used_after(const Record *r) {
  unblock(); // the handler is left by a long jump
  if (r->reason)
    fy_raise(FY_RUNTIME_ERROR,
             "a tensor is used after %s has ended: it was made at %s:%d, and freed with the scope at %s:%d. "
             "`x = fy_keep(x)` at the end of that scope hands it to the scope around; fy_retain holds it for longer",
             r->reason, r->made.file, r->made.line, r->freed.file, r->freed.line);
  fy_raise(FY_RUNTIME_ERROR,
           "a tensor is used after it was freed: it was made at %s:%d, and given up (fy_drop, fy_release) at %s:%d",
           r->made.file, r->made.line, r->freed.file, r->freed.line);
}

static _Noreturn void raise_past_the_end(const FyPastTheEnd *past) {
  unblock();
  fy_raise(FY_INDEX_ERROR,
           "host code reads or writes at byte %zu of a tensor's memory that has %zu bytes, made at %s:%d",
           past->bytes + past->beyond, past->bytes, past->file ? past->file : "?", past->line);
}

static void on_fault(int number, siginfo_t *info, void *context) {
  const uintptr_t offset = (uintptr_t)info->si_addr - (uintptr_t)arena;
  if (offset < (uintptr_t)PAGES * PAGE && records[offset / PAGE].freed.file)
    raise_used_after(&records[offset / PAGE]);
  FyPastTheEnd past;
  if (fy_checked_past_the_end && fy_checked_past_the_end(info->si_addr, &past))
    raise_past_the_end(&past);
  const struct sigaction *previous = number == SIGBUS ? &previous_bus : &previous_segv;
  if (previous->sa_flags & SA_SIGINFO)
    previous->sa_sigaction(number, info, context);
  else if (previous->sa_handler != SIG_DFL && previous->sa_handler != SIG_IGN)
    previous->sa_handler(number);
  else
    sigaction(number, &(struct sigaction){.sa_handler = SIG_DFL}, NULL); // the access is repeated, and ends the program
}

__attribute__((constructor)) static void begin(void) {
  const char *wanted = getenv("FERRY_CHECKED");
  if (!wanted || strcmp(wanted, "1") != 0)
    return;
  const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
  arena = mmap(NULL, (size_t)PAGES * PAGE, PROT_NONE, flags, -1, 0);
  records = calloc(PAGES, sizeof *records);
  freed = calloc(PAGES, sizeof *freed);
  if (arena == MAP_FAILED || !records || !freed) {
    fprintf(stderr,
            "ferry: FERRY_CHECKED=1 takes %d MiB of addresses, which are not to be had; raise the limit "
            "(ulimit -v), or unset it\n",
            (int)((size_t)PAGES * PAGE >> 20));
    _exit(2); // who asked for checks is not left without
  }
  struct sigaction action = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO | SA_ONSTACK};
  sigemptyset(&action.sa_mask);
  sigaction(SIGSEGV, &action, &previous_segv);
  sigaction(SIGBUS, &action, &previous_bus);
  fy_checked = true;
}
