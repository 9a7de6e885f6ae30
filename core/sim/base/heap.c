// SPDX-License-Identifier: MIT
// First-fit allocation (D. Knuth, "The Art of Computer Programming", vol. 1, section 2.5) in a sorted array of pieces;
// sorted arrays of address ranges.
#include "sim/base/heap.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "sim/base/plugin.h"
#include "sim/base/sim.h"

// Between any two allocations are bytes that belong to neither, for AddressSanitizer and for the checks at launch.
enum { ALIGNMENT = 256, RED_ZONE = 256 };

// For an inspector the red zone is wider, so that a thread with a wrong index does not come to another allocation: then it
// would only be told of that one's races. The fewer allocations, the wider; these bytes do not count as used.
static size_t widening(const struct sim_heap *heap, size_t need) {
  enum { FEW = 64, MANY = 1024, WIDE = 1 << 20, NARROW = 1 << 16 };
  const size_t wide = sim_inspector == NULL || heap->count > MANY ? 0 : heap->count > FEW ? NARROW : WIDE;
  return need + wide > heap->capacity - heap->reach ? 0 : wide;
}

// The number of pieces that begin at or below an address.
static size_t pieces_up_to(const struct sim_heap *heap, const char *address) {
  size_t low = 0, high = heap->count;
  while (low < high) {
    size_t middle = (low + high) / 2;
    if (heap->pieces[middle].address <= address)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

static void insert_piece(struct sim_heap *heap, size_t at, struct sim_piece piece) {
  if (heap->count == heap->room) {
    heap->room = heap->room ? 2 * heap->room : 64;
    heap->pieces = sim_resize(heap->pieces, heap->room * sizeof *heap->pieces);
  }
  memmove(heap->pieces + at + 1, heap->pieces + at, (heap->count - at) * sizeof *heap->pieces);
  heap->pieces[at] = piece;
  heap->count++;
}

static void remove_piece(struct sim_heap *heap, size_t at) {
  heap->count--;
  memmove(heap->pieces + at, heap->pieces + at + 1, (heap->count - at) * sizeof *heap->pieces);
}

// First fit; a new piece at the end otherwise.
char *sim_heap_take(struct sim_heap *heap, size_t bytes, bool *grown) {
  *grown = false;
  if (bytes > heap->capacity)
    return NULL;
  const size_t need = (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT + RED_ZONE;
  for (size_t i = 0; i < heap->count; i++) {
    struct sim_piece *piece = &heap->pieces[i];
    if (piece->used || piece->size < need)
      continue;
    char *address = piece->address;
    size_t left = piece->size - need;
    *piece = (struct sim_piece){address, need, bytes, 0, 0, true};
    if (left > 0)
      insert_piece(heap, i + 1, (struct sim_piece){address + need, left, 0, 0, 0, false});
    heap->used += need;
    return address;
  }
  if (need > heap->capacity - heap->reach)
    return NULL;
  const size_t wide = widening(heap, need);
  char *address = heap->base + heap->reach;
  insert_piece(heap, heap->count, (struct sim_piece){address, need + wide, bytes, 0, wide, true});
  heap->reach += need + wide;
  heap->used += need;
  *grown = true;
  return address;
}

static void merge_with_next(struct sim_heap *heap, size_t at) {
  if (at + 1 >= heap->count || heap->pieces[at].used || heap->pieces[at + 1].used)
    return;
  heap->pieces[at].size += heap->pieces[at + 1].size;
  remove_piece(heap, at + 1);
}

void sim_heap_shift(struct sim_heap *heap, char *address, size_t offset, size_t asked) {
  struct sim_piece *piece = &heap->pieces[pieces_up_to(heap, address) - 1];
  piece->offset = offset;
  piece->asked = asked;
}

size_t sim_heap_give(struct sim_heap *heap, char *address) {
  size_t at = pieces_up_to(heap, address);
  if (at == 0 || heap->pieces[at - 1].address + heap->pieces[at - 1].offset != address || !heap->pieces[at - 1].used)
    return 0;
  size_t size = heap->pieces[--at].size;
  heap->pieces[at].used = false;
  heap->used -= size - heap->pieces[at].wide;
  merge_with_next(heap, at);
  if (at > 0)
    merge_with_next(heap, at - 1);
  struct sim_piece *last = &heap->pieces[heap->count - 1];
  if (!last->used) { // what lies before it and what was never handed out make one piece again
    heap->reach -= last->size;
    heap->count--;
  }
  return size;
}

const struct sim_piece *sim_heap_find(const struct sim_heap *heap, const void *address) {
  const char *byte = address;
  if (byte < heap->base || byte >= heap->base + heap->reach)
    return NULL;
  return &heap->pieces[pieces_up_to(heap, byte) - 1];
}

static size_t ranges_up_to(const struct sim_ranges *ranges, const char *address) {
  size_t low = 0, high = ranges->count;
  while (low < high) {
    size_t middle = (low + high) / 2;
    if (ranges->items[middle].address <= address)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

bool sim_ranges_add(struct sim_ranges *ranges, struct sim_range range) {
  size_t at = ranges_up_to(ranges, range.address);
  if (at > 0 && ranges->items[at - 1].address + ranges->items[at - 1].size > range.address)
    return false;
  if (at < ranges->count && range.address + range.size > ranges->items[at].address)
    return false;
  if (ranges->count == ranges->room) {
    ranges->room = ranges->room ? 2 * ranges->room : 64;
    ranges->items = sim_resize(ranges->items, ranges->room * sizeof *ranges->items);
  }
  memmove(ranges->items + at + 1, ranges->items + at, (ranges->count - at) * sizeof *ranges->items);
  ranges->items[at] = range;
  ranges->count++;
  return true;
}

bool sim_ranges_remove(struct sim_ranges *ranges, const void *address, struct sim_range *removed) {
  size_t at = ranges_up_to(ranges, address);
  if (at == 0 || ranges->items[at - 1].address != address)
    return false;
  at--;
  *removed = ranges->items[at];
  ranges->count--;
  memmove(ranges->items + at, ranges->items + at + 1, (ranges->count - at) * sizeof *ranges->items);
  return true;
}

const struct sim_range *sim_ranges_find(const struct sim_ranges *ranges, const void *address) {
  size_t at = ranges_up_to(ranges, address);
  if (at == 0)
    return NULL;
  const struct sim_range *range = &ranges->items[at - 1];
  return (const char *)address < range->address + range->size ? range : NULL;
}
