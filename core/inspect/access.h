// One access of one thread, from the compiler's call on: what there is to say of most accesses is nothing, and that has to be
// found out in a few nanoseconds. What takes longer is in memory.c, race.c and lane.c.
#ifndef INSPECT_ACCESS_H
#define INSPECT_ACCESS_H

#include "inspect/inspect.h"

#define ACCESS_INLINE static inline __attribute__((always_inline))

ACCESS_INLINE uint64_t access_load(const uint8_t *from, unsigned bytes) {
  uint64_t value = 0;
  memcpy(&value, from, bytes);
  return value;
}

ACCESS_INLINE bool access_all_written(uint64_t address, unsigned bytes) {
  const uint8_t *states = memory_states + (address - memory_arena);
  const uint64_t written = MEMORY_WRITTEN * 0x0101010101010101u;
  if (bytes < 8)
    return access_load(states, bytes) == written >> (64 - 8 * bytes);
  return access_load(states, 8) == written && (bytes == 8 || access_load(states + 8, 8) == written);
}

// True: the word needs no closer look, and remembers the access.
ACCESS_INLINE bool access_is_plain(const struct look *l, struct cell *cell, uint32_t key, enum space space) {
  struct mark *last = &cell->last;
  if (is_atomic(key))
    return false;
  if (last->era == l->era) {
    const uint32_t differs = last->who ^ l->who;
    if (!is_read(key)) // over its own read or write
      return cell->more == 0 && !is_atomic(last->key) && !(differs & (WHO_THREAD | WHO_HAS_OTHER)) &&
             (*last = (struct mark){l->era, key, l->who}, true);
    if (last->key == KEY_ANYONE)
      return true;
    if (differs & (WHO_WARP | WHO_EPOCH))
      return false;
    if (!is_read(last->key)) // behind its own write
      return cell->more == 0 && !is_atomic(last->key) && !(differs & WHO_LANE);
    if (!(differs & WHO_LANE) || last->who & WHO_HAS_OTHER)
      return true;
    if (cell->more || last->key != key)
      return false;
    last->who |= (l->who & WHO_LANE) << WHO_OTHER_AT | WHO_HAS_OTHER;
    return true;
  }
  // The first access in a launch. A read of shared memory is one of what nothing has written.
  if (cell->more || last->era >= l->first_era || (is_read(key) && space != SPACE_GLOBAL))
    return false;
  *last = (struct mark){l->era, key, l->who};
  return true;
}

// Of words that one page has whole; false: the slow way has to look, and may look at all of them again.
ACCESS_INLINE bool access_is_plain_at(const struct look *l, struct memory *memory, size_t offset, unsigned bytes,
                                      uint32_t key, enum space space) {
  struct page *page = memory->page[offset / MEMORY_PAGE];
  const size_t within = offset % MEMORY_PAGE;
  if (bytes < MEMORY_WORD || page == NULL || page->bytes)
    return false;
  if (offset % bytes && (offset % MEMORY_WORD || within + bytes > MEMORY_PAGE)) // what is aligned ends no page
    return false;
  struct cell *cells = &page->cells[within / MEMORY_WORD];
  for (unsigned i = 0; i < bytes / MEMORY_WORD; i++)
    if (!access_is_plain(l, &cells[i], key, space))
      return false;
  return true;
}

// Ends in a call of the slow way or in none, so that nothing has to be saved on the stack.
ACCESS_INLINE void access_memory(struct look *l, uint64_t address, unsigned bytes, uint32_t key) {
  struct lane *lane = l->lane;
  size_t offset = address - memory_arena;
  if (offset < memory_arena_bytes) {
    if (l->pending || lane->key_count >= lane->room || !access_all_written(address, bytes) ||
        !access_is_plain_at(l, memory_global, offset, bytes, key, SPACE_GLOBAL)) {
      lane_access(l, address, bytes, key);
      return;
    }
  } else {
    offset = address - (uintptr_t)l->shared;
    if (offset >= l->shared_bytes || l->pending || lane->key_count >= lane->room ||
        !l->known_shared[offset / MEMORY_WORD] ||
        !access_is_plain_at(l, l->shared_memory, offset, bytes, key, SPACE_SHARED)) {
      lane_access(l, address, bytes, key);
      return;
    }
  }
  l->last_key = key;
  lane->keys[lane->key_count++] = key;
  lane->addresses[lane->address_count++] = address;
}

ACCESS_INLINE void access_event(struct look *l, uint32_t key) {
  struct lane *lane = l->lane;
  if (lane->key_count >= lane->room) {
    lane_event(l, key);
    return;
  }
  l->last_key = key;
  lane->keys[lane->key_count++] = key;
}

#endif
