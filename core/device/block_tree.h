// SPDX-License-Identifier: MIT
// Free blocks in PyTorch's order (stream, size, address), as a treap: a search tree by that order and a heap by random
// numbers, which keeps it shallow without any balancing code. For core/device/ only.
#ifndef FERRY_DEVICE_BLOCK_TREE_H
#define FERRY_DEVICE_BLOCK_TREE_H

#include "device/impl.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct FyStreamUse;
struct FyDevicePool;

// A piece of device memory. A segment, which is what cudaMalloc gave, is a chain of blocks without gaps.
typedef struct FyBlock {
  void *pointer;
  void *stream;                // the owner: the stream it was allocated on
  size_t size, requested;      // bytes: a multiple of 512, and what the caller asked for
  struct FyBlock *prev, *next; // neighbors in the segment
  struct FyDevicePool *pool;   // small or large
  struct FyStreamUse *uses;    // other streams that it was used on (fy_cuda_record_stream)
  int pending;                 // marks of theirs that must pass before it is free again
  bool allocated;
  FyPlace place,
      segment_place; // who asked for it; in a segment's first block: who made the allocator ask for the segment
  uint32_t heap;     // the treap's random number
  struct FyBlock *left, *right; // in the tree of free blocks
} FyBlock;

// None of these raises or takes memory; the allocator's lock is held.
void fy_block_tree_insert(FyBlock **root, FyBlock *block);
void fy_block_tree_remove(FyBlock **root, FyBlock *block);

// The smallest block of `stream` with at least `size` bytes, the lowest address among equals; NULL when there is none.
FyBlock *fy_block_tree_best_fit(FyBlock *root, void *stream, size_t size);

#endif
