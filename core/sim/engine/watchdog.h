// SPDX-License-Identifier: MIT
// Reports a block that makes no progress for long, and ends it on request (FERRY_SIM_WATCHDOG, FERRY_SIM_SECONDS).
#ifndef SIM_WATCHDOG_H
#define SIM_WATCHDOG_H

struct sim_executor;

// Called when a block begins and when it has ended, on the thread that runs it.
void sim_watch_begin(struct sim_executor *e);
void sim_watch_end(void);

#endif
