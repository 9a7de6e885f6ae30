// SPDX-License-Identifier: MIT
// Host memory of CPU tensors. A page that is new to the process costs more than the work done on it (1.7 us for 4 KiB), so
// freed blocks are kept: small ones by the thread that freed them, without a lock, the others for all threads.
//
// In the checked mode (base/checked.h) a block ends at a page that nobody may touch, and a tensor's data ends where its block does:
// who reads or writes behind it ends up in the handler there. Each takes the system two mappings, of which it gives a process some
// 65000; blocks beyond MOST_GUARDED are as without the mode.
// Over 500 lines: the caches of threads and of the process, under one lock, with the checked mode's pages.
#include "base/checked.h"
#include "base/guarded.h"
#include "base/sanitized.h"
#include "device/impl.h"
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#ifdef FY_ASAN
// Cached memory, and what a block has beyond the bytes asked for, is as forbidden as freed memory.
#include <sanitizer/asan_interface.h>
#define FORBID(pointer, bytes) ASAN_POISON_MEMORY_REGION(pointer, bytes)
#define ALLOW(pointer, bytes) ASAN_UNPOISON_MEMORY_REGION(pointer, bytes)
#else
#define FORBID(pointer, bytes) ((void)0)
#define ALLOW(pointer, bytes) ((void)0)
#endif

enum {
  ALIGNMENT = 64,
  CLASSES = 328,             // sizes up to 2^46 bytes: multiples of 64 up to 512, then eight to each doubling
  THREAD_CLASSES = 64,       // those of up to 64 KiB, which threads keep for themselves,
  THREAD_BYTES = 2 << 20,    // as long as it is not more than this
  HUGE_PAGE = 2 << 20,       // larger blocks are mapped by themselves, on huge pages where the system has them
  FLEXIBLE_SIZE = 256 << 10, // from here on a block that is a little too large will do
  FLEXIBLE_CLASSES = 2,
  SMALL_SIZE = 1 << 20, // what snapshots call small
  MOST_GUARDED = 16384,
};

// In front of the memory of a block from malloc, elsewhere for a mapped one.
// `requested`, `file` and `line` are the owning thread's to write; others may be reading them for a snapshot.
typedef struct HostBlock {
  struct HostBlock *next;
  void *pointer;
  atomic_size_t requested; // 0: free
  const char *_Atomic file;
  atomic_int line;
  int class;
  size_t mapped;                         // bytes, in the checked mode with the page after them; 0: from malloc
  struct HostBlock *all_prev, *all_next; // in the list of all blocks
} HostBlock;
_Static_assert(sizeof(HostBlock) <= ALIGNMENT, "the record stands in one cache line before the data");

// Only the owning thread writes these; fy_host_memory_stats reads the numbers from others.
typedef struct ThreadCache {
  struct ThreadCache *prev, *next;
  HostBlock *free_blocks[THREAD_CLASSES];
  size_t bytes;
  _Atomic int64_t allocations, frees, requested;
  bool registered;
} ThreadCache;

static _Thread_local ThreadCache thread_cache;

// For the next four. It tells a thread that holds it already: past_the_end asks for it in a handler of signals.
static pthread_mutex_t lock = PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP;
static HostBlock *free_blocks[CLASSES];
static HostBlock *all_blocks;
static ThreadCache *threads;
static FyMemoryStats totals; // of threads that have ended, and all counts of system calls

static atomic_size_t allocated, allocated_peak, reserved, reserved_peak;
static atomic_int guarded; // blocks
static size_t cache_limit, physical_memory;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_key_t key;

// ---- size classes ----------------------------------------------------------------------------------------------------

static int class_of(size_t bytes) {
  size_t last = (bytes - 1) / ALIGNMENT;
  if (last < 8)
    return (int)last;
  int e = 63 - __builtin_clzll(last);
  return (e - 2) * 8 + (int)((last >> (e - 3)) & 7);
}

