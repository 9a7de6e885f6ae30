// SPDX-License-Identifier: MIT
// Launches begin and end, and which of their blocks are instrumented (launches.c).
#ifndef INSPECT_LAUNCHES_H
#define INSPECT_LAUNCHES_H

#include "inspect/inspect.h"

struct cudasim_launch_request;

void launches_read_limits(void); // from the environment, before any launch
void *launch_begins(const struct cudasim_launch_request *request, unsigned int count); // NULL: no block is instrumented
void launch_ends(void *launch);
// How many blocks from this one on are not instrumented, at most `most`.
unsigned int launch_blocks_left(void *launch, unsigned int index, unsigned int most);
bool launch_wants(const struct launch *launch, unsigned int index);

// Called with the inspector's lock held. False: the launch has used up its events, and no further block is instrumented.
bool launch_begins_block(struct launch *launch);
void launch_ends_block(struct launch *launch);

#endif
