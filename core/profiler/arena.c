// SPDX-License-Identifier: MIT
#include "profiler/impl.h"
#include <stdlib.h>
#include <string.h>

typedef struct FyArenaBlock {
  struct FyArenaBlock *next;
  size_t used, capacity;
  _Alignas(16) char bytes[];
} ArenaBlock;

enum { LEAST = 16 << 10 };

static ArenaBlock *add_block(FyArena *arena, size_t bytes) {
  size_t capacity = bytes > LEAST ? bytes : LEAST;
  ArenaBlock *block = malloc(sizeof *block + capacity);
  if (!block)
    return NULL;
  *block = (ArenaBlock){.next = arena->blocks, .capacity = capacity};
  arena->blocks = block;
  return block;
}

void *fy_arena_take(FyArena *arena, size_t bytes) {
  bytes = (bytes + 15) & ~(size_t)15;
  ArenaBlock *block = arena->blocks;
  if (!block || block->capacity - block->used < bytes)
    block = add_block(arena, bytes);
  if (!block)
    return NULL;
  void *taken = block->bytes + block->used;
  block->used += bytes;
  return taken;
}

const char *fy_arena_text(FyArena *arena, const char *text) {
  size_t bytes = strlen(text) + 1;
  char *copy = fy_arena_take(arena, bytes);
  return copy ? memcpy(copy, text, bytes) : NULL;
}

void fy_arena_free(FyArena *arena) {
  for (ArenaBlock *block = arena->blocks, *next; block; block = next) {
    next = block->next;
    free(block);
  }
  arena->blocks = NULL;
}
