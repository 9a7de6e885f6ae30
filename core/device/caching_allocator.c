// Device memory by the rules of PyTorch's caching allocator (c10/cuda/CUDACachingAllocator.cpp).
//
// cudaMalloc and cudaFree wait for the device, so memory is taken in segments and kept. A segment is cut into blocks; a
// freed block goes to the next request of the same stream without any waiting, because a stream works in order: what the
// new owner queues runs after what the old one queued.
//
// Nothing here raises while the lock is held: functions return error codes of the backend.
#include "device/block_tree.h"
#include "device/impl.h"
#include <pthread.h>
#include <stdlib.h>

enum {
  MIN_BLOCK = 512,            // sizes are multiples of this
  SMALL_SIZE = 1 << 20,       // requests up to this come from the small pool,
  SMALL_SEGMENT = 2 << 20,    // whose segments have this size
  LARGE_SEGMENT = 20 << 20,   // segments for requests under
  MIN_LARGE_ALLOC = 10 << 20, // this; larger ones get a segment of their own,
  ROUND_LARGE = 2 << 20,      // rounded up to this
  BLOCKS_PER_SLAB = 64,
};

// A stream other than its owner's that has used a block. When the block is freed it becomes an entry of the stream's queue.
typedef struct FyStreamUse {
  struct StreamQueue *queue;
  FyBlock *block;
  void *event; // marks what the stream had to do when the block was freed
  struct FyStreamUse *next;
} FyStreamUse;

// The freed blocks that wait for one stream, in the order in which it will reach their marks. Streams are never destroyed
// (stream.c), and neither are their queues.
typedef struct StreamQueue {
  int device;
  void *stream;
  FyStreamUse *first, *last;
  struct StreamQueue *next;
} StreamQueue;

typedef struct FyDevicePool {
  struct Allocator *owner;
  FyBlock *free_blocks;
  bool small;
} FyDevicePool;

typedef struct Slab {
  struct Slab *next;
  FyBlock blocks[BLOCKS_PER_SLAB];
} Slab;

typedef struct Allocator {
  pthread_mutex_t lock;
  int device;
  FyDevicePool small, large;
  FyMemoryStats stats;
  StreamQueue *queues;
  int pending;    // entries of all queues
  FyBlock *spare; // records of no block, by `next`
  Slab *slabs;    // what the records were allocated in
  uint32_t random;
} Allocator;

static Allocator allocators[FY_MAX_DEVICES];
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void set_up(void) {
  for (int d = 0; d < FY_MAX_DEVICES; d++) {
    pthread_mutex_init(&allocators[d].lock, NULL);
    allocators[d].device = d;
    allocators[d].small = (FyDevicePool){.owner = &allocators[d], .small = true};
    allocators[d].large = (FyDevicePool){.owner = &allocators[d]};
    allocators[d].random = 2463534242u;
  }
}

