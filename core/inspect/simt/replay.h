// Lanes into warp instructions (replay.c), where paths that part meet again (flow.c), and what one instruction asks of memory (request.c).
#ifndef INSPECT_REPLAY_H
#define INSPECT_REPLAY_H

#include "inspect/inspect.h"

void replay(struct look *l, uint32_t active);
bool replay_whole(struct look *l, uint32_t count); // all lanes did the same so many events; false: not from one place
void request_count(struct site *site, const uint64_t *addresses, unsigned lanes, unsigned bytes);
// Of all lanes at once, each with its address number `at`, in the `bytes` of memory from `begin` on: true where they lie to each other as they
// did when request_count came by last, and then it has been counted.
bool request_repeats(struct site *site, const struct lane *lanes, uint32_t at, uint64_t begin, uint64_t bytes);

struct flow *flow_new(void);
void flow_learn(struct flow *flow, const struct lane *lane, unsigned depth, const uint32_t last[MAX_DEPTH]);
// The basic block where all paths from this one meet; 0: where the function returns.
uint32_t flow_meets(struct flow *flow, uint32_t block);

#endif
