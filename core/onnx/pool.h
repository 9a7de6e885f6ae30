// SPDX-License-Identifier: MIT
// Memory for the parts of an ONNX file: taken piece by piece, given back all at once. For onnx/ only.
#ifndef FERRY_ONNX_POOL_H
#define FERRY_ONNX_POOL_H

#include "base/scope.h"

// An object of the scope; with it goes all that was taken from it.
typedef struct FyPool {
  FyObject object;
  struct FyPoolBlock *blocks; // the newest first
  size_t taken, limit;        // bytes; more than the limit is refused
} FyPool;
FyPool *fy_pool_new(size_t limit);

// Zeroed memory, aligned for anything; NULL beyond the limit, or when there is none left.
void *fy_pool_try(FyPool *pool, size_t bytes);

// The same; raises FY_OUT_OF_MEMORY_ERROR instead.
void *fy_pool_take(FyPool *pool, size_t bytes);

// `items` of `count` elements with room for one more: in a place of its own, twice as large, when the count is a power of two.
void *fy_pool_grow(FyPool *pool, void *items, size_t count, size_t bytes);

char *fy_pool_print(FyPool *pool, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
