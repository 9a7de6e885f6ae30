// SPDX-License-Identifier: MIT
// Memory of small objects (tensors, storages, nodes of the graph): freed blocks stay with the thread that freed them, so
// that the next object of the size costs a few instructions, and the C library is not asked at all.
#ifndef FERRY_BASE_SMALL_H
#define FERRY_BASE_SMALL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

enum { FY_SMALL_STEP = 64, FY_SMALL_CLASSES = 20, FY_SMALL_KEPT = 64 }; // blocks of a class that a thread keeps

typedef struct FySmallCache {
  void *blocks[FY_SMALL_CLASSES]; // each begins with the address of the next
  int counts[FY_SMALL_CLASSES];
  bool registered; // is emptied when the thread ends
} FySmallCache;

extern _Thread_local FySmallCache fy_small_cache;

// The way round the cache: never zeroed; `fy_small_put` frees.
void *fy_small_take(size_t bytes);
void fy_small_put(void *block, size_t bytes);

static inline size_t fy_small_class(size_t bytes) {
  return (bytes + FY_SMALL_STEP - 1) / FY_SMALL_STEP + (bytes == 0);
}

// malloc(bytes); NULL when there is no memory. Goes back by fy_small_free with the same size, or by free.
static inline void *fy_small_alloc(size_t bytes) {
  size_t class = fy_small_class(bytes);
  void *block = class < FY_SMALL_CLASSES ? fy_small_cache.blocks[class] : NULL;
  if (!block)
    return fy_small_take(bytes);
  memcpy(&fy_small_cache.blocks[class], block, sizeof block);
  fy_small_cache.counts[class]--;
  return block;
}

static inline void *fy_small_alloc_zeroed(size_t bytes) {
  void *block = fy_small_alloc(bytes);
  return block ? memset(block, 0, bytes) : NULL;
}

static inline void fy_small_free(void *block, size_t bytes) {
  size_t class = fy_small_class(bytes);
  if (class >= FY_SMALL_CLASSES || !fy_small_cache.registered || fy_small_cache.counts[class] >= FY_SMALL_KEPT) {
    fy_small_put(block, bytes);
    return;
  }
  memcpy(block, &fy_small_cache.blocks[class], sizeof block);
  fy_small_cache.blocks[class] = block;
  fy_small_cache.counts[class]++;
}

#endif