static size_t capacity_of(int class) {
  if (class < 8)
    return (size_t)(class + 1) * ALIGNMENT;
  return (size_t)(class % 8 + 9) << (class / 8 - 1) << 6;
}

// ---- counting --------------------------------------------------------------------------------------------------------

static void raise_peak(atomic_size_t *peak, size_t value) {
  size_t old = atomic_load_explicit(peak, memory_order_relaxed);
  while (old < value &&
         !atomic_compare_exchange_weak_explicit(peak, &old, value, memory_order_relaxed, memory_order_relaxed)) {
  }
}

// A plain addition that other threads may watch: cheaper than an atomic one.
static void count(_Atomic int64_t *counter, int64_t n) {
  atomic_store_explicit(counter, atomic_load_explicit(counter, memory_order_relaxed) + n, memory_order_relaxed);
}

static void count_reserved(size_t bytes) {
  raise_peak(&reserved_peak, atomic_fetch_add(&reserved, bytes) + bytes);
}

static bool is_guarded(const HostBlock *block) {
  return fy_checked && block->mapped;
}

// Where the data of an owner that asked for so many bytes begins: with the block, or such that it ends where the block does (and as
// aligned as its size is, so that it can).
static void *data_of(const HostBlock *block, size_t bytes) {
  return is_guarded(block) ? (char *)block->pointer + (block->mapped - GUARD_PAGE - bytes) : block->pointer;
}

// In the checked mode one that came too late for a page behind it is not: when it is free there may be room for one that has it.
static bool may_be_kept(const HostBlock *block) {
  return !fy_checked || is_guarded(block);
}

static void record(FyMemoryAction action, const HostBlock *block, size_t size) {
  if (fy_records_memory())
    fy_record_memory_event(FY_HISTORY_CPU,
                           (FyMemoryEvent){.action = action,
                                           .address = (uintptr_t)data_of(block, size),
                                           .size = size,
                                           .allocated = atomic_load_explicit(&allocated, memory_order_relaxed)});
}

// ---- the system's memory ---------------------------------------------------------------------------------------------

