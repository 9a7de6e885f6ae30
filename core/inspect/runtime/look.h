// What the simulator has told so far (look.c).
#ifndef INSPECT_LOOK_H
#define INSPECT_LOOK_H

#include "inspect/inspect.h"

uint64_t look_new_run(void); // of something else than a block
// From here on this one of the block's threads runs: of another warp, or while something is pending; else it takes less (look.c).
void look_changes_thread(struct look *l, int thread);
void look_met(struct look *l, int warp, unsigned int lanes); // these lanes of the warp have come to a warp function

#endif
