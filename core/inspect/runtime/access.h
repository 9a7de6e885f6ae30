// SPDX-License-Identifier: MIT
// The fast path of an access, inlined into each callback: most accesses cannot race, which must be found out in a few
// nanoseconds. The slow path is in lane.c, memory.c and race.c.
#ifndef INSPECT_ACCESS_H
#define INSPECT_ACCESS_H

#include "inspect/runtime/lane.h"
#include "inspect/shadow/memory.h"
#include "inspect/shadow/shadow_word.h"

#define ACCESS_INLINE static inline __attribute__((always_inline))

ACCESS_INLINE uint64_t access_load(const uint8_t *from, unsigned bytes) {
  uint64_t value = 0;
  memcpy(&value, from, bytes);
  return value;
}

ACCESS_INLINE bool access_all_written(uint64_t address, unsigned bytes) {
  const uint8_t *states = memory_byte_states + (address - memory_arena);
  const uint64_t written = MEMORY_WRITTEN * 0x0101010101010101u;
  if (bytes < 8)
    return access_load(states, bytes) == written >> (64 - 8 * bytes);
  return access_load(states, 8) == written && (bytes == 8 || access_load(states + 8, 8) == written);
}

// Returns true if this is the word's first access in the launch: of global memory, or a write. (A first read of
// shared memory is uninitialized.)
ACCESS_INLINE bool access_is_first(const struct block_state *bs, struct shadow_word *word, uint32_t event) {
  if (word->inflated || word->last.interval >= bs->first_interval)
    return false;
  word->last = (struct epoch){bs->interval, event, bs->accessor};
  return true;
}

// Fast path. Returns true if the access cannot race (same epoch or same thread); the shadow word is updated.
ACCESS_INLINE bool access_is_plain(const struct block_state *bs, struct shadow_word *word, uint32_t event,
                                   enum space space) {
  struct epoch *last = &word->last;
  if (is_atomic(event))
    return false;
  if (last->interval == bs->interval) {
    const uint32_t differs = last->accessor ^ bs->accessor;
    if (!is_read(event)) // over its own read or write
      return word->inflated == 0 && !is_atomic(last->event) && !(differs & (ACCESSOR_THREAD | ACCESSOR_HAS_OTHER)) &&
             (*last = (struct epoch){bs->interval, event, bs->accessor}, true);
    if (last->event == READ_SHARED)
      return true;
    if (differs & (ACCESSOR_WARP | ACCESSOR_CLOCK))
      return false;
    if (last->accessor & ACCESSOR_HAS_OTHER) // which excludes a write
      return true;
    if (!is_read(last->event)) // after its own write
      return word->inflated == 0 && !is_atomic(last->event) && !(differs & ACCESSOR_LANE);
    if (!(differs & ACCESSOR_LANE))
      return true;
    if (word->inflated || last->event != event)
      return false;
    last->accessor |= (bs->accessor & ACCESSOR_LANE) << ACCESSOR_OTHER_AT | ACCESSOR_HAS_OTHER;
    return true;
  }
  return (space == SPACE_GLOBAL || !is_read(event)) && access_is_first(bs, word, event);
}

// The same for an inflated word: a read of global memory that the launch has not written; in shared memory, a read or
// write of what a barrier orders. shadow_word.h's is_covered does the same, and also marks barriers as needed.
ACCESS_INLINE bool access_is_ordered(const struct block_state *bs, struct shadow_word *word, struct shadow_state *r,
                                     uint32_t event, enum space space) {
  const struct epoch now = {bs->interval, event, bs->accessor};
  if (!is_read(event)) {
    if (space == SPACE_GLOBAL || r->write.interval > bs->needed_interval || r->read.interval > bs->needed_interval ||
        r->other.interval > bs->needed_interval)
      return false;
    r->write = now;
    word->last.interval = 0;
    return true;
  }
  if (space == SPACE_GLOBAL ? r->write.interval >= bs->first_interval
                            : r->write.interval - bs->block_interval >= bs->needed_interval + 1 - bs->block_interval)
    return false;
  if (r->read.interval < (space == SPACE_GLOBAL ? bs->first_interval : bs->phase_interval)) {
    if (space == SPACE_GLOBAL)
      r->read = now;
    else
      record_read_of_phase(bs, r, &now);
    word->last.interval = 0;
  } else {
    record_read(bs, r, &now);
    summarize_reads(bs, word, r);
  }
  return true;
}

