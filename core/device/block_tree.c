// SPDX-License-Identifier: MIT
#include "device/block_tree.h"

static bool before(const FyBlock *a, const FyBlock *b) {
  if (a->stream != b->stream)
    return (uintptr_t)a->stream < (uintptr_t)b->stream;
  if (a->size != b->size)
    return a->size < b->size;
  return (uintptr_t)a->pointer < (uintptr_t)b->pointer;
}

// Splits `tree` into what comes before `block` and what comes after it.
static void split(FyBlock *tree, const FyBlock *block, FyBlock **less, FyBlock **more) {
  while (tree) {
    if (before(tree, block)) {
      *less = tree;
      less = &tree->right;
      tree = tree->right;
    } else {
      *more = tree;
      more = &tree->left;
      tree = tree->left;
    }
  }
  *less = NULL;
  *more = NULL;
}

void fy_block_tree_insert(FyBlock **root, FyBlock *block) {
  while (*root && (*root)->heap >= block->heap)
    root = before(*root, block) ? &(*root)->right : &(*root)->left;
  split(*root, block, &block->left, &block->right);
  *root = block;
}

void fy_block_tree_remove(FyBlock **root, FyBlock *block) {
  while (*root != block)
    root = before(*root, block) ? &(*root)->right : &(*root)->left;
  FyBlock *less = block->left;
  FyBlock *more = block->right;
  while (less && more) {
    if (less->heap > more->heap) {
      *root = less;
      root = &less->right;
      less = less->right;
    } else {
      *root = more;
      root = &more->left;
      more = more->left;
    }
  }
  *root = less ? less : more;
}

FyBlock *fy_block_tree_best_fit(FyBlock *root, void *stream, size_t size) {
  FyBlock key = {.stream = stream, .size = size};
  FyBlock *best = NULL;
  while (root) {
    if (before(root, &key)) {
      root = root->right;
    } else {
      best = root;
      root = root->left;
    }
  }
  return best && best->stream == stream ? best : NULL;
}
