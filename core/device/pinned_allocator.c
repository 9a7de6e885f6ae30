// SPDX-License-Identifier: MIT
// Page-locked host memory, which a device copies from and to on its own. Locking pages is slow and the amount is limited, so
// blocks are kept: powers of two, never split, as in PyTorch (ATen/core/CachingHostAllocator.h).
//
// A copy may still be reading a block when its tensor is gone. So a freed block waits for a mark at the end of every
// stream that used it.
#include "base/text.h"
#include "device/capture.h"
#include "device/impl.h"
#include <pthread.h>
#include <stdlib.h>

enum { SMALLEST = 9, CLASSES = 48 }; // 512 bytes, and powers of two up to 2^47

typedef struct Use {
  int device;
  void *stream;
  void *event; // recorded when the block was freed
  struct Use *next;
} Use;

typedef struct PinnedBlock {
  void *pointer;
  size_t requested;
  int power;
  void *host_block; // pageable memory instead (fy_host_alloc): no pages could be locked
  Use *uses;
  bool unmarked;            // freed during a capture of a CUDA graph, which takes no marks: they are made afterwards
  struct PinnedBlock *next; // in the free list, or among those that wait
} PinnedBlock;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static PinnedBlock *free_blocks[CLASSES];
static PinnedBlock *first_waiting, *last_waiting; // in the order in which they were freed
static FyMemoryStats stats;

static size_t size_of(const PinnedBlock *block) {
  return (size_t)1 << block->power;
}

static int power_for(size_t bytes) {
  int power = SMALLEST;
  while (((size_t)1 << power) < bytes)
    power++;
  return power;
}

// ---- blocks that streams still use ------------------------------------------------------------------------------------

static int mark(const FyBackend *backend, Use *use) {
  int error = backend->set_device(use->device);
  if (!error)
    error = fy_event_take(use->device, &use->event);
  if (!error)
    error = backend->event_record(use->event, use->stream);
  return error;
}

static void mark_uses(const FyBackend *backend, PinnedBlock *block) {
  int previous = 0;
  backend->get_device(&previous);
  for (Use *use = block->uses; use; use = use->next) {
    if (mark(backend, use) == 0)
      continue;
    backend->last_error();
    backend->stream_synchronize(use->stream);
    if (use->event)
      fy_event_give_back(use->device, use->event);
    use->event = NULL;
  }
  backend->set_device(previous);
}

// Removes the uses whose events have completed; with `wait`, waits for all of them first.
static void drop_finished_uses(const FyBackend *backend, PinnedBlock *block, bool wait) {
  if (block->unmarked)
    mark_uses(backend, block);
  block->unmarked = false;
  Use **link = &block->uses;
  while (*link) {
    Use *use = *link;
    int state = 0;
    if (use->event)
      state = wait ? backend->event_synchronize(use->event) : backend->event_query(use->event);
    if (state == FY_BACKEND_NOT_READY) {
      link = &use->next;
      continue;
    }
    if (use->event)
      fy_event_give_back(use->device, use->event);
    *link = use->next;
    free(use);
  }
}

static void put_back(PinnedBlock *block) {
  stats.active_blocks--;
  block->next = free_blocks[block->power];
  free_blocks[block->power] = block;
}

// As PyTorch does: blocks behind one that still waits are not looked at.
static void process_waiting(const FyBackend *backend, bool wait) {
  while (first_waiting && !fy_is_capturing()) {
    PinnedBlock *block = first_waiting;
    drop_finished_uses(backend, block, wait);
    if (block->uses)
      return;
    first_waiting = block->next;
    put_back(block);
  }
}

static void enqueue(PinnedBlock *block) {
  block->next = NULL;
  if (first_waiting)
    last_waiting->next = block;
  else
    first_waiting = block;
  last_waiting = block;
}

// ---- allocating ------------------------------------------------------------------------------------------------------

static void count_allocation(PinnedBlock *block, size_t bytes) {
  block->requested = bytes;
  stats.allocations++;
  stats.active_blocks++;
  stats.requested += bytes;
  stats.allocated += size_of(block);
  if (stats.allocated_peak < stats.allocated)
    stats.allocated_peak = stats.allocated;
}

static void count_segment(const PinnedBlock *block) {
  stats.segments++;
  stats.device_mallocs++;
  stats.reserved += size_of(block);
  if (stats.reserved_peak < stats.reserved)
    stats.reserved_peak = stats.reserved;
}

static PinnedBlock *take_cached(const FyBackend *backend, int power, size_t bytes) {
  pthread_mutex_lock(&lock);
  process_waiting(backend, false);
  PinnedBlock *block = free_blocks[power];
  if (block) {
    free_blocks[power] = block->next;
    count_allocation(block, bytes);
  }
  pthread_mutex_unlock(&lock);
  return block;
}

