// SPDX-License-Identifier: MIT
// Device memory by the rules of PyTorch's caching allocator (c10/cuda/CUDACachingAllocator.cpp).
//
// cudaMalloc and cudaFree wait for the device, so memory is taken in segments and kept. A segment is cut into blocks; a
// freed block goes to the next request of the same stream without any waiting, because a stream works in order: what the
// new owner queues runs after what the old one queued.
//
// Nothing here raises while the lock is held: functions return error codes of the backend.
#include "device/caching_allocator.h"
#include "device/capture.h"
#include <stdlib.h>

enum {
  MIN_BLOCK = 512,            // sizes are multiples of this
  SMALL_SIZE = 1 << 20,       // requests up to this come from the small pool,
  SMALL_SEGMENT = 2 << 20,    // whose segments have this size
  LARGE_SEGMENT = 20 << 20,   // segments for requests under
  MIN_LARGE_ALLOC = 10 << 20, // this; larger ones get a segment of their own,
  ROUND_LARGE = 2 << 20,      // rounded up to this
};

static Allocator allocators[FY_MAX_DEVICES];
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void set_up(void) {
  for (int d = 0; d < FY_MAX_DEVICES; d++) {
    pthread_mutex_init(&allocators[d].lock, NULL);
    allocators[d].device = d;
    allocators[d].limit = SIZE_MAX;
    allocators[d].small = (FyDevicePool){.owner = &allocators[d], .small = true};
    allocators[d].large = (FyDevicePool){.owner = &allocators[d]};
    allocators[d].random = 2463534242u;
  }
}

Allocator *fy_allocator_of(int device) {
  pthread_once(&once, set_up);
  return &allocators[device];
}

// ---- records of blocks -----------------------------------------------------------------------------------------------

static uint32_t next_random(Allocator *a) { // xorshift32
  a->random ^= a->random << 13;
  a->random ^= a->random >> 17;
  a->random ^= a->random << 5;
  return a->random;
}

static bool add_slab(Allocator *a) {
  Slab *slab = calloc(1, sizeof *slab);
  if (!slab)
    return false;
  slab->next = a->slabs;
  a->slabs = slab;
  for (int i = 0; i < FY_BLOCKS_PER_SLAB; i++) {
    slab->blocks[i].next = a->spare;
    a->spare = &slab->blocks[i];
  }
  return true;
}

static FyBlock *new_block(Allocator *a, FyDevicePool *pool, void *stream, void *pointer, size_t size) {
  if (!a->spare && !add_slab(a))
    return NULL;
  FyBlock *block = a->spare;
  a->spare = block->next;
  *block = (FyBlock){.pointer = pointer, .stream = stream, .size = size, .pool = pool, .heap = next_random(a)};
  return block;
}

static void forget_block(Allocator *a, FyBlock *block) {
  block->pointer = NULL;
  block->next = a->spare;
  a->spare = block;
}

static void record(const Allocator *a, FyMemoryAction action, const FyBlock *block, size_t size) {
  if (fy_records_memory())
    fy_record_memory_event(a->device, (FyMemoryEvent){.action = action,
                                                      .pool = fy_pool_of(block),
                                                      .address = (uintptr_t)block->pointer,
                                                      .size = size,
                                                      .allocated = a->stats.allocated,
                                                      .stream = (uintptr_t)block->stream});
}

// ---- sizes -----------------------------------------------------------------------------------------------------------

static size_t round_up(size_t bytes, size_t multiple) {
  return (bytes + multiple - 1) / multiple * multiple;
}

// Beyond any device: rounding up must not overflow.
static const size_t TOO_LARGE = (size_t)1 << 56;

static size_t block_size(size_t bytes) {
  return bytes < MIN_BLOCK ? MIN_BLOCK : round_up(bytes < TOO_LARGE ? bytes : TOO_LARGE, MIN_BLOCK);
}

static size_t segment_size(size_t size) {
  if (size <= SMALL_SIZE)
    return SMALL_SEGMENT;
  return size < MIN_LARGE_ALLOC ? LARGE_SEGMENT : round_up(size, ROUND_LARGE);
}

static bool worth_splitting(const FyBlock *block, size_t size) {
  size_t remainder = block->size - size;
  return block->pool->small ? remainder >= MIN_BLOCK : remainder > SMALL_SIZE;
}

static void raise_peak(size_t *peak, size_t value) {
  if (*peak < value)
    *peak = value;
}

// ---- freeing ---------------------------------------------------------------------------------------------------------

// Takes a free neighbor into `block`; true when there was one.
static bool merge(Allocator *a, FyBlock *block, FyBlock *neighbor) {
  if (!neighbor || neighbor->allocated || neighbor->pending)
    return false;
  fy_block_tree_remove(&neighbor->pool->free_blocks, neighbor);
  if (block->prev == neighbor) {
    block->pointer = neighbor->pointer;
    block->segment_place = neighbor->segment_place;
    block->prev = neighbor->prev;
    if (block->prev)
      block->prev->next = block;
  } else {
    block->next = neighbor->next;
    if (block->next)
      block->next->prev = block;
  }
  block->size += neighbor->size;
  a->stats.inactive_split_blocks--;
  a->stats.inactive_split -= neighbor->size;
  forget_block(a, neighbor);
  return true;
}

