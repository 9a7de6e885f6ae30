// SPDX-License-Identifier: MIT
// Atomic and volatile accesses, which are strong: when two of them race, and what they order (strong.c).
#ifndef INSPECT_STRONG_H
#define INSPECT_STRONG_H

#include "inspect/shadow/memory.h"

// Both the earlier access and the running thread's.
bool strong_both(const struct block_state *bs, const struct access *before, uint32_t event);
bool strong_agree(struct block_state *bs, const struct access *before, uint32_t event, uint64_t address,
                  enum space space, bool one_warp);
// The atomic that is about to happen does not change the value. Then it is a read, as which it is recorded.
bool strong_leaves_value(const struct block_state *bs, uint32_t event, uint64_t address);
uint32_t strong_as_read(uint32_t event);
// After an access to the word. `reads`: it writes nothing.
void strong_synchronize(struct block_state *bs, const struct shadow_word *word, uint32_t event, uint64_t address,
                        bool reads);

#endif