// A thread that captures a CUDA graph may need pinned memory as well.
static int host_malloc(const FyBackend *backend, PinnedBlock *block) {
  if (!fy_thread_is_capturing())
    return backend->host_malloc(&block->pointer, size_of(block));
  int before = fy_set_capture_mode(FY_CAPTURE_RELAXED);
  int error = backend->host_malloc(&block->pointer, size_of(block));
  fy_set_capture_mode(before);
  return error;
}

static int lock_pages(const FyBackend *backend, PinnedBlock *block) {
  int error = host_malloc(backend, block);
  if (!error)
    return 0;
  backend->last_error();
  fy_pinned_empty_cache();
  pthread_mutex_lock(&lock);
  stats.retries++;
  pthread_mutex_unlock(&lock);
  error = host_malloc(backend, block);
  if (error)
    backend->last_error();
  return error;
}

// Slower copies, the same results.
static void use_pageable(PinnedBlock *block, size_t bytes) {
  static bool warned;
  char text[32];
  FyError error;
  fy_warn_once(&warned,
               "no pages could be locked for %s of pinned memory: using pageable memory, whose copies are slower",
               fy_format_bytes(bytes, text));
  fy_trap(error) {
    fy_host_alloc(bytes, &block->pointer, &block->host_block);
  }
  if (!error.kind)
    return;
  free(block);
  fy_raise_again(&error);
}

void fy_pinned_alloc(size_t bytes, void **pointer, void **handle) {
  const FyBackend *backend = fy_backend_required();
  *pointer = NULL;
  *handle = NULL;
  if (bytes == 0)
    return;
  fy_check(bytes <= (size_t)1 << (CLASSES - 1), FY_OUT_OF_MEMORY_ERROR,
           "out of pinned memory: you tried to allocate %zu bytes", bytes);
  int power = power_for(bytes);
  PinnedBlock *block = take_cached(backend, power, bytes);
  if (!block) {
    block = calloc(1, sizeof *block);
    fy_check(block, FY_OUT_OF_MEMORY_ERROR, "out of host memory for the record of %zu pinned bytes", bytes);
    block->power = power;
    if (lock_pages(backend, block) == 0) {
      pthread_mutex_lock(&lock);
      count_segment(block);
      count_allocation(block, bytes);
      pthread_mutex_unlock(&lock);
    } else {
      use_pageable(block, bytes);
    }
  }
  *pointer = block->pointer;
  *handle = block;
}

// ---- freeing ---------------------------------------------------------------------------------------------------------

void fy_pinned_record_stream(void *handle, int device, void *raw_stream) {
  PinnedBlock *block = handle;
  if (!block)
    return;
  Use *use = malloc(sizeof *use);
  fy_check(use, FY_OUT_OF_MEMORY_ERROR, "out of host memory for a stream's use of pinned memory");
  pthread_mutex_lock(&lock);
  Use *known = block->uses;
  while (known && (known->device != device || known->stream != raw_stream))
    known = known->next;
  if (!known) {
    *use = (Use){.device = device, .stream = raw_stream, .next = block->uses};
    block->uses = use;
    use = NULL;
  }
  pthread_mutex_unlock(&lock);
  free(use);
}

// It never was pinned memory, so it is in no cache: wait for its streams and give it back.
static void free_pageable(const FyBackend *backend, PinnedBlock *block) {
  mark_uses(backend, block);
  drop_finished_uses(backend, block, true);
  fy_host_free(block->host_block);
  free(block);
}

void fy_pinned_free(void *handle) {
  PinnedBlock *block = handle;
  if (!block)
    return;
  const FyBackend *backend = fy_backend();
  if (block->host_block) {
    free_pageable(backend, block);
    return;
  }
  pthread_mutex_lock(&lock);
  stats.frees++;
  stats.allocated -= size_of(block);
  stats.requested -= block->requested;
  if (block->uses) {
    block->unmarked = fy_is_capturing();
    if (!block->unmarked)
      mark_uses(backend, block);
    enqueue(block);
  } else {
    put_back(block);
  }
  pthread_mutex_unlock(&lock);
}

void fy_pinned_empty_cache(void) {
  const FyBackend *backend = fy_backend_if_chosen();
  if (!backend || fy_is_capturing())
    return;
  pthread_mutex_lock(&lock);
  process_waiting(backend, true);
  for (int power = 0; power < CLASSES; power++) {
    while (free_blocks[power]) {
      PinnedBlock *block = free_blocks[power];
      free_blocks[power] = block->next;
      backend->host_free(block->pointer);
      stats.segments--;
      stats.device_frees++;
      stats.reserved -= size_of(block);
      free(block);
    }
  }
  pthread_mutex_unlock(&lock);
}

FyMemoryStats fy_pinned_memory_stats(void) {
  pthread_mutex_lock(&lock);
  FyMemoryStats copy = stats;
  pthread_mutex_unlock(&lock);
  return copy;
}
