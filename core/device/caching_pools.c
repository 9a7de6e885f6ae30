// SPDX-License-Identifier: MIT
// Private pools: the memory of CUDA graphs, apart from everybody else's. A graph's kernels have addresses written into them, so
// what they work on may be given to nobody while the graph can be replayed, not even after its tensors are dead.
//
// While a stream is being captured, what is allocated on it comes from the pool of the graph that it becomes part of. A pool
// has as many users as graphs were captured with it; without users and without live blocks its segments are whole, and go back
// to the device when the cache is given back.
//
// During any capture nothing may be asked of an event, and nothing be freed with cudaFree: blocks that other streams have used
// then wait until no capture is under way.
#include "device/caching_allocator.h"
#include "device/capture.h"
#include <stdlib.h>

static bool is_same(FyPoolId a, FyPoolId b) {
  return a.id[0] == b.id[0] && a.id[1] == b.id[1];
}

static FyPrivatePool *find(const Allocator *a, FyPoolId id) {
  FyPrivatePool *pool = a->private_pools;
  while (pool && !is_same(pool->id, id))
    pool = pool->next;
  return pool;
}

static FyPrivatePool *new_pool(Allocator *a, FyPoolId id) {
  FyPrivatePool *pool = calloc(1, sizeof *pool);
  if (!pool)
    return NULL;
  pool->id = id;
  pool->small = (FyDevicePool){.owner = a, .small = true, .private_pool = pool};
  pool->large = (FyDevicePool){.owner = a, .private_pool = pool};
  pool->next = a->private_pools;
  a->private_pools = pool;
  return pool;
}

int fy_allocator_capture_pool(Allocator *a, const FyBackend *backend, void *stream, FyPrivatePool **pool) {
  uint64_t capture = 0;
  bool valid, first = false;
  FyPoolId id;
  *pool = NULL;
  if (!fy_is_capturing() || !stream)
    return 0;
  int error = backend->capture_info(stream, &capture, &valid);
  if (error || !fy_capture_pool(capture, a->device, &id, &first))
    return error;
  *pool = find(a, id);
  if (!*pool)
    *pool = new_pool(a, id);
  if (!*pool)
    return FY_BACKEND_OUT_OF_MEMORY;
  (*pool)->users += first;
  return 0;
}

void fy_allocator_release_pool(int device, FyPoolId id) {
  Allocator *a = fy_allocator_of(device);
  pthread_mutex_lock(&a->lock);
  FyPrivatePool *pool = find(a, id);
  if (pool)
    pool->users--;
  pthread_mutex_unlock(&a->lock);
}

// Without users, and without the memory that it had.
static bool is_over(const FyPrivatePool *pool) {
  return pool->users <= 0 && pool->segments == 0;
}

void fy_allocator_release_private(Allocator *a, const FyBackend *backend) {
  FyPrivatePool **link = &a->private_pools;
  while (*link) {
    FyPrivatePool *pool = *link;
    if (pool->users <= 0) {
      fy_allocator_release_segments(a, backend, &pool->large);
      fy_allocator_release_segments(a, backend, &pool->small);
    }
    if (!is_over(pool)) {
      link = &pool->next;
      continue;
    }
    *link = pool->next;
    free(pool);
  }
}

// ---- frees during a capture ------------------------------------------------------------------------------------------

void fy_allocator_defer(Allocator *a, FyBlock *block) {
  block->pending++; // in use, for its neighbors
  block->left = a->deferred;
  a->deferred = block;
  a->pending++;
}

void fy_allocator_process_deferred(Allocator *a, const FyBackend *backend) {
  while (a->deferred) {
    FyBlock *block = a->deferred;
    a->deferred = block->left;
    block->left = NULL;
    a->pending--;
    fy_allocator_mark_uses(a, backend, block);
    if (--block->pending == 0)
      fy_allocator_put_back(a, block);
  }
}
