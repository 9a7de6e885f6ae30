// SPDX-License-Identifier: MIT
// Atomic and volatile accesses. In CUDA's memory model, those are strong (volatile accesses are relaxed and have system
// scope), and two strong accesses are no data race. But a program may still rely on an order that there is not.
#include "inspect/shadow/strong.h"

#include <string.h>

#include "inspect/program.h"
#include "inspect/shadow/race.h"
#include "inspect/shadow/sync.h"

static bool is_strong(const struct block_state *bs, const struct access *access, uint32_t event) {
  return is_atomic(event) ? !is_atomic_of_block(event) || access->instance == bs->instance
                          : program_is_volatile(event_pc(event));
}

bool strong_both(const struct block_state *bs, const struct access *before, uint32_t event) {
  return is_strong(bs, before, before->event) && is_strong(bs, before, event);
}

// Do two accesses that nothing orders not race? Atomics do not, and polling a volatile flag does not. But the last of
// two volatile writes, or of an atomic and a volatile write, replaces a value that its thread has not seen; and
// volatile data that a block passes on with a fence for its own threads may be stale in another block. Volatile
// accesses of one warp's lanes do race, and so do those to shared memory, where there are barriers.
bool strong_agree(struct block_state *bs, const struct access *before, uint32_t event, uint64_t address,
                  enum space space, bool one_warp) {
  const bool atomic = is_atomic(before->event) || is_atomic(event);
  const bool global = space == SPACE_GLOBAL || space == SPACE_VARIABLE;
  if (!(atomic || (global && !one_warp)) || !strong_both(bs, before, event))
    return false;
  if (!global || is_atomic(event))
    return true;
  if (!is_read(before->event) && !is_read(event))
    return sync_has_seen(bs, address, before);
  return is_atomic(before->event) || before->instance == bs->instance || !bs->launch->any_block_release ||
         sync_happens_before(bs, before) || sync_lacks(bs, before) != LACKS_SCOPE;
}

static uint64_t value_at(uint64_t address, unsigned bytes) {
  uint64_t value = 0;
  memcpy(&value, (const void *)(uintptr_t)address, bytes < sizeof value ? bytes : sizeof value); // NOLINT
  return value;
}

bool strong_leaves_value(const struct block_state *bs, uint32_t event, uint64_t address) {
  const enum atomic_kind kind = bs->atomic.kind;
  if (kind == ATOMIC_ADDS_NOTHING || kind == ATOMIC_UPDATES)
    return kind == ATOMIC_ADDS_NOTHING;
  const uint64_t value = value_at(address, access_bytes(event));
  return value == bs->atomic.value || (kind == ATOMIC_SWAPS && value != bs->atomic.expected);
}

uint32_t strong_as_read(uint32_t event) {
  program_has_volatile(event_pc(event)); // so it is strong
  return (event & ~(uint32_t)KIND_MASK) | (EVENT_READ + event_kind(event) - EVENT_ATOMIC);
}

// Of another thread, in this launch.
static bool last_write(const struct block_state *bs, const struct shadow_word *word, struct access *write) {
  return race_last_write(word, write) && write->instance >= bs->launch->first_instance &&
         write->instance < bs->launch->end_instance && (write->instance != bs->instance || write->thread != bs->thread);
}

void strong_synchronize(struct block_state *bs, const struct shadow_word *word, uint32_t event, uint64_t address,
                        bool reads) {
  const bool atomic = is_atomic(event), swaps = atomic && bs->atomic.kind == ATOMIC_SWAPS;
  struct access write;
  sync_access(bs, address,
              (struct sync_access){.acquires = atomic || reads,
                                   .releases = !reads || (atomic && !swaps),
                                   .takes_lock = swaps && !reads,
                                   .writes = !reads,
                                   .seen = reads && last_write(bs, word, &write) ? &write : NULL});
}