static HostBlock *map_block(size_t capacity) {
  if (capacity > physical_memory) { // a system that overcommits would agree, and kill the process later
    errno = ENOMEM;
    return NULL;
  }
  HostBlock *block = malloc(sizeof *block);
  if (!block)
    return NULL;
  size_t page = 4096;
  size_t bytes = (capacity + page - 1) / page * page;
  char *start = mmap(NULL, bytes + HUGE_PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (start == MAP_FAILED) {
    free(block);
    return NULL;
  }
  // Mapped with one huge page to spare: what lies before the first boundary, and after the end, goes back.
  size_t before = (HUGE_PAGE - (uintptr_t)start % HUGE_PAGE) % HUGE_PAGE;
  if (before)
    munmap(start, before);
  if (HUGE_PAGE - before)
    munmap(start + before + bytes, HUGE_PAGE - before);
  madvise(start + before, bytes, MADV_HUGEPAGE);
  *block = (HostBlock){.pointer = start + before, .mapped = bytes};
  return block;
}

static HostBlock *map_before_a_guard(size_t capacity) {
  size_t mapped;
  HostBlock *block = capacity <= physical_memory ? malloc(sizeof *block) : NULL;
  char *start = block ? fy_guarded_map(capacity, &mapped) : NULL;
  if (start == NULL) {
    free(block);
    errno = ENOMEM;
    return NULL;
  }
  atomic_fetch_add(&guarded, 1);
  *block = (HostBlock){.pointer = start, .mapped = mapped};
  return block;
}

static bool may_guard_another(void) {
  if (atomic_load(&guarded) >= MOST_GUARDED)
    fy_host_empty_cache();
  return atomic_load(&guarded) < MOST_GUARDED;
}

static HostBlock *system_alloc(int class) {
  size_t capacity = capacity_of(class);
  HostBlock *block = NULL;
  if (fy_checked && (capacity >= HUGE_PAGE || may_guard_another())) {
    block = map_before_a_guard(capacity);
  } else if (capacity >= HUGE_PAGE) {
    block = map_block(capacity);
  } else {
    block = aligned_alloc(ALIGNMENT, ALIGNMENT + capacity);
    if (block)
      *block = (HostBlock){.pointer = (char *)block + ALIGNMENT};
  }
  if (!block)
    return NULL;
  block->class = class;
  count_reserved(capacity);
  record(FY_MEMORY_SEGMENT_ALLOC, block, capacity);
  pthread_mutex_lock(&lock);
  totals.device_mallocs++;
  block->all_next = all_blocks;
  if (all_blocks)
    all_blocks->all_prev = block;
  all_blocks = block;
  pthread_mutex_unlock(&lock);
  return block;
}

// The lock is held.
static void system_free(HostBlock *block) {
  record(FY_MEMORY_SEGMENT_FREE, block, capacity_of(block->class));
  if (block->all_prev)
    block->all_prev->all_next = block->all_next;
  else
    all_blocks = block->all_next;
  if (block->all_next)
    block->all_next->all_prev = block->all_prev;
  ALLOW(data_of(block, capacity_of(block->class)), capacity_of(block->class));
  totals.device_frees++;
  atomic_fetch_sub(&reserved, capacity_of(block->class));
  if (block->mapped) {
    munmap(block->pointer, block->mapped);
    if (is_guarded(block))
      atomic_fetch_sub(&guarded, 1);
  }
  free(block);
}

static void system_free_list(HostBlock **list) {
  while (*list) {
    HostBlock *block = *list;
    *list = block->next;
    system_free(block);
  }
}

// ---- threads ---------------------------------------------------------------------------------------------------------

static void end_thread(void *pointer) {
  ThreadCache *t = pointer;
  pthread_mutex_lock(&lock);
  for (int c = 0; c < THREAD_CLASSES; c++) {
    while (t->free_blocks[c]) {
      HostBlock *block = t->free_blocks[c];
      t->free_blocks[c] = block->next;
      block->next = free_blocks[c];
      free_blocks[c] = block;
    }
  }
  if (t->prev)
    t->prev->next = t->next;
  else
    threads = t->next;
  if (t->next)
    t->next->prev = t->prev;
  totals.allocations += t->allocations;
  totals.frees += t->frees;
  totals.requested += (size_t)t->requested;
  pthread_mutex_unlock(&lock);
  memset(t, 0, sizeof *t);
}

static size_t cache_limit_wanted(size_t otherwise) {
  const char *value = getenv("FERRY_HOST_CACHE_MB");
  if (!value || !value[0])
    return otherwise;
  char *end;
  errno = 0;
  unsigned long long megabytes = strtoull(value, &end, 10);
  if (*end == '\0' && value[0] != '-' && errno == 0 && megabytes < 1ull << 43)
    return (size_t)megabytes << 20;
  fprintf(stderr, "ferry: FERRY_HOST_CACHE_MB=%s is not a number of MiB (unset: a quarter of the memory)\n", value);
  exit(2);
}

// For the handler of the checked mode: whose end lies at most a page before `address`. A fault of the allocator itself, in a
// heap that the program has damaged, is no tensor's.
static bool past_the_end(const void *address, FyPastTheEnd *past) {
  bool found = false;
  if (pthread_mutex_lock(&lock) != 0) // this thread's own
    return false;
  for (const HostBlock *b = all_blocks; b && !found; b = b->all_next) {
    const uintptr_t beyond = (uintptr_t)address - ((uintptr_t)b->pointer + b->mapped - GUARD_PAGE);
    found = is_guarded(b) && beyond < GUARD_PAGE;
    if (found)
      *past = (FyPastTheEnd){.beyond = beyond,
                             .bytes = atomic_load_explicit(&b->requested, memory_order_relaxed),
                             .file = atomic_load_explicit(&b->file, memory_order_relaxed),
                             .line = atomic_load_explicit(&b->line, memory_order_relaxed)};
  }
  pthread_mutex_unlock(&lock);
  return found;
}

static void set_up(void) {
  fy_checked_past_the_end = past_the_end;
  if (pthread_key_create(&key, end_thread) != 0)
    fy_panic("no thread key left for the host allocator");
  long pages = sysconf(_SC_PHYS_PAGES);
  long page = sysconf(_SC_PAGESIZE);
  physical_memory = pages > 0 && page > 0 ? (size_t)pages * (size_t)page : SIZE_MAX;
  cache_limit = cache_limit_wanted(physical_memory / 4);
}

// A thread enters the list when it first counts something; its end takes it out.
static ThreadCache *registered_cache(void) {
  ThreadCache *t = &thread_cache;
  if (t->registered)
    return t;
  pthread_once(&once, set_up);
  t->registered = true;
  pthread_setspecific(key, t);
  pthread_mutex_lock(&lock);
  t->next = threads;
  if (threads)
    threads->prev = t;
  threads = t;
  pthread_mutex_unlock(&lock);
  return t;
}

// ---- allocating ------------------------------------------------------------------------------------------------------

static HostBlock *take_shared(int class) {
  int last = capacity_of(class) >= FLEXIBLE_SIZE ? class + FLEXIBLE_CLASSES : class;
  HostBlock *block = NULL;
  pthread_mutex_lock(&lock);
  for (int c = class; c <= last && c < CLASSES && !block; c++) {
    block = free_blocks[c];
    if (block)
      free_blocks[c] = block->next;
  }
  pthread_mutex_unlock(&lock);
  return block;
}

static HostBlock *take_after_emptying(int class) {
  fy_host_empty_cache();
  HostBlock *block = system_alloc(class);
  int error = errno;
  pthread_mutex_lock(&lock);
  totals.retries++;
  pthread_mutex_unlock(&lock);
  errno = error;
  return block;
}

static _Noreturn void raise_out_of_memory(size_t bytes) {
  int error = errno;
  fy_raise(FY_OUT_OF_MEMORY_ERROR,
           "DefaultCPUAllocator: can't allocate memory: you tried to allocate %zu bytes. Error code %d (%s)", bytes,
           error, strerror(error));
}

static void count_out_of_memory(size_t bytes) {
  int error = errno;
  pthread_mutex_lock(&lock);
  totals.out_of_memories++;
  pthread_mutex_unlock(&lock);
  if (fy_records_memory()) {
    long pages = sysconf(_SC_AVPHYS_PAGES), page = sysconf(_SC_PAGESIZE);
    fy_record_memory_event(FY_HISTORY_CPU,
                           (FyMemoryEvent){.action = FY_MEMORY_OOM,
                                           .size = bytes,
                                           .allocated = atomic_load(&allocated),
                                           .device_free = pages > 0 ? (size_t)pages * (size_t)page : 0});
  }
  errno = error;
}

// A block for `bytes`, the calling thread's or another, new or used before. Where there is none errno says why.
static HostBlock *take_block(ThreadCache *t, size_t bytes) {
  if (bytes > (size_t)1 << 46) {
    errno = ENOMEM;
    return NULL;
  }
  int class = class_of(bytes);
  HostBlock *block = class < THREAD_CLASSES ? t->free_blocks[class] : NULL;
  if (block) {
    t->free_blocks[class] = block->next;
    t->bytes -= capacity_of(class);
    return block;
  }
  errno = ENOMEM;
  block = take_shared(class);
  if (!block)
    block = system_alloc(class);
  return block ? block : take_after_emptying(class);
}

// Of memory that begins to be somebody's, or is nobody's any more.
static void mark_unwritten(char *data, size_t bytes) {
  ALLOW(data - GUARD_FRONT, GUARD_FRONT + bytes);
  fy_guarded_mark(data, bytes);
  FORBID(data - GUARD_FRONT, GUARD_FRONT);
}

// Where it fails errno says why.
bool fy_host_try_alloc(size_t bytes, void **pointer, void **handle) {
  *pointer = NULL;
  *handle = NULL;
  if (bytes == 0)
    return true;
  ThreadCache *t = registered_cache();
  HostBlock *block = take_block(t, bytes);
  if (!block) {
    count_out_of_memory(bytes);
    return false;
  }
  size_t capacity = capacity_of(block->class);
  atomic_store_explicit(&block->requested, bytes, memory_order_relaxed);
  atomic_store_explicit(&block->file, fy_where_file, memory_order_relaxed);
  atomic_store_explicit(&block->line, fy_where_line, memory_order_relaxed);
  count(&t->allocations, 1);
  count(&t->requested, (int64_t)bytes);
  size_t now = atomic_fetch_add_explicit(&allocated, capacity, memory_order_relaxed) + capacity;
  raise_peak(&allocated_peak, now);
  record(FY_MEMORY_ALLOC, block, bytes);
  *pointer = data_of(block, bytes);
  if (is_guarded(block))
    mark_unwritten(*pointer, bytes);
  ALLOW(*pointer, bytes);
  if (!is_guarded(block))
    FORBID((char *)*pointer + bytes, capacity - bytes);
  *handle = block;
  return true;
}

void fy_host_alloc(size_t bytes, void **pointer, void **handle) {
  if (!fy_host_try_alloc(bytes, pointer, handle))
    raise_out_of_memory(bytes);
}

// ---- freeing ---------------------------------------------------------------------------------------------------------

// The two numbers change one after the other, and other threads may change both in between: their difference is none below 0.
static size_t cached_bytes(void) {
  size_t in_use = atomic_load(&allocated), all = atomic_load(&reserved);
  return all > in_use ? all - in_use : 0;
}

static void free_shared(HostBlock *block) {
  size_t cached = cached_bytes();
  pthread_mutex_lock(&lock);
  // Over the limit: what lies in the cache is of sizes nobody wants now, or it would have been taken.
  if (cached > cache_limit)
    for (int c = THREAD_CLASSES; c < CLASSES; c++)
      system_free_list(&free_blocks[c]);
  if (capacity_of(block->class) > cache_limit || !may_be_kept(block)) {
    system_free(block);
  } else {
    block->next = free_blocks[block->class];
    free_blocks[block->class] = block;
  }
  pthread_mutex_unlock(&lock);
}

// Nothing can be raised where memory is freed, and what lies before it belongs to nobody that could go on.
static void look_before(const HostBlock *block, size_t bytes) {
  const unsigned char *data = data_of(block, bytes);
  ALLOW(data - GUARD_FRONT, GUARD_FRONT);
  if (fy_guarded_front_is_whole(data))
    return;
  fflush(stdout);
  fprintf(stderr, "ferry: memory before the first of a tensor's %zu bytes was written; it was made at %s:%d\n", bytes,
          block->file ? block->file : "?", block->line);
  abort();
}

void fy_host_free(void *handle) {
  HostBlock *block = handle;
  if (!block)
    return;
  ThreadCache *t = registered_cache();
  size_t capacity = capacity_of(block->class);
  size_t bytes = atomic_load_explicit(&block->requested, memory_order_relaxed);
  if (is_guarded(block)) {
    look_before(block, bytes);
    mark_unwritten(data_of(block, bytes), bytes);
  }
  count(&t->frees, 1);
  count(&t->requested, -(int64_t)bytes);
  atomic_fetch_sub_explicit(&allocated, capacity, memory_order_relaxed);
  record(FY_MEMORY_FREE_REQUESTED, block, bytes);
  record(FY_MEMORY_FREE_COMPLETED, block, bytes);
  atomic_store_explicit(&block->requested, 0, memory_order_relaxed);
  FORBID(data_of(block, capacity), capacity);
  if (block->class >= THREAD_CLASSES || t->bytes + capacity > THREAD_BYTES || !may_be_kept(block)) {
    free_shared(block);
    return;
  }
  block->next = t->free_blocks[block->class];
  t->free_blocks[block->class] = block;
  t->bytes += capacity;
}

void fy_host_empty_cache(void) {
  ThreadCache *t = &thread_cache;
  pthread_mutex_lock(&lock);
  for (int c = 0; c < THREAD_CLASSES; c++)
    system_free_list(&t->free_blocks[c]);
  t->bytes = 0;
  for (int c = 0; c < CLASSES; c++)
    system_free_list(&free_blocks[c]);
  pthread_mutex_unlock(&lock);
}

// ---- statistics ------------------------------------------------------------------------------------------------------

static FyMemoryStats forgotten; // what had been counted at fy_host_reset_accumulated; the lock is for this too

// All that was ever counted. The lock is held.
static FyMemoryStats counted(void) {
  FyMemoryStats stats = totals;
  for (ThreadCache *t = threads; t; t = t->next) {
    stats.allocations += atomic_load_explicit(&t->allocations, memory_order_relaxed);
    stats.frees += atomic_load_explicit(&t->frees, memory_order_relaxed);
    stats.requested += (size_t)atomic_load_explicit(&t->requested, memory_order_relaxed);
  }
  stats.active_blocks = stats.allocations - stats.frees;
  stats.segments = stats.device_mallocs - stats.device_frees;
  return stats;
}

FyMemoryStats fy_host_memory_stats(void) {
  pthread_mutex_lock(&lock);
  FyMemoryStats stats = counted();
  stats.allocations -= forgotten.allocations;
  stats.frees -= forgotten.frees;
  stats.device_mallocs -= forgotten.device_mallocs;
  stats.device_frees -= forgotten.device_frees;
  stats.retries -= forgotten.retries;
  stats.out_of_memories -= forgotten.out_of_memories;
  pthread_mutex_unlock(&lock);
  stats.allocated = atomic_load(&allocated);
  stats.allocated_peak = atomic_load(&allocated_peak);
  stats.reserved = atomic_load(&reserved);
  if (stats.reserved < stats.allocated) // given back since: see cached_bytes
    stats.reserved = stats.allocated;
  stats.reserved_peak = atomic_load(&reserved_peak);
  stats.active = stats.allocated;
  stats.active_peak = stats.allocated_peak;
  return stats;
}

void fy_host_reset_peak(void) {
  atomic_store(&allocated_peak, atomic_load(&allocated));
  atomic_store(&reserved_peak, atomic_load(&reserved));
}

void fy_host_reset_accumulated(void) {
  pthread_mutex_lock(&lock);
  forgotten = counted();
  pthread_mutex_unlock(&lock);
}

size_t fy_host_memory_blocks(FyMemoryBlock *blocks, size_t capacity) {
  size_t n = 0;
  pthread_mutex_lock(&lock);
  for (HostBlock *b = all_blocks; b; b = b->all_next, n++) {
    if (n >= capacity)
      continue;
    size_t requested = atomic_load_explicit(&b->requested, memory_order_relaxed);
    const char *file = atomic_load_explicit(&b->file, memory_order_relaxed);
    const uintptr_t place = (uintptr_t)data_of(b, capacity_of(b->class));
    blocks[n] = (FyMemoryBlock){
        .segment = place,
        .address = place,
        .size = capacity_of(b->class),
        .requested = requested,
        .state = requested ? FY_MEMORY_ACTIVE_ALLOCATED : FY_MEMORY_INACTIVE,
        .file = requested ? file : NULL,
        .line = requested && file ? atomic_load_explicit(&b->line, memory_order_relaxed) : 0,
    };
    blocks[n].small = blocks[n].size <= SMALL_SIZE;
    blocks[n].segment_file = blocks[n].file;
    blocks[n].segment_line = blocks[n].line;
  }
  pthread_mutex_unlock(&lock);
  return n;
}