void fy_allocator_put_back(Allocator *a, FyBlock *block) {
  record(a, FY_MEMORY_FREE_COMPLETED, block, block->requested);
  a->stats.active_blocks--;
  a->stats.active -= block->size;
  a->stats.requested -= block->requested;
  merge(a, block, block->prev);
  merge(a, block, block->next);
  fy_block_tree_insert(&block->pool->free_blocks, block);
  a->stats.inactive_split_blocks += fy_block_is_split(block);
  a->stats.inactive_split += fy_block_is_split(block) ? block->size : 0;
}

void fy_cuda_free(void *handle) {
  FyBlock *block = handle;
  if (!block)
    return;
  Allocator *a = block->pool->owner;
  pthread_mutex_lock(&a->lock);
  block->allocated = false;
  a->stats.frees++;
  a->stats.allocated -= block->size;
  record(a, FY_MEMORY_FREE_REQUESTED, block, block->requested);
  if (block->uses && fy_is_capturing())
    fy_allocator_defer(a, block);
  else if (block->uses)
    fy_allocator_mark_uses(a, fy_backend(), block);
  if (!block->pending)
    fy_allocator_put_back(a, block);
  pthread_mutex_unlock(&a->lock);
}

// ---- segments --------------------------------------------------------------------------------------------------------

// In a capture cudaMalloc is allowed to the capturing thread, for its memory: what the graph works on is never freed before it.
static int device_malloc(const FyBackend *backend, const FyDevicePool *pool, void **pointer, size_t bytes) {
  if (!pool->private_pool)
    return backend->malloc(pointer, bytes);
  int before = fy_set_capture_mode(FY_CAPTURE_RELAXED);
  int error = backend->malloc(pointer, bytes);
  fy_set_capture_mode(before);
  return error;
}

static FyBlock *new_segment(Allocator *a, const FyBackend *backend, FyDevicePool *pool, void *stream, size_t bytes,
                            int *error) {
  void *pointer = NULL;
  if (bytes > a->limit || a->stats.reserved > a->limit - bytes) {
    *error = FY_BACKEND_OUT_OF_MEMORY;
    return NULL;
  }
  *error = device_malloc(backend, pool, &pointer, bytes);
  if (*error) {
    backend->last_error();
    return NULL;
  }
  FyBlock *block = new_block(a, pool, stream, pointer, bytes);
  if (!block) {
    backend->free(pointer);
    *error = FY_BACKEND_OUT_OF_MEMORY;
    return NULL;
  }
  a->stats.device_mallocs++;
  a->stats.segments++;
  if (pool->private_pool)
    pool->private_pool->segments++;
  a->stats.reserved += bytes;
  raise_peak(&a->stats.reserved_peak, a->stats.reserved);
  block->segment_place = fy_place_here();
  record(a, FY_MEMORY_SEGMENT_ALLOC, block, bytes);
  return block;
}

// Adds the tree's blocks that are whole segments, and so have no neighbors, to a list by `next`.
static void list_whole_segments(FyBlock *tree, FyBlock **list) {
  if (!tree)
    return;
  list_whole_segments(tree->left, list);
  list_whole_segments(tree->right, list);
  if (fy_block_is_split(tree))
    return;
  tree->next = *list;
  *list = tree;
}

void fy_allocator_release_segments(Allocator *a, const FyBackend *backend, FyDevicePool *pool) {
  FyBlock *list = NULL;
  list_whole_segments(pool->free_blocks, &list);
  while (list) {
    FyBlock *b = list;
    list = b->next;
    fy_block_tree_remove(&pool->free_blocks, b);
    backend->free(b->pointer);
    a->stats.device_frees++;
    a->stats.segments--;
    if (pool->private_pool)
      pool->private_pool->segments--;
    a->stats.reserved -= b->size;
    record(a, FY_MEMORY_SEGMENT_FREE, b, b->size);
    forget_block(a, b);
  }
}

// The device must be current. Blocks that other streams still work on are waited for first.
static void release_cached(Allocator *a, const FyBackend *backend) {
  fy_allocator_process_pending(a, backend, true);
  fy_allocator_release_segments(a, backend, &a->large);
  fy_allocator_release_segments(a, backend, &a->small);
  fy_allocator_release_private(a, backend);
}

// ---- allocating ------------------------------------------------------------------------------------------------------

static FyDevicePool *pool_for(Allocator *a, const FyBackend *backend, size_t size, void *stream, int *error) {
  FyPrivatePool *own;
  *error = fy_allocator_capture_pool(a, backend, stream, &own);
  if (*error)
    return NULL;
  if (own)
    return size <= SMALL_SIZE ? &own->small : &own->large;
  return size <= SMALL_SIZE ? &a->small : &a->large;
}

