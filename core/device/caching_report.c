// SPDX-License-Identifier: MIT
// What the caching allocator holds, for people: statistics, blocks, the text of running out of memory.
#include "base/text.h"
#include "device/caching_allocator.h"
#include <stdio.h>
#include <stdlib.h>

// ---- statistics --------------------------------------------------------------------------------------------------------

FyMemoryStats fy_cuda_memory_stats(int device) {
  Allocator *a = fy_allocator_of(device);
  pthread_mutex_lock(&a->lock);
  FyMemoryStats stats = a->stats;
  pthread_mutex_unlock(&a->lock);
  return stats;
}

void fy_cuda_reset_peak(int device) {
  Allocator *a = fy_allocator_of(device);
  pthread_mutex_lock(&a->lock);
  FyMemoryStats *s = &a->stats;
  s->allocated_peak = s->allocated;
  s->reserved_peak = s->reserved;
  s->requested_peak = s->requested;
  s->active_peak = s->active;
  pthread_mutex_unlock(&a->lock);
}

void fy_cuda_reset_accumulated(int device) {
  Allocator *a = fy_allocator_of(device);
  pthread_mutex_lock(&a->lock);
  FyMemoryStats *s = &a->stats;
  s->allocations = s->frees = s->device_mallocs = s->device_frees = s->retries = s->out_of_memories = 0;
  pthread_mutex_unlock(&a->lock);
}

// ---- blocks ------------------------------------------------------------------------------------------------------------

typedef struct Listing {
  FyMemoryBlock *blocks;
  size_t capacity, count;
} Listing;

static void list_segment(Listing *l, const FyBlock *first) {
  for (const FyBlock *b = first; b; b = b->next) {
    bool used = b->allocated || b->pending;
    if (l->count++ >= l->capacity)
      continue;
    l->blocks[l->count - 1] = (FyMemoryBlock){
        .segment = (uintptr_t)first->pointer,
        .address = (uintptr_t)b->pointer,
        .size = b->size,
        .requested = used ? b->requested : 0,
        .state = b->allocated ? FY_MEMORY_ACTIVE_ALLOCATED
                 : b->pending ? FY_MEMORY_ACTIVE_PENDING_FREE
                              : FY_MEMORY_INACTIVE,
        .small = b->pool->small,
        .pool = fy_pool_of(b),
        .stream = (uintptr_t)b->stream,
        .file = used ? b->place.file : NULL,
        .line = used ? b->place.line : 0,
        .segment_file = first->segment_place.file,
        .segment_line = first->segment_place.line,
    };
  }
}

// Every record of a block lies in a slab, and a segment's first block has none before it.
size_t fy_cuda_memory_blocks(int device, FyMemoryBlock *blocks, size_t capacity) {
  Allocator *a = fy_allocator_of(device);
  Listing list = {.blocks = blocks, .capacity = capacity};
  pthread_mutex_lock(&a->lock);
  for (const Slab *slab = a->slabs; slab; slab = slab->next)
    for (int i = 0; i < FY_BLOCKS_PER_SLAB; i++)
      if (slab->blocks[i].pointer && !slab->blocks[i].prev)
        list_segment(&list, &slab->blocks[i]);
  pthread_mutex_unlock(&a->lock);
  return list.count;
}

// ---- limits and the end of memory --------------------------------------------------------------------------------------

void fy_cuda_limit_memory(int device, size_t bytes) {
  Allocator *a = fy_allocator_of(device);
  pthread_mutex_lock(&a->lock);
  a->limit = bytes;
  pthread_mutex_unlock(&a->lock);
}

static size_t limit_of(int device) {
  Allocator *a = fy_allocator_of(device);
  pthread_mutex_lock(&a->lock);
  size_t limit = a->limit;
  pthread_mutex_unlock(&a->lock);
  return limit;
}

_Noreturn void fy_allocator_raise_out_of_memory(const FyBackend *backend, int device, size_t bytes) {
  FyMemoryStats stats = fy_cuda_memory_stats(device);
  size_t free_bytes = 0;
  size_t total = 0;
  if (backend->mem_get_info(&free_bytes, &total) != 0)
    backend->last_error();
  char text[7][32], allowed[48] = "";
  size_t limit = limit_of(device);
  if (limit != SIZE_MAX)
    snprintf(allowed, sizeof allowed, "%s allowed; ", fy_format_bytes(limit, text[6]));
  fy_raise(FY_OUT_OF_MEMORY_ERROR,
           "CUDA out of memory. Tried to allocate %s. GPU %d has a total capacity of %s of which %s is free. %sThis "
           "process has %s reserved, of which %s is allocated and %s is cached but unallocated.",
           fy_format_bytes(bytes, text[0]), device, fy_format_bytes(total, text[1]),
           fy_format_bytes(free_bytes, text[2]), allowed, fy_format_bytes(stats.reserved, text[3]),
           fy_format_bytes(stats.allocated, text[4]), fy_format_bytes(stats.reserved - stats.allocated, text[5]));
}
