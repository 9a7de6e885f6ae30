// SPDX-License-Identifier: MIT
// From lanes to warp instructions (simt_stack.c), reconvergence points (control_flow.c), and the cost of an access
// (coalescing.c).
#ifndef INSPECT_SIMT_STACK_H
#define INSPECT_SIMT_STACK_H

#include "inspect/inspect.h"

void simt_run(struct block_state *bs, uint32_t active);
bool simt_run_converged(struct block_state *bs,
                        uint32_t count); // all lanes have so many equal events; false: they did not start converged
void coalescing_count(struct site *site, const uint64_t *addresses, unsigned lanes, unsigned bytes);
// Counts a request of all 32 lanes, whose addresses have index `at` and are in the `bytes` bytes from `begin` on, if
// it has the same pattern as coalescing_count's last one; false: nothing was counted.
bool coalescing_repeats(struct site *site, const struct lane *lanes, uint32_t at, uint64_t begin, uint64_t bytes);

struct flow *flow_new(void);
void flow_learn(struct flow *flow, const struct lane *lane, unsigned depth, const uint32_t last[MAX_DEPTH]);
// The immediate post-dominator of a basic block; 0: the function's end.
uint32_t flow_post_dominator(struct flow *flow, uint32_t block);

#endif
