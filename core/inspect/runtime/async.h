// SPDX-License-Identifier: MIT
// Asynchronous copies to shared memory, as the simulator reports them for the running thread (async.c,
// sim/base/plugin.h).
#ifndef INSPECT_ASYNC_H
#define INSPECT_ASYNC_H

#include <stddef.h>

void async_write(const void *to, size_t bytes, const void *caller);
void async_commit(void);
void async_wait(size_t prior);
void async_end_thread(void);

#endif
