// What fences, atomics, volatile accesses and the grid's barrier order between threads (order.c).
#ifndef INSPECT_ORDER_H
#define INSPECT_ORDER_H

#include "inspect/inspect.h"

void order_begin_block(struct look *l);
void order_fence(struct look *l, bool of_block);
void order_object(struct look *l, uint64_t address, bool releases);
void order_grid_barrier(struct look *l, unsigned number, bool arrives);
void order_atomic(struct look *l, uint64_t address);
void order_volatile(struct look *l, uint64_t address, bool reads);
bool order_knows(struct look *l, const struct note *before);
void order_end_launch(struct launch *launch);

#endif