static Allocator *allocator_of(int device) {
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
  for (int i = 0; i < BLOCKS_PER_SLAB; i++) {
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
  block->next = a->spare;
  a->spare = block;
}

// ---- sizes -----------------------------------------------------------------------------------------------------------

static size_t round_up(size_t bytes, size_t multiple) {
  return (bytes + multiple - 1) / multiple * multiple;
}

static size_t segment_size(size_t size) {
  if (size <= SMALL_SIZE)
    return SMALL_SEGMENT;
  return size < MIN_LARGE_ALLOC ? LARGE_SEGMENT : round_up(size, ROUND_LARGE);
}

static bool is_split(const FyBlock *block) {
  return block->prev || block->next;
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

// Takes a free neighbour into `block`; true when there was one.
static bool merge(Allocator *a, FyBlock *block, FyBlock *neighbour) {
  if (!neighbour || neighbour->allocated || neighbour->pending)
    return false;
  fy_block_tree_remove(&neighbour->pool->free_blocks, neighbour);
  if (block->prev == neighbour) {
    block->pointer = neighbour->pointer;
    block->prev = neighbour->prev;
    if (block->prev)
      block->prev->next = block;
  } else {
    block->next = neighbour->next;
    if (block->next)
      block->next->prev = block;
  }
  block->size += neighbour->size;
  forget_block(a, neighbour);
  a->stats.inactive_split_blocks--;
  return true;
}

// The block is nobody's any more, and no stream works on it.
static void put_back(Allocator *a, FyBlock *block) {
  a->stats.active_blocks--;
  a->stats.requested -= block->requested;
  merge(a, block, block->prev);
  merge(a, block, block->next);
  fy_block_tree_insert(&block->pool->free_blocks, block);
  a->stats.inactive_split_blocks += is_split(block);
}

// Marks the end of a stream's work so far. When there can be no mark it waits for that work instead.
static void mark_use(Allocator *a, const FyBackend *backend, FyStreamUse *use, int *current) {
  StreamQueue *queue = use->queue;
  int error = *current == queue->device ? 0 : backend->set_device(queue->device);
  if (!error) {
    *current = queue->device;
    error = fy_event_take(queue->device, &use->event);
  }
  if (!error)
    error = backend->event_record(use->event, queue->stream);
  if (error) {
    if (use->event)
      fy_event_give_back(queue->device, use->event);
    backend->last_error();
    backend->stream_synchronize(queue->stream);
    free(use);
    return;
  }
  use->next = NULL;
  if (queue->first)
    queue->last->next = use;
  else
    queue->first = use;
  queue->last = use;
  use->block->pending++;
  a->pending++;
}

static void mark_uses(Allocator *a, const FyBackend *backend, FyBlock *block) {
  int previous = 0;
  backend->get_device(&previous); // this may run in any thread, with any device current
  int current = previous;
  while (block->uses) {
    FyStreamUse *use = block->uses;
    block->uses = use->next;
    mark_use(a, backend, use, &current);
  }
  if (current != previous)
    backend->set_device(previous);
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
  if (block->uses)
    mark_uses(a, fy_backend(), block);
  if (!block->pending)
    put_back(a, block);
  pthread_mutex_unlock(&a->lock);
}

// Of one stream's queue; true when the first entry's mark has passed, and the entry is gone.
static bool process_first(Allocator *a, const FyBackend *backend, StreamQueue *queue, bool wait) {
  FyStreamUse *use = queue->first;
  int state = wait ? backend->event_synchronize(use->event) : backend->event_query(use->event);
  if (state == FY_BACKEND_NOT_READY)
    return false;
  // After an error of the device there is nothing left that could still use the block.
  queue->first = use->next;
  fy_event_give_back(queue->device, use->event);
  if (--use->block->pending == 0)
    put_back(a, use->block);
  free(use);
  a->pending--;
  return true;
}

// Frees the blocks whose marks have passed; with `wait`, waits until all have. A stream passes its marks in order, so no
// question is asked beyond the first that has not passed.
static void process_pending(Allocator *a, const FyBackend *backend, bool wait) {
  for (StreamQueue *queue = a->queues; queue && a->pending; queue = queue->next)
    while (queue->first && process_first(a, backend, queue, wait)) {
    }
}

// ---- segments --------------------------------------------------------------------------------------------------------

static FyBlock *new_segment(Allocator *a, const FyBackend *backend, FyDevicePool *pool, void *stream, size_t bytes,
                            int *error) {
  void *pointer = NULL;
  *error = backend->malloc(&pointer, bytes);
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
  a->stats.reserved += bytes;
  raise_peak(&a->stats.reserved_peak, a->stats.reserved);
  return block;
}

// Adds the tree's blocks that are whole segments, and so have no neighbours, to a list by `next`.
static void list_whole_segments(FyBlock *tree, FyBlock **list) {
  if (!tree)
    return;
  list_whole_segments(tree->left, list);
  list_whole_segments(tree->right, list);
  if (is_split(tree))
    return;
  tree->next = *list;
  *list = tree;
}

static void release_pool(Allocator *a, const FyBackend *backend, FyDevicePool *pool) {
  FyBlock *list = NULL;
  list_whole_segments(pool->free_blocks, &list);
  while (list) {
    FyBlock *b = list;
    list = b->next;
    fy_block_tree_remove(&pool->free_blocks, b);
    backend->free(b->pointer);
    a->stats.device_frees++;
    a->stats.segments--;
    a->stats.reserved -= b->size;
    forget_block(a, b);
  }
}

// The device must be current. Blocks that other streams still work on are waited for first.
static void release_cached(Allocator *a, const FyBackend *backend) {
  process_pending(a, backend, true);
  release_pool(a, backend, &a->large);
  release_pool(a, backend, &a->small);
}

// ---- allocating ------------------------------------------------------------------------------------------------------

// A block of at least `size` bytes that is in no tree, from the cache, the device, or the device after giving all of the
// cache back to it.
static FyBlock *find_block(Allocator *a, const FyBackend *backend, size_t size, void *stream, int *error) {
  FyDevicePool *pool = size <= SMALL_SIZE ? &a->small : &a->large;
  FyBlock *block = fy_block_tree_best_fit(pool->free_blocks, stream, size);
  if (block) {
    fy_block_tree_remove(&pool->free_blocks, block);
    a->stats.inactive_split_blocks -= is_split(block);
    return block;
  }
  block = new_segment(a, backend, pool, stream, segment_size(size), error);
  if (!block && *error == FY_BACKEND_OUT_OF_MEMORY) {
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
}

// The device must be current.
static FyBlock *allocate(Allocator *a, const FyBackend *backend, size_t bytes, void *stream, int *error) {
  size_t size = bytes < MIN_BLOCK ? MIN_BLOCK : round_up(bytes, MIN_BLOCK);
  if (a->pending)
    process_pending(a, backend, false);
  FyBlock *block = find_block(a, backend, size, stream, error);
  if (!block) {
    a->stats.out_of_memories += *error == FY_BACKEND_OUT_OF_MEMORY;
    return NULL;
  }
  if (worth_splitting(block, size))
    split(a, block, size);
  block->allocated = true;
  block->requested = bytes;
  a->stats.allocations++;
  a->stats.active_blocks++;
  a->stats.requested += bytes;
  a->stats.allocated += block->size;
  raise_peak(&a->stats.allocated_peak, a->stats.allocated);
  return block;
}

static _Noreturn void raise_out_of_memory(const FyBackend *backend, int device, size_t bytes) {
  FyMemoryStats stats = fy_cuda_memory_stats(device);
  size_t free_bytes = 0;
  size_t total = 0;
  if (backend->mem_get_info(&free_bytes, &total) != 0)
    backend->last_error();
  size_t tried = segment_size(bytes < MIN_BLOCK ? MIN_BLOCK : round_up(bytes, MIN_BLOCK));
  char text[6][32];
  fy_raise(
      FY_OUT_OF_MEMORY_ERROR,
      "CUDA out of memory. Tried to allocate %s. GPU %d has a total capacity of %s of which %s is free. This process "
      "has %s reserved, of which %s is allocated and %s is cached but unallocated.",
      fy_format_bytes(tried, text[0]), device, fy_format_bytes(total, text[1]), fy_format_bytes(free_bytes, text[2]),
      fy_format_bytes(stats.reserved, text[3]), fy_format_bytes(stats.allocated, text[4]),
      fy_format_bytes(stats.reserved - stats.allocated, text[5]));
}

// Beyond any device: rounding up must not overflow.
static const size_t TOO_LARGE = (size_t)1 << 56;

static int try_alloc(const FyBackend *backend, int device, size_t bytes, void **pointer, void **block) {
  *pointer = NULL;
  *block = NULL;
  if (bytes == 0)
    return 0;
  if (bytes > TOO_LARGE)
    return FY_BACKEND_OUT_OF_MEMORY;
  int error = fy_try_use_device(device);
  if (error)
    return error;
  Allocator *a = allocator_of(device);
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
    raise_out_of_memory(backend, device, bytes > TOO_LARGE ? TOO_LARGE : bytes);
  fy_cuda_check(error);
}

bool fy_cuda_try_alloc(int device, size_t bytes, void **pointer, void **block) {
  return try_alloc(fy_backend(), device, bytes, pointer, block) == 0;
}

// The queue of a stream, made when there is none; NULL without memory for it.
static StreamQueue *queue_of(Allocator *a, int device, void *stream) {
  StreamQueue *queue = a->queues;
  while (queue && (queue->device != device || queue->stream != stream))
    queue = queue->next;
  if (queue)
    return queue;
  queue = malloc(sizeof *queue);
  if (!queue)
    return NULL;
  *queue = (StreamQueue){.device = device, .stream = stream, .next = a->queues};
  a->queues = queue;
  return queue;
}

static bool add_use(Allocator *a, FyBlock *block, int device, void *stream) {
  StreamQueue *queue = queue_of(a, device, stream);
  const FyStreamUse *known = block->uses;
  while (known && known->queue != queue)
    known = known->next;
  if (known)
    return true;
  FyStreamUse *use = queue ? malloc(sizeof *use) : NULL;
  if (!use)
    return false;
  *use = (FyStreamUse){.queue = queue, .block = block, .next = block->uses};
  block->uses = use;
  return true;
}

void fy_cuda_record_stream(void *handle, int device, void *raw_stream) {
  FyBlock *block = handle;
  if (!block)
    return;
  Allocator *a = block->pool->owner;
  if (a->device == device && block->stream == raw_stream)
    return;
  pthread_mutex_lock(&a->lock);
  bool added = add_use(a, block, device, raw_stream);
  pthread_mutex_unlock(&a->lock);
  fy_check(added, FY_OUT_OF_MEMORY_ERROR, "out of host memory for a stream's use of a tensor");
}

// ---- statistics and the end --------------------------------------------------------------------------------------------

FyMemoryStats fy_cuda_memory_stats(int device) {
  Allocator *a = allocator_of(device);
  pthread_mutex_lock(&a->lock);
  FyMemoryStats stats = a->stats;
  pthread_mutex_unlock(&a->lock);
  return stats;
}

void fy_cuda_reset_peak(int device) {
  Allocator *a = allocator_of(device);
  pthread_mutex_lock(&a->lock);
  a->stats.allocated_peak = a->stats.allocated;
  a->stats.reserved_peak = a->stats.reserved;
  pthread_mutex_unlock(&a->lock);
}

void fy_cuda_empty_cache(void) {
  const FyBackend *backend = fy_backend_if_chosen();
  for (int d = 0; backend && d < fy_device_count_chosen(); d++) {
    Allocator *a = allocator_of(d);
    int previous = 0;
    pthread_mutex_lock(&a->lock);
    if (a->stats.segments && backend->get_device(&previous) == 0 && backend->set_device(d) == 0) {
      release_cached(a, backend);
      backend->set_device(previous);
    }
    pthread_mutex_unlock(&a->lock);
  }
}
