// SPDX-License-Identifier: MIT
// Instrumented blocks that run as loops over their threads (loops.c).
#ifndef INSPECT_LOOPS_H
#define INSPECT_LOOPS_H

#include "inspect/inspect.h"

// No thread runs from here on: code between two loops belongs to none.
void loops_suspend(struct block_state *bs);
// Makes the last thread the running one again, if none runs.
void loops_resume(struct block_state *bs);

#endif