// A block of at least `size` bytes that is in no tree, from the cache, the device, or the device after giving all of the
// cache back to it, which cannot be done during a capture.
static FyBlock *find_block(Allocator *a, const FyBackend *backend, size_t size, void *stream, int *error) {
  FyDevicePool *pool = pool_for(a, backend, size, stream, error);
  if (!pool)
    return NULL;
  FyBlock *block = fy_block_tree_best_fit(pool->free_blocks, stream, size);
  if (block) {
    fy_block_tree_remove(&pool->free_blocks, block);
    a->stats.inactive_split_blocks -= fy_block_is_split(block);
    a->stats.inactive_split -= fy_block_is_split(block) ? block->size : 0;
    return block;
  }
  block = new_segment(a, backend, pool, stream, segment_size(size), error);
  if (!block && *error == FY_BACKEND_OUT_OF_MEMORY && !fy_is_capturing()) {
    a->stats.retries++;
    release_cached(a, backend);
    block = new_segment(a, backend, pool, stream, segment_size(size), error);
  }
  return block;
}

// Cuts `block` to `size` and leaves the rest free behind it.
static void split(Allocator *a, FyBlock *block, size_t size) {
  FyBlock *rest = new_block(a, block->pool, block->stream, (char *)block->pointer + size, block->size - size);
  if (!rest)
    return; // no memory for the record: the block stays whole
  rest->prev = block;
  rest->next = block->next;
  if (rest->next)
    rest->next->prev = rest;
  block->next = rest;
  block->size = size;
  fy_block_tree_insert(&rest->pool->free_blocks, rest);
  a->stats.inactive_split_blocks++;
  a->stats.inactive_split += rest->size;
}

static void count_out_of_memory(Allocator *a, const FyBackend *backend, size_t size, void *stream) {
  size_t device_free = 0, total = 0;
  a->stats.out_of_memories++;
  if (!fy_records_memory())
    return;
  if (backend->mem_get_info(&device_free, &total) != 0)
    backend->last_error();
  fy_record_memory_event(a->device, (FyMemoryEvent){.action = FY_MEMORY_OOM,
                                                    .size = size,
                                                    .allocated = a->stats.allocated,
                                                    .device_free = device_free,
                                                    .stream = (uintptr_t)stream});
}

static void count_allocation(Allocator *a, const FyBlock *block) {
  FyMemoryStats *s = &a->stats;
  s->allocations++;
  s->active_blocks++;
  s->requested += block->requested;
  s->allocated += block->size;
  s->active += block->size;
  raise_peak(&s->requested_peak, s->requested);
  raise_peak(&s->allocated_peak, s->allocated);
  raise_peak(&s->active_peak, s->active);
  record(a, FY_MEMORY_ALLOC, block, block->requested);
}

// The device must be current.
static FyBlock *allocate(Allocator *a, const FyBackend *backend, size_t bytes, void *stream, int *error) {
  size_t size = block_size(bytes);
  if (a->pending)
    fy_allocator_process_pending(a, backend, false);
  *error = FY_BACKEND_OUT_OF_MEMORY;
  FyBlock *block = bytes > TOO_LARGE ? NULL : find_block(a, backend, size, stream, error);
  if (!block) {
    if (*error == FY_BACKEND_OUT_OF_MEMORY)
      count_out_of_memory(a, backend, size, stream);
    return NULL;
  }
  if (worth_splitting(block, size))
    split(a, block, size);
  block->allocated = true;
  block->requested = bytes;
  block->place = fy_place_here();
  count_allocation(a, block);
  return block;
}

static int try_alloc(const FyBackend *backend, int device, size_t bytes, void **pointer, void **block) {
  *pointer = NULL;
  *block = NULL;
  if (bytes == 0)
    return 0;
  int error = fy_try_use_device(device);
  if (error)
    return error;
  Allocator *a = fy_allocator_of(device);
  pthread_mutex_lock(&a->lock);
  FyBlock *found = allocate(a, backend, bytes, fy_raw_stream(device), &error);
  pthread_mutex_unlock(&a->lock);
  if (!found)
    return error;
  *pointer = found->pointer;
  *block = found;
  return 0;
}

void fy_cuda_alloc(int device, size_t bytes, void **pointer, void **block) {
  const FyBackend *backend = fy_backend_required();
  int error = try_alloc(backend, device, bytes, pointer, block);
  if (error == FY_BACKEND_OUT_OF_MEMORY)
    fy_allocator_raise_out_of_memory(backend, device, segment_size(block_size(bytes)));
  fy_cuda_check(error);
}

bool fy_cuda_try_alloc(int device, size_t bytes, void **pointer, void **block) {
  return try_alloc(fy_backend(), device, bytes, pointer, block) == 0;
}

// ---- giving the cache back ---------------------------------------------------------------------------------------------

void fy_cuda_empty_cache(void) {
  const FyBackend *backend = fy_is_capturing() ? NULL : fy_backend_if_chosen();
  for (int d = 0; backend && d < fy_device_count_chosen(); d++) {
    Allocator *a = fy_allocator_of(d);
    int previous = 0;
    pthread_mutex_lock(&a->lock);
    if (a->stats.segments && backend->get_device(&previous) == 0 && backend->set_device(d) == 0) {
      release_cached(a, backend);
      backend->set_device(previous);
    }
    pthread_mutex_unlock(&a->lock);
  }
}
