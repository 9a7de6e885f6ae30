// SPDX-License-Identifier: MIT
// What the files of the caching allocator share: for caching_*.c only.
#ifndef FERRY_DEVICE_CACHING_ALLOCATOR_H
#define FERRY_DEVICE_CACHING_ALLOCATOR_H

#include "device/block_tree.h"
#include "device/impl.h"
#include <pthread.h>

enum { FY_BLOCKS_PER_SLAB = 64 };

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
  struct FyPrivatePool *private_pool; // NULL: everybody's
} FyDevicePool;

// What graphs allocate from (caching_pools.c).
typedef struct FyPrivatePool {
  FyPoolId id;
  int users;        // graphs that were captured with it
  int64_t segments; // that it holds
  FyDevicePool small, large;
  struct FyPrivatePool *next;
} FyPrivatePool;

typedef struct Slab {
  struct Slab *next;
  FyBlock blocks[FY_BLOCKS_PER_SLAB];
} Slab;

typedef struct Allocator {
  pthread_mutex_t lock;
  int device;
  size_t limit; // bytes that may be reserved
  FyDevicePool small, large;
  FyPrivatePool *private_pools;
  FyMemoryStats stats;
  StreamQueue *queues;
  FyBlock *deferred; // freed during a capture, by `left`: their marks are still to be made
  int pending;       // entries of all queues, and deferred blocks
  FyBlock *spare;    // records of no block (`pointer` is NULL), by `next`
  Slab *slabs;       // what the records were allocated in
  uint32_t random;
} Allocator;

Allocator *fy_allocator_of(int device);

static inline bool fy_block_is_split(const FyBlock *block) {
  return block->prev || block->next;
}

// (0, 0) for everybody's.
static inline FyPoolId fy_pool_of(const FyBlock *block) {
  return block->pool->private_pool ? block->pool->private_pool->id : (FyPoolId){{0, 0}};
}

// All that follow: the lock is held. None raises.

// caching_allocator.c. The block is nobody's any more, and no stream works on it.
void fy_allocator_put_back(Allocator *a, FyBlock *block);

// caching_streams.c. The first marks the end of what other streams do with a block; the second frees the blocks whose marks
// have passed; with `wait`, waits until all have.
void fy_allocator_mark_uses(Allocator *a, const FyBackend *backend, FyBlock *block);
void fy_allocator_process_pending(Allocator *a, const FyBackend *backend, bool wait);

// caching_allocator.c. Gives the pool's whole segments back to the device, which is current.
void fy_allocator_release_segments(Allocator *a, const FyBackend *backend, FyDevicePool *pool);

// caching_pools.c. The first stores the pool of the capture that the stream takes part in, NULL when it is in none; 0 or an error
// code. The second gives back what pools without users hold. A block with uses that is freed while a capture is under way is
// deferred; the last makes the marks of all that were, when none is any more.
int fy_allocator_capture_pool(Allocator *a, const FyBackend *backend, void *stream, FyPrivatePool **pool);
void fy_allocator_release_private(Allocator *a, const FyBackend *backend);
void fy_allocator_defer(Allocator *a, FyBlock *block);
void fy_allocator_process_deferred(Allocator *a, const FyBackend *backend);

// caching_report.c, without the lock: raises FY_OUT_OF_MEMORY_ERROR for a segment of `bytes` that could not be had.
_Noreturn void fy_allocator_raise_out_of_memory(const FyBackend *backend, int device, size_t bytes);

#endif