// Of whole words within one page. False: take the slow path, which checks all of them again.
ACCESS_INLINE bool access_is_plain_at(const struct block_state *bs, struct shadow_word *words, unsigned bytes,
                                      uint32_t event, enum space space) {
  for (unsigned i = 0; i < bytes / MEMORY_WORD; i++)
    if (!access_is_plain(bs, &words[i], event, space))
      return false;
  return true;
}

// The shadow word at this offset; those of the following words are next to it.
ACCESS_INLINE struct shadow_word *access_shadow_words(struct shadow_word *words, size_t offset) {
  return (struct shadow_word *)((char *)words + offset / MEMORY_WORD * sizeof *words);
}

// Returns true if a further read of this phase is covered. Words that are unallocated or uninitialized never get into
// this state (lane.c).
ACCESS_INLINE bool access_is_repeated(const struct block_state *bs, const struct shadow_word *word) {
  const struct epoch *last = &word->last;
  return last->interval == bs->interval && (((last->accessor ^ (bs->accessor | ACCESSOR_HAS_OTHER)) &
                                             (ACCESSOR_WARP | ACCESSOR_CLOCK | ACCESSOR_HAS_OTHER)) == 0 ||
                                            last->event == READ_SHARED);
}

// Each path ends in at most one call, so nothing is saved on the stack. `aligned`: the address is a multiple of the
// size.
ACCESS_INLINE void access_global(struct block_state *bs, size_t offset, uint64_t address, unsigned bytes,
                                 uint32_t event, bool aligned) {
  struct shadow_word *words = access_shadow_words(memory_global_words, offset);
  if (!aligned && (offset % MEMORY_WORD || offset % MEMORY_PAGE + bytes > MEMORY_PAGE)) {
    lane_access(bs, address, bytes, event);
  } else if (bytes == MEMORY_WORD && is_read(event) && __builtin_expect(access_is_repeated(bs, words), 1)) {
    lane_keep(address, event);
  } else if (!access_all_written(address, bytes)) {
    lane_access(bs, address, bytes, event);
  } else if (bytes > MEMORY_WORD) {
    if (access_is_plain_at(bs, words, bytes, event, SPACE_GLOBAL))
      lane_keep(address, event);
    else
      lane_access(bs, address, bytes, event);
  } else if (access_is_first(bs, words, event)) {
    lane_keep(address, event);
  } else if (is_read(event)) {
    lane_read_global(bs, address, words, event);
  } else {
    lane_write_global(bs, address, words, event);
  }
}

ACCESS_INLINE struct shadow_state *access_shadow_state(const struct block_state *bs, size_t offset) {
  return &bs->shared_states[offset / MEMORY_WORD];
}

// Shared memory begins at a multiple of 16, so an aligned access does not cross a page.
ACCESS_INLINE void access_shared(struct block_state *bs, size_t offset, uint64_t address, unsigned bytes,
                                 uint32_t event, bool aligned) {
  struct shadow_word *words = access_shadow_words(bs->shared_words, offset);
  if (!aligned && (offset % MEMORY_WORD || offset % MEMORY_PAGE + bytes > MEMORY_PAGE)) {
    lane_access(bs, address, bytes, event);
    return;
  }
  if (bytes > MEMORY_WORD) {
    if (bs->known_shared[offset / MEMORY_WORD] && access_is_plain_at(bs, words, bytes, event, SPACE_SHARED))
      lane_keep(address, event);
    else
      lane_access(bs, address, bytes, event);
  } else if (is_read(event) && __builtin_expect(access_is_repeated(bs, words), 1))
    lane_keep(address, event);
  else if (!bs->known_shared[offset / MEMORY_WORD])
    lane_access(bs, address, bytes, event);
  else if (is_read(event))
    lane_read_shared(bs, address, words, event, access_shadow_state(bs, offset));
  else
    lane_write_shared(bs, address, words, event, access_shadow_state(bs, offset));
}

ACCESS_INLINE void access_memory(struct block_state *bs, uint64_t address, unsigned bytes, uint32_t event,
                                 bool aligned) {
  const size_t offset = address - memory_arena, at = address - (uintptr_t)bs->shared;
  if (bytes < MEMORY_WORD)
    lane_access(bs, address, bytes, event);
  else if (offset < memory_arena_bytes)
    access_global(bs, offset, address, bytes, event, aligned);
  else if (at < bs->shared_bytes)
    access_shared(bs, at, address, bytes, event, aligned);
  else
    lane_elsewhere(bs, address, bytes, event);
}

ACCESS_INLINE bool access_is_slow(void) {
  return __builtin_expect(inspect_tail.next >= inspect_tail.limit, 0);
}

#endif
