// SPDX-License-Identifier: MIT
// Blocks in a list, cut from the front; what is larger than a block gets one of its own.
#include "onnx/pool.h"
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCK = 4096, ALIGNMENT = 16 };

typedef struct FyPoolBlock {
  struct FyPoolBlock *next;
  size_t used, size;
  _Alignas(ALIGNMENT) char bytes[];
} FyPoolBlock;

static void destroy_pool(void *object) {
  FyPool *pool = object;
  while (pool->blocks) {
    FyPoolBlock *block = pool->blocks;
    pool->blocks = block->next;
    free(block);
  }
  free(pool);
}

FyPool *fy_pool_new(size_t limit) {
  FyPool *pool = fy_object_new(sizeof *pool, destroy_pool);
  pool->limit = limit;
  return pool;
}

static FyPoolBlock *add_block(FyPool *pool, size_t size) {
  FyPoolBlock *block = calloc(1, sizeof *block + size);
  if (!block)
    return NULL;
  block->size = size;
  if (pool->blocks && size > BLOCK) { // behind the first, which still has room
    block->next = pool->blocks->next;
    pool->blocks->next = block;
  } else {
    block->next = pool->blocks;
    pool->blocks = block;
  }
  return block;
}

void *fy_pool_try(FyPool *pool, size_t bytes) {
  if (bytes > pool->limit)
    return NULL;
  const size_t size = (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
  if (size > pool->limit - pool->taken)
    return NULL;
  FyPoolBlock *block = pool->blocks;
  if (!block || size > block->size - block->used)
    block = add_block(pool, size > BLOCK ? size : BLOCK);
  if (!block)
    return NULL;
  void *memory = block->bytes + block->used;
  block->used += size;
  pool->taken += size;
  return memory;
}

void *fy_pool_take(FyPool *pool, size_t bytes) {
  void *memory = fy_pool_try(pool, bytes);
  fy_check(memory, FY_OUT_OF_MEMORY_ERROR, "out of host memory for an ONNX file: %zu bytes are taken", pool->taken);
  return memory;
}

void *fy_pool_grow(FyPool *pool, void *items, size_t count, size_t bytes) {
  if (count & (count - 1)) // not a power of two: there is room
    return items;
  void *larger = fy_pool_take(pool, (count ? 2 * count : 1) * bytes);
  if (count)
    memcpy(larger, items, count * bytes);
  return larger;
}

char *fy_pool_print(FyPool *pool, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  const int length = vsnprintf(NULL, 0, format, arguments);
  va_end(arguments);
  char *text = fy_pool_take(pool, (size_t)length + 1);
  va_start(arguments, format);
  vsnprintf(text, (size_t)length + 1, format, arguments);
  va_end(arguments);
  return text;
}
