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
} FyDevicePool;

typedef struct Slab {
  struct Slab *next;
  FyBlock blocks[FY_BLOCKS_PER_SLAB];
} Slab;

typedef struct Allocator {
  pthread_mutex_t lock;
  int device;
  size_t limit; // bytes that may be reserved
  FyDevicePool small, large;
  FyMemoryStats stats;
  StreamQueue *queues;
  int pending;    // entries of all queues
  FyBlock *spare; // records of no block (`pointer` is NULL), by `next`
  Slab *slabs;    // what the records were allocated in
  uint32_t random;
} Allocator;

Allocator *fy_allocator_of(int device);

static inline bool fy_block_is_split(const FyBlock *block) {
  return block->prev || block->next;
}

// All that follow: the lock is held. None raises.

// caching_allocator.c. The block is nobody's any more, and no stream works on it.
void fy_allocator_put_back(Allocator *a, FyBlock *block);

// caching_streams.c. The first marks the end of what other streams do with a block; the second frees the blocks whose marks
// have passed; with `wait`, waits until all have.
void fy_allocator_mark_uses(Allocator *a, const FyBackend *backend, FyBlock *block);
void fy_allocator_process_pending(Allocator *a, const FyBackend *backend, bool wait);

// caching_report.c, without the lock: raises FY_OUT_OF_MEMORY_ERROR for a segment of `bytes` that could not be had.
_Noreturn void fy_allocator_raise_out_of_memory(const FyBackend *backend, int device, size_t bytes);

#endif
