// Blocks that are looked at while they run as loops over their threads (loops.c).
#ifndef INSPECT_LOOPS_H
#define INSPECT_LOOPS_H

#include "inspect/inspect.h"

// No thread runs from here on: what the code between two loops does is nobody's.
void loops_rest(struct look *l);
// The thread that ran last does again, if none did.
void loops_wake(struct look *l);

#endif
