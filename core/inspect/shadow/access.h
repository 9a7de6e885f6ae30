// One access of one thread, from the compiler's call on: what there is to say of most accesses is nothing, and that has to be
// found out in a few nanoseconds. What takes longer is in memory.c, race.c and lane.c.
#ifndef INSPECT_ACCESS_H
#define INSPECT_ACCESS_H

#include "inspect/simt/lane.h"
#include "inspect/shadow/memory.h"
#include "inspect/shadow/word.h"

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

// The first access of a word in a launch, of global memory or a write. (A read of shared memory is one of what nothing has written.)
ACCESS_INLINE bool access_is_first(const struct look *l, struct cell *cell, uint32_t key) {
  if (cell->more || cell->last.era >= l->first_era)
    return false;
  cell->last = (struct mark){l->era, key, l->who};
  return true;
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
    if (last->who & WHO_HAS_OTHER) // as no write has
      return true;
    if (!is_read(last->key)) // behind its own write
      return cell->more == 0 && !is_atomic(last->key) && !(differs & WHO_LANE);
    if (!(differs & WHO_LANE))
      return true;
    if (cell->more || last->key != key)
      return false;
    last->who |= (l->who & WHO_LANE) << WHO_OTHER_AT | WHO_HAS_OTHER;
    return true;
  }
  return (space == SPACE_GLOBAL || !is_read(key)) && access_is_first(l, cell, key);
}

// The same where the cell has a record: a read of global memory that the launch has not written; and in shared memory a read of what
// a barrier lies behind, or a write of what has been read and written before one. is_known in word.h comes to the same, and
// knows of barriers that had no reason so far.
ACCESS_INLINE bool access_is_ordered(const struct look *l, struct cell *cell, struct record *r, uint32_t key,
                                     enum space space) {
  const struct mark now = {l->era, key, l->who};
  if (!is_read(key)) {
    if (space == SPACE_GLOBAL || r->write.era > l->needed_era || r->read.era > l->needed_era ||
        r->other.era > l->needed_era)
      return false;
    r->write = now;
    cell->last.era = 0;
    return true;
  }
  if (space == SPACE_GLOBAL ? r->write.era >= l->first_era
                            : r->write.era - l->block_era >= l->needed_era + 1 - l->block_era)
    return false;
  if (r->read.era < (space == SPACE_GLOBAL ? l->first_era : l->phase_era)) {
    if (space == SPACE_GLOBAL)
      r->read = now;
    else
      read_anew(l, r, &now);
    cell->last.era = 0;
  } else {
    note_read(l, r, &now);
    settle_reads(l, cell, r);
  }
  return true;
}

// Of words that one page has whole; false: the slow way has to look, and may look at all of them again.
ACCESS_INLINE bool access_is_plain_at(const struct look *l, struct cell *cells, unsigned bytes, uint32_t key,
                                      enum space space) {
  for (unsigned i = 0; i < bytes / MEMORY_WORD; i++)
    if (!access_is_plain(l, &cells[i], key, space))
      return false;
  return true;
}

// The cell of the word at this offset, and those of the words behind it.
ACCESS_INLINE struct cell *access_cells(struct cell *words, size_t offset) {
  return (struct cell *)((char *)words + offset / MEMORY_WORD * sizeof *words);
}

// True: the block has read the word in this phase, and one lane more of this warp reads it, or one of any. Where a read has found
// memory that nothing has written, or that is not allocated, no cell says this (lane.c).
ACCESS_INLINE bool access_is_repeated(const struct look *l, const struct cell *cell) {
  const struct mark *last = &cell->last;
  return last->era == l->era &&
         (((last->who ^ (l->who | WHO_HAS_OTHER)) & (WHO_WARP | WHO_EPOCH | WHO_HAS_OTHER)) == 0 ||
          last->key == KEY_ANYONE);
}

// Each ends in a call of the slow way or in none, so that nothing has to be saved on the stack. `aligned`: to its own size.
ACCESS_INLINE void access_global(struct look *l, size_t offset, uint64_t address, unsigned bytes, uint32_t key,
                                 bool aligned) {
  struct cell *cells = access_cells(memory_global_words, offset);
  if (!aligned && (offset % MEMORY_WORD || offset % MEMORY_PAGE + bytes > MEMORY_PAGE)) {
    lane_access(l, address, bytes, key);
  } else if (bytes == MEMORY_WORD && is_read(key) && __builtin_expect(access_is_repeated(l, cells), 1)) {
    lane_keep(address, key);
  } else if (!access_all_written(address, bytes)) {
    lane_access(l, address, bytes, key);
  } else if (bytes > MEMORY_WORD) {
    if (access_is_plain_at(l, cells, bytes, key, SPACE_GLOBAL))
      lane_keep(address, key);
    else
      lane_access(l, address, bytes, key);
  } else if (access_is_first(l, cells, key)) {
    lane_keep(address, key);
  } else if (is_read(key)) {
    lane_read_global(l, address, cells, key);
  } else {
    lane_write_global(l, address, cells, key);
  }
}

ACCESS_INLINE struct record *access_record(const struct look *l, size_t offset) {
  return &l->shared_records[offset / MEMORY_WORD];
}

// Shared memory begins at a multiple of 16: what is aligned to its own size ends no page.
ACCESS_INLINE void access_shared(struct look *l, size_t offset, uint64_t address, unsigned bytes, uint32_t key,
                                 bool aligned) {
  struct cell *cells = access_cells(l->shared_words, offset);
  if (!aligned && (offset % MEMORY_WORD || offset % MEMORY_PAGE + bytes > MEMORY_PAGE)) {
    lane_access(l, address, bytes, key);
    return;
  }
  if (bytes > MEMORY_WORD) {
    if (l->known_shared[offset / MEMORY_WORD] && access_is_plain_at(l, cells, bytes, key, SPACE_SHARED))
      lane_keep(address, key);
    else
      lane_access(l, address, bytes, key);
  } else if (is_read(key) && __builtin_expect(access_is_repeated(l, cells), 1))
    lane_keep(address, key);
  else if (!l->known_shared[offset / MEMORY_WORD])
    lane_access(l, address, bytes, key);
  else if (is_read(key))
    lane_read_shared(l, address, cells, key, access_record(l, offset));
  else
    lane_write_shared(l, address, cells, key, access_record(l, offset));
}

ACCESS_INLINE void access_memory(struct look *l, uint64_t address, unsigned bytes, uint32_t key, bool aligned) {
  const size_t offset = address - memory_arena, at = address - (uintptr_t)l->shared;
  if (bytes < MEMORY_WORD)
    lane_access(l, address, bytes, key);
  else if (offset < memory_arena_bytes)
    access_global(l, offset, address, bytes, key, aligned);
  else if (at < l->shared_bytes)
    access_shared(l, at, address, bytes, key, aligned);
  else
    lane_elsewhere(l, address, bytes, key);
}

ACCESS_INLINE bool access_is_slow(void) {
  return __builtin_expect(inspect_tail.key >= inspect_tail.limit, 0);
}

#endif
