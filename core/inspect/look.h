// What the simulator has told so far (look.c).
#ifndef INSPECT_LOOK_H
#define INSPECT_LOOK_H

#include "inspect/inspect.h"

uint32_t look_new_run(void);           // of something else than a block
void look_begin_epoch(struct look *l); // of the running thread

#endif
